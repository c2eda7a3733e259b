package partners

import (
	"schakel/web/api"
	"schakel/web/site"
)

// mountPartners registers the pages of administrators about partners and what they have, and those of partners about
// their own. Those about what the own organisation has are the same as a partner's.
func (p *pages) mountPartners() {
	g := p.Pages("/admin", p.RequireAdministrator)
	g.GET("/partners", p.adminPartners)
	g.GET("/partners/:id", p.adminPartner)
	g.GET("/partners/:id/registration", p.correctionForm)
	g.POST("/partners/:id/registration", p.correctPartner)
	site.RoutesSteps(g, "/partners/:id", append(partnerSteps(), confirmStep()), p.adminPartnerStep)
	g.GET("/subscriptions", p.adminSubscriptions)
	g.GET("/subscriptions/:id", p.adminSubscription)
	site.RoutesSteps(g, "/subscriptions/:id", subscriptionSteps(), p.adminSubscriptionStep)
	g.GET("/clients", p.adminClients)
	g.GET("/clients/:id", p.adminClient)
	site.RoutesSteps(g, "/clients/:id", clientSteps(), p.adminClientStep)
	g.GET("/endpoints", p.adminEndpoints)
	g.GET("/endpoints/:id", p.adminEndpoint)
	g.POST("/endpoints/:id/test", p.adminEndpointTest)
	site.RoutesSteps(g, "/endpoints/:id", endpointSteps(), p.adminEndpointStep)
	ownerPages{p.OwnDesk("/admin/own"), p}.routes(p.Pages("/admin/own", p.RequireAdministrator))

	d := ownerPages{p.PartnerDesk(), p}
	own := p.Pages("/partner", p.RequirePartner)
	own.GET("", d.partnerHome)
	own.GET("/organisation", d.organisationPage)
	own.POST("/organisation", d.changeContact)
	own.GET("/audit", d.partnerAudit)
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
	follow.GET("/subscriptions", m.listSubscriptions)
	follow.GET("/subscriptions/:subscriptionId", m.showSubscription, m.ofEvents)
	subscribe := m.Scoped(api.EventsBase, site.ScopeSubscriptionsWrite)
	subscribe.POST("/subscriptions", m.postSubscription, m.Once)
	subscribe.PATCH("/subscriptions/:subscriptionId", m.patchSubscription, m.Once, m.ofEvents)
	subscribe.DELETE("/subscriptions/:subscriptionId", m.deleteSubscription, m.Once, m.ofEvents)
}
