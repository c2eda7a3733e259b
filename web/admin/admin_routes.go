package admin

// mountAdmin registers the pages of administrators about this Schakel itself.
func (p *pages) mountAdmin() {
	g := p.Pages("/admin", p.RequireAdministrator)
	g.GET("", p.adminOverview)
	g.GET("/routes", p.adminRoutes)
	g.POST("/routes", p.adminAddRoute)
	g.POST("/routes/:id/removal", p.adminRemoveRoute)
	g.GET("/mails", p.adminMails)
	g.GET("/mails/:id", p.adminMail)
	g.POST("/mails/:id/text", p.adminMailText)
	g.GET("/accounts", p.adminAccounts)
	g.POST("/accounts", p.adminInvite)
	g.POST("/accounts/:id/:change", p.adminChangeAccount)
	g.GET("/audit", p.auditPage)
	p.routesSettings()
	if p.Mailbox {
		g := p.Pages("")
		g.GET("/mailbox", p.mailboxPage)
		g.GET("/mailbox/:id", p.mailPage)
	}
}
