package site

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"schakel/delivery/outbox"
	"schakel/registry"
	"schakel/registry/partners"
	"schakel/registry/sorted"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/templates/ui"
)

// DeliveryNames finds the names of what deliveries refer to, each once. With a
// scope it knows the names of that partner alone (guarantee G7).
type DeliveryNames struct {
	db        *store.DB
	now       func() time.Time
	scope     string
	partners  map[string]string
	endpoints map[string]string
	// subscriptions by their labels
	subscriptions map[string]string
}

// DeliveryNames knows everybody's names: for administrators.
func (p *Portal) DeliveryNames() *DeliveryNames { return p.DeliveryNamesOf("") }

// DeliveryNamesOf finds names within a scope: those of one partner, or all for "".
func (p *Portal) DeliveryNamesOf(scope string) *DeliveryNames {
	return &DeliveryNames{p.DB, p.Cfg.Now, scope, map[string]string{}, map[string]string{}, map[string]string{}}
}

func (n *DeliveryNames) sees(partnerID string) bool { return n.scope == "" || n.scope == partnerID }

// Partner gives the name of a partner.
func (n *DeliveryNames) Partner(ctx context.Context, id string) (string, error) {
	return known(n.partners, id, func() (string, error) {
		row, err := n.db.Partner(ctx, id)
		if !n.sees(row.ID) {
			return id, err
		}
		return row.Name, err
	})
}

// LearnPartners reads the names of partners at once.
func (n *DeliveryNames) LearnPartners(ctx context.Context, ids []string) error {
	ids = unknown(n.partners, ids)
	found, err := n.db.PartnerNames(ctx, slices.DeleteFunc(ids, func(id string) bool { return !n.sees(id) }))
	maps.Copy(n.partners, found)
	return err
}

// LearnEndpoints reads the names of endpoints at once.
func (n *DeliveryNames) LearnEndpoints(ctx context.Context, ids []string) error {
	rows, err := n.db.EndpointNames(ctx, unknown(n.endpoints, ids))
	for _, row := range rows {
		if n.sees(row.PartnerID) {
			n.endpoints[row.ID] = row.Name
		}
	}
	return err
}

// unknown lists the ids that have no name yet, each once.
func unknown(names map[string]string, ids []string) []string {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	return slices.DeleteFunc(ids, func(id string) bool {
		_, ok := names[id]
		return ok || id == ""
	})
}

// IDsOf lists the ids that the rows of a list name.
func IDsOf[T any](rows []T, id func(T) string) []string {
	ids := make([]string, len(rows))
	for i, row := range rows {
		ids[i] = id(row)
	}
	return ids
}

