// Package account serves what people do about logging in: first start, registration, login by password or at an OpenID
// provider, forgotten passwords, and the own account.
//
// The account comes from the session alone. Answers never tell whether an address or a number is known. Passwords are
// checked by registry/identity; this package stores none and logs none.
package account

import (
	"schakel/registry"
	"schakel/registry/profile"
	"schakel/web/site"
)

// logins serves login and the own account, with or without the pages beyond.
type logins struct {
	*site.App
	providers []*oidcLogin
	profiles  *profile.Profiles
}

// pages serves the start page and registration.
type pages struct{ *site.Portal }

// Mount registers login. Profiles saves the settings that the first administrator chooses; nil where there is no portal.
func Mount(app *site.App, profiles *profile.Profiles) error {
	l := &logins{App: app, profiles: profiles}
	for _, cfg := range app.Cfg.OIDC {
		login, err := newOIDCLogin(cfg, app.Cfg.BaseURL)
		if err != nil {
			return err
		}
		l.providers = append(l.providers, login)
	}
	l.mountLogins()
	return nil
}

// MountRegistration registers the start page, what visitors do before they have an account, the filters that people save, and who may log in.
func MountRegistration(p *site.Portal) {
	s := &pages{p}
	s.mountRegistration()
	s.mountSavedFilters()
	s.mountPeople()
}

// mount registers first start, login, logout and the own account.
func (a *logins) mountLogins() {
	visitor := a.Pages("", registry.Anyone)
	visitor.GET("/setup/:token", a.setupForm)
	visitor.POST("/setup/:token", a.setup)
	visitor.GET("/login", a.loginForm)
	visitor.POST("/login", a.login)
	visitor.GET("/login/factor", a.factorForm)
	visitor.POST("/login/factor", a.factor)
	visitor.POST("/logout", a.logout)
	visitor.POST("/language", a.ChooseLanguage)
	visitor.GET("/account/invitation/:token", a.invitationForm)
	visitor.POST("/account/invitation/:token", a.invitation)
	visitor.GET("/account/password-reset/:token", a.resetForm)
	visitor.POST("/account/password-reset/:token", a.reset)
	if len(a.providers) > 0 {
		visitor.GET("/login/oidc", a.oidcStart)
		visitor.GET("/login/oidc/callback", a.oidcCallback)
		visitor.GET("/login/oidc/callback/:provider", a.oidcCallback)
		visitor.POST("/login/oidc/logout", a.backChannelLogout)
		visitor.GET("/logout/provider", a.leavePage)
		a.Pages("/login/proved", registry.OwnAccount).GET("", a.proved)
	}

	own := a.Pages("/account", registry.OwnAccount)
	own.GET("", a.AccountPage)
	own.POST("/language", a.setLocale)
	own.POST("/notifications", a.setNotifications)
	own.POST("/password", a.changePassword, a.RequireProofOfFactor)
	own.POST("/sessions/end", a.endSessions, a.RequireProof)
	own.POST("/sessions/:id/end", a.endSession, a.RequireProof)
	a.mountFactors()
}

// mountRegistration registers the start page and what visitors do before they have an account.
func (p *pages) mountRegistration() {
	g := p.Pages("", registry.Anyone)
	g.GET("/", p.startPage)
	g.GET("/terms", p.termsPage)
	g.GET("/register", p.registerForm)
	g.POST("/register", p.register)
	g.GET("/register/sent", p.registerSent)
	g.GET("/register/saved", p.registerSaved)
	g.POST("/register/link", p.mailDraft)
	g.POST("/register/forget", p.dropDraft)
	g.GET("/register/resume/:token", p.resumeForm)
	g.POST("/register/resume/:token", p.resume)
	g.GET("/register/confirm/:token", p.confirmForm)
	g.POST("/register/confirm/:token", p.confirm)
	g.GET("/login/password", p.forgottenForm)
	g.POST("/login/password", p.forgotten)
}
