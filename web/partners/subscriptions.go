package partners

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/partners"
	"schakel/store"
	"schakel/templates/i18n"
	view "schakel/templates/partners"
	"schakel/templates/ui"
	"schakel/web/site"
)

func (d ownerPages) routesSubscriptions(g site.RouteGroup) {
	change := g.Needs(registry.ChangeSubscriptions)
	g.GET("/subscriptions", d.subscriptions)
	change.GET("/subscriptions/new", d.newSubscription)
	change.POST("/subscriptions/new", d.requestSubscription)
	g.GET("/subscriptions/:id", d.subscription)
	g.GET("/subscriptions/:id/selection", d.subscriptionSelection)
	change.POST("/subscriptions/:id/selection", d.changeSelection)
	change.GET("/subscriptions/:id/encryption", d.encryption)
	change.POST("/subscriptions/:id/encryption", d.changeEncryption, d.RequireProof)
	change.POST("/subscriptions/:id/pause", d.pauseSubscription)
	change.POST("/subscriptions/:id/resume", d.resumeSubscription, d.RequireProof)
	change.POST("/subscriptions/:id/end", d.endSubscription)
}

// subscriptions lists what the organisation asked for and gets.
func (d ownerPages) subscriptions(c echo.Context) error {
	owner, err := d.Owner(c)
	if err != nil {
		return err
	}
	v := view.SubscriptionListView{
		Action: d.Href("/subscriptions"), NewHref: d.Href("/subscriptions/new"), Closed: site.Waits(c.Request().Context(), owner), Now: d.Cfg.Now(),
		Type: site.Clean(c.QueryParam("type")), Status: site.PageChoice(c, "status", site.SubscriptionStatuses()), Endpoint: site.Clean(c.QueryParam("endpoint")),
	}
	ctx, paging := c.Request().Context(), site.PagePaging(c)
	rows, total, err := d.Registry.Subscriptions.List(ctx, registry.ScopeOf(owner.ID), store.SubscriptionFilter{
		PartnerID: owner.ID, Status: v.Status, EventType: v.Type, EndpointID: v.Endpoint, Page: paging,
	})
	if err != nil {
		return err
	}
	endpoints, err := d.Registry.Endpoints.List(ctx, registry.ScopeOf(owner.ID), owner.ID)
	if err != nil {
		return err
	}
	v.Total, v.Pager = total, site.Pager(c, paging, total)
	v.Endpoints = append([]ui.Option{{Value: "", Label: i18n.T(ctx, "partners.subscription.any-endpoint")}}, endpointOptions(ctx, endpoints)...)
	ready := d.Readiness(site.Actor(c).Administrator)
	for _, s := range rows {
		row := d.subscriptionRow(ctx, s, endpoints)
		if row.Unready, err = ready.OfSubscription(ctx, s); err != nil {
			return err
		}
		v.Rows = append(v.Rows, row)
	}
	page := d.Page(c, i18n.T(ctx, "partners.label.subscriptions"))
	page.Lead = i18n.T(ctx, "partners.subscription.lead")
	if v.Closed == "" {
		page.Actions = ui.LinkButton(ui.Primary, i18n.T(ctx, "partners.action.ask-subscription"), v.NewHref)
	}
	return d.Render(c, http.StatusOK, view.SubscriptionListPage(page, v))
}

func (d ownerPages) subscriptionRow(ctx context.Context, s store.Subscription, endpoints []store.Endpoint) view.OwnSubscription {
	row := view.OwnSubscription{
		Label: site.SubscriptionLabel(ctx, s), Href: d.Href("/subscriptions/" + s.ID), Types: site.GetsText(ctx, s), State: s.Status,
		Endpoint: i18n.T(ctx, "partners.subscription.endpoint-ended"), EndpointHref: d.Href("/endpoints/" + s.EndpointID), Since: s.UpdatedAt.Time,
	}
	if row.Types == row.Label {
		row.Types = ""
	}
	for _, e := range endpoints {
		if e.ID == s.EndpointID {
			row.Endpoint = e.Name
		}
	}
	return row
}

func endpointOptions(ctx context.Context, endpoints []store.Endpoint) []ui.Option {
	var options []ui.Option
	for _, e := range endpoints {
		label := e.Name
		if host := partners.EndpointHost(e); host != "" {
			label += " (" + host + ")"
		}
		if e.Status != store.EndpointActive {
			label = i18n.T(ctx, "partners.endpoint.option-not-active", label, i18n.Of(ctx, "partners.endpoint-state", e.Status))
		}
		options = append(options, ui.Option{Value: e.ID, Label: label})
	}
	return options
}

// ownSubscription finds a subscription of this owner; another's is not there.
func (d ownerPages) ownSubscription(c echo.Context) (store.Partner, partners.Grant, error) {
	owner, err := d.Owner(c)
	if err != nil {
		return owner, partners.Grant{}, err
	}
	grant, err := d.Registry.Subscriptions.Grant(c.Request().Context(), registry.ScopeOf(owner.ID), c.Param("id"))
	return owner, grant, err
}
