// Package partners serves partners and what they have: registrations, endpoints, clients and subscriptions, as a partner sees
// its own and as administrators see all, and the API of subscriptions.
//
// The owner of what is shown or changed comes from the session or the access token, never from the address or a form
// (guarantee G7). Every decision is a call of one method of registry/partners or registry/identity.
package partners

import (
	"context"

	"github.com/labstack/echo/v4"
	registry "schakel/registry/partners"
	"schakel/store"
	view "schakel/templates/partners"
	"schakel/templates/ui"
	"schakel/web/api"
	"schakel/web/site"
)

// Others holds what pages of this feature show of other features.
type Others struct {
	// SubscribedDataset describes the dataset of a subscription; nil for one to event types.
	SubscribedDataset func(ctx context.Context, g registry.Grant, base string) (*view.SubscribedDataset, error)
	// OrphanedBy names the AMQP processes that have no subscription without this one.
	OrphanedBy func(ctx context.Context, s store.Subscription) ([]ui.Named, error)
	// EndpointParty shows the AMQP party of an endpoint.
	EndpointParty func(c echo.Context, e store.Endpoint, may bool) (*view.EndpointAMQP, error)
	// FillAdminParty adds the AMQP party to the page of an endpoint for administrators.
	FillAdminParty func(ctx context.Context, e store.Endpoint, v *view.AdminEndpointView) error
	// TakesTests reports whether an endpoint takes test events.
	TakesTests func(ctx context.Context, e store.Endpoint) bool
}

// pages serves the pages.
type pages struct {
	*site.Portal
	others Others
}

func (p *pages) subscribedDataset(ctx context.Context, g registry.Grant, base string) (*view.SubscribedDataset, error) {
	return p.others.SubscribedDataset(ctx, g, base)
}

func (p *pages) orphanedBy(ctx context.Context, s store.Subscription) ([]ui.Named, error) {
	return p.others.OrphanedBy(ctx, s)
}

func (p *pages) fillAdminParty(ctx context.Context, e store.Endpoint, v *view.AdminEndpointView) error {
	return p.others.FillAdminParty(ctx, e, v)
}

// handlers serves the API of subscriptions.
type handlers struct{ *api.API }

// ownerPages serves the pages about what one organisation has.
type ownerPages struct {
	site.OwnerPages
	pages *pages
}

func (d ownerPages) endpointParty(c echo.Context, e store.Endpoint, may bool) (*view.EndpointAMQP, error) {
	return d.pages.others.EndpointParty(c, e, may)
}

func (d ownerPages) takesTests(ctx context.Context, e store.Endpoint) bool {
	return d.pages.others.TakesTests(ctx, e)
}

func (d ownerPages) subscribedDataset(ctx context.Context, g registry.Grant, base string) (*view.SubscribedDataset, error) {
	return d.pages.others.SubscribedDataset(ctx, g, base)
}

// Mount registers the pages.
func Mount(p *site.Portal, others Others) { (&pages{p, others}).mountPartners() }

// MountAPI registers the API.
func MountAPI(m *api.API) { (&handlers{m}).mountSubscriptions() }
