package web

// routesLogin registers first start, login, logout and the own account.
func (a *App) routesLogin() {
	visitor := a.pages("")
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

	own := a.pages("/account", a.requireAccount)
	own.GET("", a.accountPage)
	own.POST("/password", a.changePassword)
	own.POST("/sessions/end", a.endSessions)
}
