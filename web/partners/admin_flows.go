package partners

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/delivery/outbox"
	"schakel/registry/partners"
	"schakel/store"
	"schakel/templates/i18n"
	view "schakel/templates/partners"
	"schakel/templates/ui"
	"schakel/web/site"
)

// adminFlows draws and lists who sends what to whom, under which version of a contract.
func (p *pages) adminFlows(c echo.Context) error {
	ctx, paging := c.Request().Context(), site.PagePaging(c)
	flows, more, err := p.Registry.Subscriptions.Flows(ctx, site.Actor(c))
	if err != nil {
		return err
	}
	search := site.Clean(c.QueryParam("q"))
	flows = slices.DeleteFunc(flows, func(f partners.Flow) bool { return !flowFits(f, search) })
	stops, err := p.stops(ctx)
	if err != nil {
		return err
	}
	subs, err := p.DB.SubscriptionStates(ctx, site.IDsOf(flows, func(f partners.Flow) string { return f.SubscriptionID }))
	if err != nil {
		return err
	}
	rows := make([]view.FlowRow, len(flows))
	for i, f := range flows {
		rows[i] = flowRow(ctx, f)
		stop := stops[f.EndpointID]
		if !f.Sending {
			stop = outbox.SubscriptionStop(subs[f.SubscriptionID])
		}
		if i18n.Has("site.waits", stop) {
			rows[i].Sending, rows[i].Why = false, site.Capital(i18n.Of(ctx, "site.waits", stop))
		}
	}
	shown, names := site.OnPage(rows, paging), p.DeliveryNames()
	if err := names.LearnEndpoints(ctx, site.IDsOf(shown, func(f view.FlowRow) string { return f.EndpointID })); err != nil {
		return err
	}
	for i := range shown {
		if shown[i].Endpoint.Name, err = names.Endpoint(ctx, shown[i].EndpointID); err != nil {
			return err
		}
		shown[i].Endpoint.Href = "/admin/endpoints/" + shown[i].EndpointID
	}
	page := p.Frame(c, i18n.T(ctx, "partners.flows.title"))
	page.Lead = i18n.T(ctx, "partners.flows.lead")
	return p.Render(c, http.StatusOK, view.Flows(page, view.FlowsView{
		Search: search, Rows: shown, Total: len(rows), More: more, Pager: site.Pager(c, paging, len(rows)), Graph: view.NewFlowGraph(ctx, rows),
	}))
}

// stops explains why endpoints are not sent to now, by their ids.
func (p *pages) stops(ctx context.Context) (map[string]string, error) {
	endpoints, err := p.DB.Endpoints(ctx, "")
	stops := make(map[string]string, len(endpoints))
	for _, e := range endpoints {
		stops[e.ID], _ = site.EndpointWait(e, store.Delivery{SubscriptionID: "any"}, p.Cfg.Now()) // of events, not of tests of the endpoint
	}
	return stops, err
}

// flowFits reports whether a search for a partner, an event type or a contract finds a flow.
func flowFits(f partners.Flow, search string) bool {
	for _, text := range []string{f.From.Name, f.To.Name, f.EventType, f.ContractID} {
		if strings.Contains(strings.ToLower(text), strings.ToLower(search)) {
			return true
		}
	}
	return false
}

func flowRow(ctx context.Context, f partners.Flow) view.FlowRow {
	row := view.FlowRow{
		Type: f.EventType, ContractID: f.ContractID, Version: f.ContractVersion, EndpointID: f.EndpointID, Sending: f.Sending, Published: f.From.ID != "",
		To:           ui.Named{Name: f.To.Name, Href: "/admin/partners/" + f.To.ID},
		Subscription: "/admin/subscriptions/" + f.SubscriptionID,
	}
	switch {
	case f.Schakel:
		row.From.Name = i18n.T(ctx, "partners.source.schakel")
	case row.Published:
		row.From = ui.Named{Name: f.From.Name, Href: "/admin/partners/" + f.From.ID}
	}
	if f.ContractID != "" {
		row.TypeHref = site.EventTypeHref(f.EventType)
		row.ContractHref = site.ContractVersionHref(f.ContractID, f.ContractVersion)
	}
	return row
}
