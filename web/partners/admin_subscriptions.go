package partners

import (
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/store"
	view "schakel/templates/partners"
	"schakel/templates/ui"
	"schakel/web/site"
)

// adminSubscriptions lists the subscriptions of all partners.
func (p *pages) adminSubscriptions(c echo.Context) error {
	ctx, paging, names := c.Request().Context(), site.PagePaging(c), p.AdminNames()
	f := store.SubscriptionFilter{
		Status: site.PageChoice(c, "status", site.SubscriptionStatuses()), PartnerID: site.Clean(c.QueryParam("partner")), EventType: site.Clean(c.QueryParam("type")),
		Page: store.Page{Number: paging.Page, Size: paging.PerPage},
	}
	subs, total, err := p.Registry.Subscriptions.List(ctx, site.Actor(c).Scope(), f)
	if err != nil {
		return err
	}
	partners, err := p.PartnerOptions(ctx, names.DeliveryNames)
	if err != nil {
		return err
	}
	rows, err := subscriptionRows(ctx, names, subs)
	if err != nil {
		return err
	}
	page := p.Frame(c, "Subscriptions")
	page.Lead = "What partners want to get, and where. Nothing is sent before you approve it."
	page.Actions = ui.LinkButton(ui.Secondary, "Ask for one for your own organisation", "/admin/own/subscriptions/new")
	return p.Render(c, http.StatusOK, view.AdminSubscriptions(page, view.AdminSubscriptionsView{
		Status: f.Status, Partner: f.PartnerID, EventType: f.EventType, Partners: partners,
		Statuses: ui.StateOptions(site.SubscriptionStatuses()...),
		Rows:     rows, Total: total, Pager: site.Pager(c, paging, total), Now: p.Cfg.Now(),
	}))
}
