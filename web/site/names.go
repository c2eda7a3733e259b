package web

import (
	"context"
	"errors"
	"slices"

	"schakel/delivery/outbox"
	"schakel/store"
	"schakel/templates/ui"
)

// deliveryNames finds the names of what deliveries refer to, each once. With a
// scope it knows the names of that partner alone (guarantee G7).
type deliveryNames struct {
	db        *store.DB
	scope     string
	partners  map[string]string
	endpoints map[string]string
	// subscriptions by their labels
	subscriptions map[string]string
}

// deliveryNames knows everybody's names: for administrators.
func (p *portal) deliveryNames() *deliveryNames { return p.deliveryNamesOf("") }

func (p *portal) deliveryNamesOf(scope string) *deliveryNames {
	return &deliveryNames{p.DB, scope, map[string]string{}, map[string]string{}, map[string]string{}}
}

func (n *deliveryNames) sees(partnerID string) bool { return n.scope == "" || n.scope == partnerID }

func (n *deliveryNames) partner(ctx context.Context, id string) (string, error) {
	return known(n.partners, id, func() (string, error) {
		row, err := n.db.Partner(ctx, id)
		if !n.sees(row.ID) {
			return id, err
		}
		return row.Name, err
	})
}

func (n *deliveryNames) endpoint(ctx context.Context, id string) (string, error) {
	return known(n.endpoints, id, func() (string, error) {
		row, err := n.db.Endpoint(ctx, id)
		if !n.sees(row.PartnerID) {
			return id, err
		}
		return row.Name, err
	})
}

// known looks a name up once. What is not there any more is called by its id.
func known(names map[string]string, id string, find func() (string, error)) (string, error) {
	if name, ok := names[id]; ok || id == "" {
		return name, nil
	}
	name, err := find()
	if errors.Is(err, store.ErrNotFound) || err == nil && name == "" {
		name, err = id, nil
	}
	if err == nil {
		names[id] = name
	}
	return name, err
}

// maxPartnerOptions bounds the list of partners to choose from.
const maxPartnerOptions = 1000

// partnerOptions are the partners to filter by, the own organisation first.
func (p *portal) partnerOptions(ctx context.Context, names *deliveryNames) ([]ui.Option, error) {
	options := []ui.Option{{Label: "All partners"}}
	rows, _, err := p.DB.Partners(ctx, store.PartnerFilter{Page: store.Page{Number: 1, Size: maxPartnerOptions}})
	if err != nil {
		return nil, err
	}
	own, err := p.DB.OwnPartner(ctx)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	slices.SortFunc(rows, byName)
	if err == nil {
		rows = append([]store.Partner{own}, rows...)
	}
	for _, row := range rows {
		names.partners[row.ID] = row.Name
		options = append(options, ui.Option{Value: row.ID, Label: row.Name})
	}
	return options, nil
}

// endpointOptions are the endpoints of a partner to filter by, or everybody's.
func (p *portal) endpointOptions(ctx context.Context, partner string, names *deliveryNames) ([]ui.Option, error) {
	options := []ui.Option{{Label: "All endpoints"}}
	rows, err := p.DB.Endpoints(ctx, partner)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		names.endpoints[row.ID] = row.Name
		label := row.Name
		if owner := names.partners[row.PartnerID]; partner == "" && owner != "" {
			label += " (" + owner + ")"
		}
		options = append(options, ui.Option{Value: row.ID, Label: label})
	}
	return options, nil
}

// typeOptions are the event types to filter by: the catalogue for an
// administrator, what it subscribed to for a partner.
func (p *portal) typeOptions(ctx context.Context, partner string) ([]ui.Option, error) {
	types := []string{outbox.TestEventType}
	if partner == "" {
		rows, err := p.DB.EventTypes(ctx, nil)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			types = append(types, row.Name)
		}
	} else {
		rows, _, err := p.DB.Subscriptions(ctx, store.SubscriptionFilter{PartnerID: partner})
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			types = append(types, row.Types...)
		}
	}
	slices.Sort(types)
	options := []ui.Option{{Label: "All event types"}}
	for _, name := range slices.Compact(types) {
		options = append(options, ui.Option{Value: name, Label: name})
	}
	return options, nil
}
