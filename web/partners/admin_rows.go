package web

import (
	"context"
	"fmt"

	"schakel/registry"
	"schakel/registry/partners"
	"schakel/store"
	view "schakel/templates/partners"
	"schakel/templates/ui"
)

// adminNames finds the names of partners and endpoints for the rows of a list.
type adminNames struct{ *deliveryNames }

func (p *portal) adminNames() adminNames { return adminNames{p.deliveryNames()} }

// partnerLink names a partner and leads to its page.
func (n adminNames) partnerLink(ctx context.Context, id string) (ui.Named, error) {
	name, err := n.partner(ctx, id)
	if err != nil {
		return ui.Named{}, fmt.Errorf("name partner: %w", err)
	}
	return ui.Named{Name: name, Href: "/admin/partners/" + id}, nil
}

// endpointLink names an endpoint and leads to its page.
func (n adminNames) endpointLink(ctx context.Context, id string) (ui.Named, error) {
	name, err := n.endpoint(ctx, id)
	if err != nil {
		return ui.Named{}, fmt.Errorf("name endpoint: %w", err)
	}
	return ui.Named{Name: name, Href: "/admin/endpoints/" + id}, nil
}

func (n adminNames) subscriptionRows(ctx context.Context, subs []store.Subscription) ([]view.SubscriptionRow, error) {
	var rows []view.SubscriptionRow
	for _, s := range subs {
		partner, err := n.partnerLink(ctx, s.PartnerID)
		if err != nil {
			return nil, err
		}
		endpoint, err := n.endpointLink(ctx, s.EndpointID)
		if err != nil {
			return nil, err
		}
		rows = append(rows, view.SubscriptionRow{
			Name: subscriptionName(s), Href: "/admin/subscriptions/" + s.ID, Partner: partner, Endpoint: endpoint,
			Types: gets(s), Status: s.Status, Since: s.CreatedAt.Time,
		})
	}
	return rows, nil
}

// gets returns the event types of a subscription, or its dataset.
func gets(s store.Subscription) []string {
	if s.DatasetID != "" {
		return []string{getsText(s)}
	}
	return s.Types
}

// subscriptionName returns the name of a subscription, or else its event types or
// dataset.
func subscriptionName(s store.Subscription) string {
	switch {
	case s.Name != "":
		return s.Name
	case s.DatasetID != "":
		return getsText(s)
	case len(s.Types) == 0:
		return s.ID
	case len(s.Types) == 1:
		return s.Types[0]
	}
	return fmt.Sprintf("%s and %d more", s.Types[0], len(s.Types)-1)
}

func (n adminNames) clientRows(ctx context.Context, clients []store.Client) ([]view.ClientRow, error) {
	var rows []view.ClientRow
	for _, client := range clients {
		partner, err := n.partnerLink(ctx, client.PartnerID)
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

// endpointRows are the endpoints of a partner, or of all, with what waits there.
func (p *portal) endpointRows(ctx context.Context, scope registry.Scope, partnerID string) ([]ui.EndpointRow, error) {
	endpoints, err := p.Registry.Endpoints.List(ctx, scope, partnerID)
	if err != nil {
		return nil, err
	}
	waiting, err := p.backlogs(ctx)
	if err != nil {
		return nil, err
	}
	names := p.adminNames()
	var rows []ui.EndpointRow
	for _, e := range endpoints {
		partner, err := names.partnerLink(ctx, e.PartnerID)
		if err != nil {
			return nil, err
		}
		rows = append(rows, ui.EndpointRow{
			Name: e.Name, Href: "/admin/endpoints/" + e.ID, Kind: e.Kind, Host: partners.EndpointHost(e), Partner: partner,
			Status: e.Status, Circuit: e.Circuit, Waiting: waiting[e.ID].Waiting, Oldest: waiting[e.ID].OldestDue.Time, Why: e.StatusReason,
		})
	}
	return rows, nil
}

// backlogs counts the waiting deliveries by endpoint.
func (p *portal) backlogs(ctx context.Context) (map[string]store.Backlog, error) {
	list, err := p.DB.Backlogs(ctx)
	if err != nil {
		return nil, fmt.Errorf("count what waits: %w", err)
	}
	waiting := make(map[string]store.Backlog, len(list))
	for _, b := range list {
		waiting[b.EndpointID] = b
	}
	return waiting, nil
}
