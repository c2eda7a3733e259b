package account

// mount registers first start, login, logout and the own account.
func (a *logins) mountLogins() {
	visitor := a.Pages("")
	visitor.GET("/setup/:token", a.setupForm)
	visitor.POST("/setup/:token", a.setup)
	visitor.GET("/login", a.loginForm)
	visitor.POST("/login", a.login)
	visitor.POST("/logout", a.logout)
	visitor.GET("/account/invitation/:token", a.invitationForm)
	visitor.POST("/account/invitation/:token", a.invitation)
	visitor.GET("/account/password-reset/:token", a.resetForm)
	visitor.POST("/account/password-reset/:token", a.reset)
	if a.oidc != nil {
		visitor.GET("/login/oidc", a.oidcStart)
		visitor.GET("/login/oidc/callback", a.oidcCallback)
	}

	own := a.Pages("/account", a.RequireAccount)
	own.GET("", a.AccountPage)
	own.POST("/password", a.changePassword)
	own.POST("/sessions/end", a.endSessions)
}

// mountRegistration registers the start page and what visitors do before they have an account.
func (p *pages) mountRegistration() {
	g := p.Pages("")
	g.GET("/", p.startPage)
	g.GET("/terms", p.termsPage)
	g.GET("/register", p.registerForm)
	g.POST("/register", p.register)
	g.GET("/register/sent", p.registerSent)
	g.GET("/register/confirm/:token", p.confirmForm)
	g.POST("/register/confirm/:token", p.confirm)
	g.GET("/login/password", p.forgottenForm)
	g.POST("/login/password", p.forgotten)
}
