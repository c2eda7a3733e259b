package web

import "github.com/labstack/echo/v4"

// routesAdmin registers the pages of administrators about what is agreed. Those
// about what the own organisation has are the same as a partner's.
func (p *portal) routesAdmin() {
	g := p.pages("/admin", p.requireAdministrator)
	g.GET("", p.adminOverview)
	g.GET("/partners", p.adminPartners)
	g.GET("/partners/:id", p.adminPartner)
	g.GET("/partners/:id/registration", p.correctionForm)
	g.POST("/partners/:id/registration", p.correctPartner)
	routesSteps(g, "/partners/:id", append(partnerSteps(), confirmStep()), p.adminPartnerStep)
	g.GET("/subscriptions", p.adminSubscriptions)
	g.GET("/subscriptions/:id", p.adminSubscription)
	routesSteps(g, "/subscriptions/:id", subscriptionSteps(), p.adminSubscriptionStep)
	p.ownDesk("/admin").routesReadKeys(g)
	p.routesPartnerKeys(g)
	g.GET("/clients", p.adminClients)
	g.GET("/clients/:id", p.adminClient)
	routesSteps(g, "/clients/:id", clientSteps(), p.adminClientStep)
	g.GET("/endpoints", p.adminEndpoints)
	g.GET("/endpoints/:id", p.adminEndpoint)
	g.POST("/endpoints/:id/test", p.adminEndpointTest)
	routesSteps(g, "/endpoints/:id", endpointSteps(), p.adminEndpointStep)
	g.GET("/routes", p.adminRoutes)
	g.POST("/routes", p.adminAddRoute)
	g.POST("/routes/:id/removal", p.adminRemoveRoute)
	g.GET("/mails", p.adminMails)
	g.GET("/mails/:id", p.adminMail)
	g.POST("/mails/:id/text", p.adminMailText)
	g.GET("/accounts", p.adminAccounts)
	g.POST("/accounts", p.adminInvite)
	g.POST("/accounts/:id/:change", p.adminChangeAccount)
	p.routesMirrors(g)
	p.routesSettings()
	p.ownDesk("/admin/own").routes(p.pages("/admin/own", p.requireAdministrator))
}

// routesSteps registers a route for each decision about the thing at path.
func routesSteps(g routeGroup, path string, steps []step, take func(echo.Context, step) error) {
	for _, s := range steps {
		g.POST(path+"/"+s.verb, func(c echo.Context) error { return take(c, s) })
	}
}
