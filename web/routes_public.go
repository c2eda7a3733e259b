package web

// routesPublic registers what everybody can see, and registration.
func (p *portal) routesPublic() {
	g := p.pages("")
	g.GET("/", p.startPage)
	g.GET("/terms", p.termsPage)
	g.GET("/register", p.registerForm)
	g.POST("/register", p.register)
	g.GET("/register/sent", p.registerSent)
	g.GET("/register/confirm/:token", p.confirmForm)
	g.POST("/register/confirm/:token", p.confirm)
	g.GET("/login/password", p.forgottenForm)
	g.POST("/login/password", p.forgotten)
	g.GET("/event-types", p.eventTypesPage)
	g.GET("/event-types/:name", p.eventTypePage)
	p.pages("", p.requireAccount).POST("/event-types/:name", p.checkEventType)
	if p.Mailbox {
		g.GET("/mailbox", p.mailboxPage)
		g.GET("/mailbox/:id", p.mailPage)
	}
}
