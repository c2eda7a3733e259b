package admin

import (
	"github.com/labstack/echo/v4"
	"schakel/delivery/outbox"
	"schakel/registry"
	"schakel/registry/partners"
	"schakel/store"
	view "schakel/templates/admin"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// previewRoute adds what would pass along a route if it was open: who publishes it, and for each subscription of the receiving partner
// that takes the type, where it goes and how many of the stored events it would have got.
func (p *pages) previewRoute(c echo.Context, in partners.NewRoute, v *view.AdminRoutesView) error {
	ctx := c.Request().Context()
	open, err := registry.OpenSubscriptions(ctx, &p.DB.Queries, store.SubscriptionFilter{PartnerID: in.ToPartnerID})
	if err != nil {
		return err
	}
	var subs []store.Subscription
	for _, sub := range open {
		for _, name := range sub.Types {
			if name == in.EventType {
				sub.Types = []string{name} // a route is about one type
				subs = append(subs, sub)
				break
			}
		}
	}
	route := store.Route{FromPartnerID: in.FromPartnerID, ToPartnerID: in.ToPartnerID, EventType: in.EventType}
	flow, f, err := p.Flow(ctx, outbox.Prospect{Subscriptions: subs, Route: &route})
	if err != nil {
		return err
	}
	flow.Title, flow.Lead, flow.Empty = i18n.T(ctx, "admin.routes.preview-title"), i18n.T(ctx, "admin.routes.preview-lead"), i18n.T(ctx, "admin.routes.preview-none")
	flow.First, flow.More = i18n.T(ctx, "admin.routes.subscription"), []string{i18n.T(ctx, "admin.routes.state"), i18n.T(ctx, "admin.routes.filter"), i18n.T(ctx, "admin.routes.endpoint")}
	for i, sub := range subs {
		row := p.FlowRow(ctx, f, f.Of[i], in.EventType)
		row.What = ui.Named{Name: site.SubscriptionLabel(ctx, sub), Href: "/admin/subscriptions/" + sub.ID}
		e, err := p.DB.Endpoint(ctx, sub.EndpointID)
		if err != nil {
			return err
		}
		facts := p.EndpointFacts(ctx, e, partners.EndpointHost(e))
		row.More = ui.Cells{ui.State(sub.Status), ui.SelectionWords(site.FilterWords(sub.Filters), ""), view.RouteEndpoint(ui.Named{Name: e.Name, Href: "/admin/endpoints/" + e.ID}, e.Status, facts)}
		v.Inbox = v.Inbox || e.Kind == store.EndpointInbox
		flow.Rows = append(flow.Rows, row)
	}
	sources, err := p.Registry.Subscriptions.RouteSources(ctx, site.Actor(c), route)
	if err != nil {
		return err
	}
	for _, s := range sources {
		row := view.RouteSource{Source: site.SourceWords(ctx, s.Source)}
		if s.ClientID != "" {
			row.Client = ui.Named{Name: s.Client, Href: "/admin/clients/" + s.ClientID}
		}
		v.Sources = append(v.Sources, row)
	}
	v.Flow = flow
	return nil
}
