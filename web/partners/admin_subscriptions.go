package web

import (
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/store"
	view "schakel/templates/partners"
	"schakel/templates/ui"
)

// adminSubscriptions lists the subscriptions of all partners.
func (p *portal) adminSubscriptions(c echo.Context) error {
	ctx, paging, names := c.Request().Context(), pagePaging(c), p.adminNames()
	f := store.SubscriptionFilter{
		Status: pageChoice(c, "status", subscriptionStatuses()), PartnerID: clean(c.QueryParam("partner")), EventType: clean(c.QueryParam("type")),
		Page: store.Page{Number: paging.Page, Size: paging.PerPage},
	}
	subs, total, err := p.Registry.Subscriptions.List(ctx, actor(c).Scope(), f)
	if err != nil {
		return err
	}
	partners, err := p.partnerOptions(ctx, names.deliveryNames)
	if err != nil {
		return err
	}
	rows, err := names.subscriptionRows(ctx, subs)
	if err != nil {
		return err
	}
	page := p.frame(c, "Subscriptions")
	page.Lead = "What partners want to get, and where. Nothing is sent before you approve it."
	page.Actions = ui.LinkButton(ui.Secondary, "Ask for one for your own organisation", "/admin/own/subscriptions/new")
	return p.render(c, http.StatusOK, view.AdminSubscriptions(page, view.AdminSubscriptionsView{
		Status: f.Status, Partner: f.PartnerID, EventType: f.EventType, Partners: partners,
		Statuses: ui.StateOptions(subscriptionStatuses()...),
		Rows:     rows, Total: total, Pager: pager(c, paging, total), Now: p.cfg.Now(),
	}))
}
