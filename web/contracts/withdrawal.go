package contracts

import (
	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	view "schakel/templates/contracts"
	"schakel/templates/ui"
	"schakel/web/site"
)

// withdrawalView lists the parties that the withdrawal of a version would hit, beside where it
// is withdrawn; nil for a version that cannot be.
func (p *pages) withdrawalView(c echo.Context, reader registry.Reader, v store.ContractVersion) (*view.WithdrawalView, error) {
	if v.Status != store.VersionPublished && v.Status != store.VersionDeprecated {
		return nil, nil
	}
	effect, err := p.Registry.Contracts.WithdrawalEffect(c.Request().Context(), site.Actor(c), v.ContractID, v.Version)
	if err != nil {
		return nil, err
	}
	hit := &view.WithdrawalView{Named: reader.Administrator, Others: effect.Hidden, Last: effect.Last}
	hit.Downloads = *downloadsView(effect.Downloads, reader, p.Cfg.Now())
	for _, s := range effect.Subscriptions {
		row := view.HitRow{Subscription: boundName(s.Subscription), State: s.Status, Types: atLines(s.Subscription, s.Affects), Loses: len(s.Loses)}
		if reader.Administrator {
			row.Partner, row.PartnerHref, row.SubscriptionHref = s.Partner.Name, site.PartnerHref(s.PartnerID), "/admin/subscriptions/"+s.ID
		} else {
			row.SubscriptionHref = "/partner/subscriptions/" + s.ID
		}
		hit.Rows = append(hit.Rows, row)
	}
	base := "/partner/endpoints/"
	if reader.Administrator {
		base = "/admin/endpoints/"
	}
	for _, e := range effect.Endpoints {
		hit.Endpoints = append(hit.Endpoints, ui.Named{Name: e.Name, Href: base + e.ID})
	}
	return hit, nil
}
