package events

import (
	"cmp"
	"context"
	"errors"

	"github.com/labstack/echo/v4"
	"schakel/store"
	"schakel/templates/ui"
)

// leftOut names the subscriptions that an event was left out for.
func (p *pages) leftOut(ctx context.Context, eventID string) (list []ui.Named, err error) {
	rows, err := p.DB.LeftOutOf(ctx, eventID)
	if err != nil {
		return nil, err
	}
	names := p.DeliveryNames()
	for _, row := range rows {
		partner, err := names.Partner(ctx, row.PartnerID)
		if err != nil {
			return nil, err
		}
		s, err := p.DB.Subscription(ctx, row.SubscriptionID)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		list = append(list, ui.Named{Name: partner + ": " + cmp.Or(s.Name, row.SubscriptionID), Href: "/admin/subscriptions/" + row.SubscriptionID})
	}
	return list, nil
}

// eventObject sends the data of an event that is stored apart, to an administrator.
func (p *pages) eventObject(c echo.Context) error { return p.SendObject(c, c.Param("id")) }
