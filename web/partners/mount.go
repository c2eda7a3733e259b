// Package partners serves partners and what they have: registrations, endpoints, clients and subscriptions, as a partner sees
// its own and as administrators see all, and the API of subscriptions.
//
// The owner of what is shown or changed comes from the session or the access token, never from the address or a form
// (guarantee G7). Every decision is a call of one method of registry/partners or registry/identity.
package partners

import (
	"context"
	_ "embed"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"
	"schakel/delivery/outbox"
	permission "schakel/registry"
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
	// CheckEvent holds an event against the versions of its type, and lists what does not fit.
	CheckEvent func(eventType string, content []byte, versions []store.EventType) ([]site.ProblemError, error)
	// Publish takes an event as a client of the reader, with the checks of the API. Nil where there is no API.
	Publish func(ctx context.Context, client store.Client, partner store.Partner, content []byte) (outbox.Receipt, []site.ProblemError, error)
	// Outcome shows what came of a delivery, with what was sent and answered; self is the address of the page.
	Outcome func(c echo.Context, area site.DeliveryArea, d store.Delivery, self string) (templ.Component, error)
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
type handlers struct {
	*api.API
	unready func() Unready
}

// Unready explains why what a subscription is to cannot be sent yet, as the pages do; "" when it can. One is for one request.
type Unready func(ctx context.Context, s store.Subscription) (why string, err error)

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

//go:embed openapi.yaml
var openapiYAML []byte

// EventsPart describes what the API for events answers here.
var EventsPart = api.NewPart("partners", openapiYAML)

// MountAPI registers the API. Each request asks for an Unready of its own.
func MountAPI(m *api.API, unready func() Unready) { (&handlers{m, unready}).mountSubscriptions() }

// mountPartners registers the pages of administrators about partners and what they have, and those of partners about
// their own. Those about what the own organisation has are the same as a partner's.
func (p *pages) mountPartners() {
	g := p.Pages("/admin", permission.ReadOrganisation)
	g.GET("/partners", p.adminPartners)
	g.GET("/partners/:id", p.adminPartner)
	correct := g.Needs(permission.ChangePartners)
	correct.GET("/partners/:id/registration", p.correctionForm)
	correct.POST("/partners/:id/registration", p.correctPartner, p.RequireProof)
	p.RoutesSteps(g, "/partners/", append(p.partnerSteps(), p.confirmStep()), p.showPartner)
	p.RoutesSteps(g, "/partners/", []site.Step{p.eraseStep()}, p.showPartner, p.RequireProof)
	g.GET("/flows", p.adminFlows)
	g.GET("/subscriptions", p.adminSubscriptions)
	g.GET("/subscriptions/:id", p.adminSubscription)
	p.RoutesSteps(g, "/subscriptions/", p.subscriptionSteps(), p.showSubscription)
	g.GET("/clients", p.adminClients)
	g.GET("/clients/:id", p.adminClient)
	p.RoutesSteps(g, "/clients/", p.clientSteps(), p.showClient)
	g.Needs(permission.ChangeClients).POST("/clients/:id/issuer", p.nameAtIssuer, p.RequireProof)
	g.GET("/endpoints", p.adminEndpoints)
	g.GET("/endpoints/:id", p.adminEndpoint)
	operate := g.Needs(permission.OperateEndpoints)
	operate.POST("/endpoints/:id/test", p.adminEndpointTest)
	operate.POST("/endpoints/:id/probe", func(c echo.Context) error { return p.Probe(c, c.Param("id"), "/admin/endpoints/"+c.Param("id")) })
	g.GET("/endpoints/:id/check", p.adminEndpointCheck)
	operate.POST("/endpoints/:id/check", p.adminStartCheck)
	p.RoutesSteps(g, "/endpoints/", p.endpointSteps(), p.showEndpoint)
	p.routesMove(g)
	ownerPages{p.OwnPages("/admin/own"), p}.routes(p.Pages("/admin/own", permission.ReadOrganisation))

	d := ownerPages{p.PartnerPages(), p}
	own := p.Pages("/partner", permission.ReadPartner)
	own.GET("", d.partnerHome)
	own.GET("/organisation", d.organisationPage)
	own.Needs(permission.ChangeOrganisation).POST("/organisation", d.changeContact, d.RequireProof)
	own.GET("/audit", d.partnerAudit)
	own.GET("/audit/export", d.exportPartnerAudit)
	d.routes(own)
}

// routes registers the pages about endpoints, clients and subscriptions.
func (d ownerPages) routes(g site.RouteGroup) {
	d.routesEndpoints(g)
	d.routesClients(g)
	d.routesSubscriptions(g)
}

// mountSubscriptions registers the API of subscriptions.
func (m *handlers) mountSubscriptions() {
	follow := m.Scoped(api.EventsBase, site.ScopeSubscriptionsWrite, site.ScopeEventsConsume)
	follow.GET("/subscriptions", m.ByCaller(m.listSubscriptions))
	follow.GET("/subscriptions/:subscriptionId", m.ByCaller(m.showSubscription), m.ofEvents)
	follow.GET("/endpoints/:endpointId/checks", m.ByCaller(m.listChecks))
	follow.GET("/endpoints/:endpointId/checks/:checkId", m.ByCaller(m.showCheck))
	follow.GET("/endpoints/:endpointId/signing", m.ByCaller(m.showSigning))
	subscribe := m.Scoped(api.EventsBase, site.ScopeSubscriptionsWrite)
	subscribe.POST("/endpoints/:endpointId/checks", m.ByCaller(m.postCheck), m.Once)
	subscribe.POST("/endpoints/:endpointId/signing/keys", m.ByCaller(m.rotateSigning), m.Once)
	subscribe.POST("/subscriptions", m.ByCaller(m.postSubscription), m.Once)
	subscribe.PATCH("/subscriptions/:subscriptionId", m.ByCaller(m.patchSubscription), m.Once, m.ofEvents)
	subscribe.DELETE("/subscriptions/:subscriptionId", m.ByCaller(m.deleteSubscription), m.Once, m.ofEvents)
}