// Endpoint gives the name of an endpoint.
func (n *DeliveryNames) Endpoint(ctx context.Context, id string) (string, error) {
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

// PartnerOptions are the partners to filter by, the own organisation first.
func (p *Portal) PartnerOptions(ctx context.Context, names *DeliveryNames) ([]ui.Option, error) {
	options := []ui.Option{{Label: i18n.T(ctx, "site.all-partners")}}
	rows, _, err := p.DB.Partners(ctx, store.PartnerFilter{Page: store.Page{Number: 1, Size: maxPartnerOptions}})
	if err != nil {
		return nil, err
	}
	own, err := p.DB.OwnPartner(ctx)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	sorted.By(rows, byName)
	if err == nil {
		rows = append([]store.Partner{own}, rows...)
	}
	for _, row := range rows {
		names.partners[row.ID] = row.Name
		options = append(options, ui.Option{Value: row.ID, Label: row.Name})
	}
	return options, nil
}

// EndpointOptions are the endpoints of a partner to filter by, or everybody's.
func (p *Portal) EndpointOptions(ctx context.Context, partner string, names *DeliveryNames) ([]ui.Option, error) {
	options := []ui.Option{{Label: i18n.T(ctx, "site.all-endpoints")}}
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

// TypeOptions are the event types to filter by: the catalogue for an
// administrator, what it subscribed to for a partner.
func (p *Portal) TypeOptions(ctx context.Context, partner string) ([]ui.Option, error) {
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
	options := []ui.Option{{Label: i18n.T(ctx, "site.all-event-types")}}
	for _, name := range slices.Compact(types) {
		options = append(options, ui.Option{Value: name, Label: name})
	}
	return options, nil
}

// RoutePartners are the partners a route can be between.
func (p *Portal) RoutePartners(ctx context.Context, who registry.Actor) ([]ui.Option, error) {
	options := []ui.Option{{Label: i18n.T(ctx, "site.choose-partner")}}
	for _, status := range []string{store.PartnerApproved, store.PartnerSuspended, store.PartnerRequested} {
		rows, _, err := p.Registry.Partners.List(ctx, who, store.PartnerFilter{Status: status})
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			label := row.Name
			if status != store.PartnerApproved {
				label = i18n.T(ctx, "site.name-status", row.Name, i18n.Of(ctx, "registry.state", status))
			}
			options = append(options, ui.Option{Value: row.ID, Label: label})
		}
	}
	return options, nil
}

// SubscriptionLabel returns the name of a subscription, or else its event types.
func SubscriptionLabel(ctx context.Context, s store.Subscription) string {
	return cmp.Or(s.Name, GetsText(ctx, s))
}

// AdminNames finds the names of partners and endpoints for the rows of a list.
type AdminNames struct{ *DeliveryNames }

// AdminNames finds the names of partners and endpoints for administrators.
func (p *Portal) AdminNames() AdminNames { return AdminNames{p.DeliveryNames()} }

// PartnerLink names a partner and leads to its page.
func (n AdminNames) PartnerLink(ctx context.Context, id string) (ui.Named, error) {
	name, err := n.Partner(ctx, id)
	if err != nil {
		return ui.Named{}, fmt.Errorf("name partner: %w", err)
	}
	return ui.Named{Name: name, Href: "/admin/partners/" + id}, nil
}

// EndpointLink names an endpoint and leads to its page.
func (n AdminNames) EndpointLink(ctx context.Context, id string) (ui.Named, error) {
	name, err := n.Endpoint(ctx, id)
	if err != nil {
		return ui.Named{}, fmt.Errorf("name endpoint: %w", err)
	}
	return ui.Named{Name: name, Href: "/admin/endpoints/" + id}, nil
}

// EndpointRows are the endpoints of a partner, or of all, with what waits there.
func (p *Portal) EndpointRows(ctx context.Context, scope registry.Scope, partnerID string) ([]ui.EndpointRow, error) {
	endpoints, err := p.Registry.Endpoints.List(ctx, scope, partnerID)
	if err != nil {
		return nil, err
	}
	waiting, err := p.Backlogs(ctx)
	if err != nil {
		return nil, err
	}
	names := p.AdminNames()
	if err := names.LearnPartners(ctx, IDsOf(endpoints, func(e store.Endpoint) string { return e.PartnerID })); err != nil {
		return nil, err
	}
	var rows []ui.EndpointRow
	ready := p.Readiness(true)
	for _, e := range endpoints {
		unready, err := ready.OfEndpoint(ctx, e)
		if err != nil {
			return nil, err
		}
		partner, err := names.PartnerLink(ctx, e.PartnerID)
		if err != nil {
			return nil, err
		}
		rows = append(rows, ui.EndpointRow{
			ID: e.ID, Name: e.Name, Href: "/admin/endpoints/" + e.ID, Kind: e.Kind, Host: partners.EndpointHost(e), Partner: partner,
			Status: e.Status, Circuit: e.Circuit, Waiting: waiting[e.ID].Waiting, Oldest: waiting[e.ID].OldestDue.Time, Windows: e.Windows, Why: i18n.Message(e.StatusReason).In(ctx), Unready: unready,
		})
	}
	return rows, nil
}

func byName(a, b store.Partner) int { return cmp.Compare(a.Name, b.Name) }

// GetsText lists the event types of a subscription, or names its dataset.
func GetsText(ctx context.Context, s store.Subscription) string {
	if s.DatasetID != "" {
		return i18n.T(ctx, "site.dataset", s.DatasetID)
	}
	return typesText(ctx, s.Types)
}

// Backlogs counts the waiting deliveries by endpoint.
func (p *Portal) Backlogs(ctx context.Context) (map[string]store.Backlog, error) {
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

// typesText names one or two event types, and counts more.
func typesText(ctx context.Context, types []string) string {
	if len(types) <= 2 {
		return strings.Join(types, ", ")
	}
	return i18n.T(ctx, "site.types-more", types[0], len(types)-1)
}

// Subscription names a subscription as its page does; what is not there any more is called by its id.
func (n *DeliveryNames) Subscription(ctx context.Context, area DeliveryArea, id string) (ui.Named, error) {
	name, err := known(n.subscriptions, id, func() (string, error) {
		row, err := n.db.Subscription(ctx, id)
		if err != nil || !n.sees(row.PartnerID) {
			return id, err
		}
		return SubscriptionLabel(ctx, row), nil
	})
	return ui.Named{Name: name, Href: area.Base + "/subscriptions/" + id}, err
}

// ContractHref gives the address of a contract.
func ContractHref(id string) string { return "/contracts/" + url.PathEscape(id) }

// EventTypeHref gives the address of an event type.
func EventTypeHref(name string) string { return "/event-types/" + url.PathEscape(name) }

// ContractVersionHref is the page of a version of a contract.
func ContractVersionHref(id, version string) string {
	return ContractHref(id) + "/versions/" + url.PathEscape(version)
}

// PartnerHref gives the address of a partner for administrators.
func PartnerHref(id string) string { return "/admin/partners/" + url.PathEscape(id) }
