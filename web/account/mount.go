// Package account serves what people do about logging in: first start, registration, login by password or at an OpenID
// provider, forgotten passwords, and the own account.
//
// The account comes from the session alone. Answers never tell whether an address or a number is known. Passwords are
// checked by registry/identity; this package stores none and logs none.
package account

import (
	"schakel/registry/profile"
	"schakel/web/site"
)

// logins serves login and the own account, with or without the pages beyond.
type logins struct {
	*site.App
	oidc     *oidcLogin
	profiles *profile.Profiles
}

// pages serves the start page and registration.
type pages struct{ *site.Portal }

// Mount registers login. Profiles saves the settings that the first administrator chooses; nil where there is no portal.
func Mount(app *site.App, profiles *profile.Profiles) error {
	l := &logins{App: app, profiles: profiles}
	if app.Cfg.OIDC != nil {
		login, err := newOIDCLogin(*app.Cfg.OIDC, app.Cfg.BaseURL)
		if err != nil {
			return err
		}
		l.oidc = login
	}
	l.mountLogins()
	return nil
}

// MountRegistration registers the start page and what visitors do before they have an account.
func MountRegistration(p *site.Portal) { (&pages{p}).mountRegistration() }

// mount registers first start, login, logout and the own account.
func (a *logins) mountLogins() {
	visitor := a.Pages("")
	visitor.GET("/setup/:token", a.setupForm)
	visitor.POST("/setup/:token", a.setup)
	visitor.GET("/login", a.loginForm)
	visitor.POST("/login", a.login)
	visitor.POST("/logout", a.logout)
	visitor.POST("/language", a.ChooseLanguage)
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
	own.POST("/language", a.setLocale)
	own.POST("/notifications", a.setNotifications)
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
