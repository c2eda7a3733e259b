package web

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/partners"
	"schakel/store"
	view "schakel/templates/partners"
	"schakel/templates/ui"
)

func (d desk) routesSubscriptions(g routeGroup) {
	g.GET("/subscriptions", d.subscriptions)
	g.GET("/subscriptions/new", d.newSubscription)
	g.POST("/subscriptions/new", d.requestSubscription)
	g.GET("/subscriptions/:id", d.subscription)
	g.GET("/subscriptions/:id/selection", d.subscriptionSelection)
	g.POST("/subscriptions/:id/selection", d.changeSelection)
	g.POST("/subscriptions/:id/pause", d.pauseSubscription)
	g.POST("/subscriptions/:id/resume", d.resumeSubscription)
	g.POST("/subscriptions/:id/end", d.endSubscription)
}

// subscriptions lists what the organisation asked for and gets.
func (d desk) subscriptions(c echo.Context) error {
	owner, err := d.owner(c)
	if err != nil {
		return err
	}
	v := view.SubscriptionListView{
		Action: d.href("/subscriptions"), NewHref: d.href("/subscriptions/new"), Closed: waits(owner), Now: d.cfg.Now(),
		Type: clean(c.QueryParam("type")), Status: pageChoice(c, "status", subscriptionStatuses()), Endpoint: clean(c.QueryParam("endpoint")),
	}
	ctx, paging := c.Request().Context(), pagePaging(c)
	rows, total, err := d.Registry.Subscriptions.List(ctx, registry.ScopeOf(owner.ID), store.SubscriptionFilter{
		PartnerID: owner.ID, Status: v.Status, EventType: v.Type, EndpointID: v.Endpoint, Page: store.Page{Number: paging.Page, Size: paging.PerPage},
	})
	if err != nil {
		return err
	}
	endpoints, err := d.Registry.Endpoints.List(ctx, registry.ScopeOf(owner.ID), owner.ID)
	if err != nil {
		return err
	}
	v.Total, v.Pager = total, pager(c, paging, total)
	v.Endpoints = append([]ui.Option{{Value: "", Label: "Any endpoint"}}, endpointOptions(endpoints)...)
	for _, s := range rows {
		v.Rows = append(v.Rows, d.subscriptionRow(s, endpoints))
	}
	page := d.page(c, "Subscriptions")
	page.Lead = "The event types and datasets you get, or asked for."
	if v.Closed == "" {
		page.Actions = ui.LinkButton(ui.Primary, "Ask for a subscription", v.NewHref)
	}
	return d.render(c, http.StatusOK, view.SubscriptionListPage(page, v))
}

func (d desk) subscriptionRow(s store.Subscription, endpoints []store.Endpoint) view.OwnSubscription {
	row := view.OwnSubscription{
		Label: subscriptionLabel(s), Href: d.href("/subscriptions/" + s.ID), Types: getsText(s), State: s.Status,
		Endpoint: "an endpoint that ended", EndpointHref: d.href("/endpoints/" + s.EndpointID), Since: s.UpdatedAt.Time,
	}
	for _, e := range endpoints {
		if e.ID == s.EndpointID {
			row.Endpoint = e.Name
		}
	}
	return row
}

func endpointOptions(endpoints []store.Endpoint) []ui.Option {
	var options []ui.Option
	for _, e := range endpoints {
		label := e.Name + " (" + partners.EndpointHost(e) + ")"
		if e.Status != store.EndpointActive {
			label += ", " + e.Status
		}
		options = append(options, ui.Option{Value: e.ID, Label: label})
	}
	return options
}

// subscriptionLabel returns the name of a subscription, or else its event types.
func subscriptionLabel(s store.Subscription) string { return orElse(s.Name, getsText(s)) }

// getsText lists the event types of a subscription, or names its dataset.
func getsText(s store.Subscription) string {
	if s.DatasetID != "" {
		return "Dataset " + s.DatasetID
	}
	return typesText(s.Types)
}

// typesText names one or two event types, and counts more.
func typesText(types []string) string {
	if len(types) <= 2 {
		return strings.Join(types, ", ")
	}
	return types[0] + " and " + ui.Count(len(types)-1) + " more"
}

// ownSubscription finds a subscription of this desk; another's is not there.
func (d desk) ownSubscription(c echo.Context) (store.Partner, partners.Grant, error) {
	owner, err := d.owner(c)
	if err != nil {
		return owner, partners.Grant{}, err
	}
	grant, err := d.Registry.Subscriptions.Grant(c.Request().Context(), registry.ScopeOf(owner.ID), c.Param("id"))
	return owner, grant, err
}
