package partners

import (
	"context"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"
	registry "schakel/registry/partners"
	"schakel/store"
	"schakel/templates/i18n"
	view "schakel/templates/partners"
	"schakel/templates/ui"
	"schakel/web/site"
)

// adminPartners lists registered organisations.
func (p *pages) adminPartners(c echo.Context) error {
	paging := site.PagePaging(c)
	f := store.PartnerFilter{
		Status: site.PageChoice(c, "status", site.PartnerStatuses()), Search: site.Clean(c.QueryParam("q")),
		Page: paging,
	}
	partners, total, err := p.Registry.Partners.List(c.Request().Context(), site.Actor(c), f)
	if err != nil {
		return err
	}
	v := view.AdminPartnersView{
		Status: f.Status, Search: f.Search, Total: total, Pager: site.Pager(c, paging, total), Now: p.Cfg.Now(),
		Statuses: ui.StateOptions(c.Request().Context(), site.PartnerStatuses()...),
	}
	ids := make([]string, len(partners))
	for i := range partners {
		ids[i] = partners[i].ID
	}
	drawn, err := p.PartnerSparks(c.Request().Context(), ids)
	if err != nil {
		return err
	}
	for _, partner := range partners {
		v.Rows = append(v.Rows, view.PartnerRow{
			Name: partner.Name, Href: "/admin/partners/" + partner.ID, Number: registry.Number(partner), Contact: partner.ContactName,
			Status: partner.Status, Since: partner.CreatedAt.Time, Spark: drawn[partner.ID],
			Unconfirmed: partner.Status == store.PartnerRequested && partner.EmailConfirmedAt.IsZero(),
		})
	}
	page := p.Frame(c, i18n.T(c.Request().Context(), "partners.label.partners"))
	page.Lead = i18n.T(c.Request().Context(), "partners.partner.list-lead")
	return p.Render(c, http.StatusOK, view.AdminPartners(page, v))
}

// adminSubscriptions lists the subscriptions of all partners.
func (p *pages) adminSubscriptions(c echo.Context) error {
	ctx, paging, names := c.Request().Context(), site.PagePaging(c), p.AdminNames()
	f := store.SubscriptionFilter{
		Status: site.PageChoice(c, "status", site.SubscriptionStatuses()), PartnerID: site.Clean(c.QueryParam("partner")), EventType: site.Clean(c.QueryParam("type")),
		Page: paging,
	}
	subs, total, err := p.Registry.Subscriptions.List(ctx, site.Actor(c).Scope(), f)
	if err != nil {
		return err
	}
	partners, err := p.PartnerOptions(ctx, names.DeliveryNames)
	if err != nil {
		return err
	}
	rows, err := subscriptionRows(ctx, names, p.Readiness(true), subs)
	if err != nil {
		return err
	}
	page := p.Frame(c, i18n.T(ctx, "partners.label.subscriptions"))
	page.Lead = i18n.T(ctx, "partners.subscription.admin-lead")
	page.Actions = ui.LinkButton(ui.Secondary, i18n.T(ctx, "partners.subscription.ask-own"), "/admin/own/subscriptions/new")
	return p.Render(c, http.StatusOK, view.AdminSubscriptions(page, view.AdminSubscriptionsView{
		Status: f.Status, Partner: f.PartnerID, EventType: f.EventType, Partners: partners,
		Statuses: ui.StateOptions(c.Request().Context(), site.SubscriptionStatuses()...),
		Rows:     rows, Total: total, Pager: site.Pager(c, paging, total), Now: p.Cfg.Now(),
	}))
}

// adminEndpoints lists the endpoints of all partners that have not ended.
func (p *pages) adminEndpoints(c echo.Context) error {
	ctx, paging := c.Request().Context(), site.PagePaging(c)
	status, partner := site.PageChoice(c, "status", site.EndpointStatuses()), site.Clean(c.QueryParam("partner"))
	rows, err := p.EndpointRows(ctx, site.Actor(c).Scope(), partner)
	if err != nil {
		return err
	}
	if status != "" {
		rows = slices.DeleteFunc(rows, func(r ui.EndpointRow) bool { return r.Status != status })
	}
	partners, err := p.PartnerOptions(ctx, p.DeliveryNames())
	if err != nil {
		return err
	}
	shown := site.OnPage(rows, paging)
	if err := p.FillSparks(ctx, shown); err != nil {
		return err
	}
	page := p.Frame(c, i18n.T(ctx, "partners.label.endpoints"))
	page.Lead = i18n.T(ctx, "partners.endpoint.admin-lead")
	page.Actions = ui.LinkButton(ui.Secondary, i18n.T(ctx, "partners.endpoint.add-own"), "/admin/own/endpoints/new")
	if err := p.noteMoves(c, &page); err != nil {
		return err
	}
	return p.Render(c, http.StatusOK, view.AdminEndpoints(page, view.AdminEndpointsView{
		Status: status, Partner: partner, Partners: partners, Total: len(rows), Now: p.Cfg.Now(),
		Statuses: ui.StateOptions(c.Request().Context(), site.EndpointStatuses()...),
		Rows:     shown, Pager: site.Pager(c, paging, len(rows)),
	}))
}

