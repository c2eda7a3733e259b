package web

import (
	"context"
	"encoding/hex"
	"errors"

	"github.com/labstack/echo/v4"
	"schakel/store"
	"schakel/templates/ui"
)

// objectView shows the data of an event that is stored apart; nil when its data is in it.
func (p *portal) objectView(ctx context.Context, eventID, download string) (*ui.ObjectView, error) {
	objects, err := p.DB.ObjectsOf(ctx, eventID)
	if err != nil || len(objects) == 0 {
		return nil, err
	}
	o := objects[0]
	v := &ui.ObjectView{
		ID: o.ID, Type: o.ContentType, Digest: hex.EncodeToString(o.Digest), Size: o.Size, Download: download,
		Goes: "As long as the event: it goes when all its deliveries have ended and the time that events are kept is over.",
	}
	if !o.GoneAt.IsZero() {
		v.Download, v.Goes = "", "Removed on "+ui.Time(o.GoneAt.Time)+"."
	}
	return v, nil
}

// leftOut names the subscriptions that an event was left out for.
func (p *portal) leftOut(ctx context.Context, eventID string) (list []ui.Named, err error) {
	rows, err := p.DB.LeftOutOf(ctx, eventID)
	if err != nil {
		return nil, err
	}
	names := p.deliveryNames()
	for _, row := range rows {
		partner, err := names.partner(ctx, row.PartnerID)
		if err != nil {
			return nil, err
		}
		s, err := p.DB.Subscription(ctx, row.SubscriptionID)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		list = append(list, ui.Named{Name: partner + ": " + orElse(s.Name, row.SubscriptionID), Href: "/admin/subscriptions/" + row.SubscriptionID})
	}
	return list, nil
}

// eventObject sends the data of an event that is stored apart, to an administrator.
func (p *portal) eventObject(c echo.Context) error { return p.sendObject(c, c.Param("id")) }

// deliveryObject sends it to the partner that a delivery is to.
func (p *portal) deliveryObject(c echo.Context) error {
	area := partnerArea()
	d, err := p.ownDelivery(c, area)
	if err != nil {
		return err
	}
	at, err := p.deliveryContext(c.Request().Context(), d)
	if err != nil {
		return err
	}
	if !at.mayRead(area) {
		return store.ErrNotFound
	}
	return p.sendObject(c, d.EventID)
}

func (p *portal) sendObject(c echo.Context, eventID string) error {
	objects, err := p.DB.ObjectsOf(c.Request().Context(), eventID)
	if err != nil {
		return err
	}
	if len(objects) == 0 || !objects[0].GoneAt.IsZero() {
		return store.ErrNotFound
	}
	o := objects[0]
	o.ContentType = echo.MIMEOctetStream // of a stranger: no browser shows it
	return serveObject(c, p.DB, o)
}
