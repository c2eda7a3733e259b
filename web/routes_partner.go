package web

// routesPartner registers the pages of partners about what is their own.
func (p *portal) routesPartner() {
	d := p.partnerDesk()
	g := p.pages("/partner", p.requirePartner)
	g.GET("", d.partnerHome)
	g.GET("/organisation", d.organisationPage)
	g.POST("/organisation", d.changeContact)
	g.GET("/audit", d.partnerAudit)
	d.routes(g)
	d.routesReadKeys(g)
}