// adminClients lists the clients that ask for something, and the own ones.
func (p *pages) adminClients(c echo.Context) error {
	ctx, names := c.Request().Context(), p.AdminNames()
	waiting, err := p.Registry.Clients.Waiting(ctx, site.Actor(c))
	if err != nil {
		return err
	}
	own, err := p.Registry.Partners.Own(ctx)
	if err != nil {
		return err
	}
	mine, err := p.Registry.Clients.List(ctx, site.Actor(c).Scope(), own.ID)
	if err != nil {
		return err
	}
	v := view.AdminClientsView{Organisation: own.Name, Now: p.Cfg.Now()}
	if v.Waiting, err = clientRows(ctx, names, waiting); err != nil {
		return err
	}
	if v.Own, err = clientRows(ctx, names, mine); err != nil {
		return err
	}
	for i := range v.Own {
		v.Own[i].Href = "/admin/own/clients/" + v.Own[i].ID
	}
	page := p.Frame(c, i18n.T(ctx, "partners.label.clients"))
	page.Lead = i18n.T(ctx, "partners.client.admin-lead")
	page.Actions = ui.LinkButton(ui.Primary, i18n.T(ctx, "partners.client.make-own"), "/admin/own/clients/new")
	return p.Render(c, http.StatusOK, view.AdminClients(page, v))
}

func subscriptionRows(ctx context.Context, n site.AdminNames, ready *site.Readiness, subs []store.Subscription) ([]view.SubscriptionRow, error) {
	var rows []view.SubscriptionRow
	if err := n.LearnPartners(ctx, site.IDsOf(subs, func(s store.Subscription) string { return s.PartnerID })); err != nil {
		return nil, err
	}
	if err := n.LearnEndpoints(ctx, site.IDsOf(subs, func(s store.Subscription) string { return s.EndpointID })); err != nil {
		return nil, err
	}
	for _, s := range subs {
		partner, err := n.PartnerLink(ctx, s.PartnerID)
		if err != nil {
			return nil, err
		}
		endpoint, err := n.EndpointLink(ctx, s.EndpointID)
		if err != nil {
			return nil, err
		}
		unready, err := ready.OfSubscription(ctx, s)
		if err != nil {
			return nil, err
		}
		rows = append(rows, view.SubscriptionRow{
			Name: subscriptionName(ctx, s), Href: "/admin/subscriptions/" + s.ID, Partner: partner, Endpoint: endpoint,
			Types: gets(ctx, s), Status: s.Status, Unready: unready, Since: s.CreatedAt.Time,
		})
	}
	return rows, nil
}

// gets returns the event types of a subscription, or its dataset; nothing where it has no name, and is called after them.
func gets(ctx context.Context, s store.Subscription) []string {
	switch {
	case s.Name == "":
		return nil
	case s.DatasetID != "":
		return []string{site.GetsText(ctx, s)}
	}
	return s.Types
}

// subscriptionName returns the name of a subscription, or else its event types or
// dataset.
func subscriptionName(ctx context.Context, s store.Subscription) string {
	switch {
	case s.Name != "":
		return s.Name
	case s.DatasetID != "":
		return site.GetsText(ctx, s)
	case len(s.Types) == 0:
		return s.ID
	case len(s.Types) == 1:
		return s.Types[0]
	}
	return i18n.T(ctx, "partners.subscription.type-and-more", s.Types[0], len(s.Types)-1)
}

func clientRows(ctx context.Context, n site.AdminNames, clients []store.Client) ([]view.ClientRow, error) {
	var rows []view.ClientRow
	if err := n.LearnPartners(ctx, site.IDsOf(clients, func(c store.Client) string { return c.PartnerID })); err != nil {
		return nil, err
	}
	for _, client := range clients {
		partner, err := n.PartnerLink(ctx, client.PartnerID)
		if err != nil {
			return nil, err
		}
		rows = append(rows, view.ClientRow{
			Name: client.Name, Href: "/admin/clients/" + client.ID, ID: client.ID, Method: client.AuthMethod, Partner: partner,
			Scopes: client.Scopes, Status: client.Status, Waiting: client.Waiting(), Since: client.CreatedAt.Time,
		})
	}
	return rows, nil
}
