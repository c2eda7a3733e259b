package site

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/identity"
	"schakel/store"
	"schakel/templates/ui"
)

const (
	contextAccount = "account"
	contextSession = "session"
)

// withAccount finds out who is asking, from the session alone. Who must get a second factor first is a visitor until then.
func (a *App) withAccount(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		ctx := c.Request().Context()
		s, err := a.loginSession(ctx)
		if err != nil {
			return err
		}
		if s == nil {
			a.sessions.Remove(ctx, keyLogin)
			return next(c)
		}
		if err := a.Cfg.Accounts.SeeSession(ctx, *s); err != nil {
			return err
		}
		a.enter(c, s)
		if at := a.renewsAt(c, *s); at != nil {
			return c.Redirect(http.StatusSeeOther, ProviderHref(*at, "renew", c.Request().URL.RequestURI()))
		}
		return next(c)
	}
}

// enter makes a session that of the request.
func (a *App) enter(c echo.Context, s *identity.Session) {
	c.Set(contextSession, s)
	if !s.MustEnrol {
		c.Set(contextAccount, &s.Account)
		if may := a.allowed(s.Account); may != nil {
			c.SetRequest(c.Request().WithContext(ui.WithAllowed(c.Request().Context(), may)))
		}
	}
	a.setLocale(c)
}

// loginSession is the login session of a request; nil for a visitor, and when it ended.
func (a *App) loginSession(ctx context.Context) (*identity.Session, error) {
	id := a.sessions.GetString(ctx, keyLogin)
	if id == "" {
		return nil, nil
	}
	s, err := a.Cfg.Accounts.Session(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return &s, registry.Wrap("find session", err)
}

// recognise finds out who is asking where no route did, for the error page. It
// changes nothing, and takes whoever it cannot tell for a visitor.
func (a *App) recognise(c echo.Context) {
	cookie, err := c.Cookie(a.sessions.Cookie.Name)
	if err != nil || a.CurrentAccount(c) != nil {
		return
	}
	ctx, err := a.sessions.Load(c.Request().Context(), cookie.Value)
	if err != nil {
		return
	}
	if s, err := a.loginSession(ctx); err == nil && s != nil {
		a.enter(c, s)
	}
}

// CurrentAccount returns the account that is logged in; nil for a visitor.
func (a *App) CurrentAccount(c echo.Context) *store.Account {
	account, _ := c.Get(contextAccount).(*store.Account)
	return account
}

// CurrentSession returns the session of who is logged in, also before the second factor that it must get; nil for a visitor.
func (a *App) CurrentSession(c echo.Context) *identity.Session {
	s, _ := c.Get(contextSession).(*identity.Session)
	return s
}

// SessionOf returns the session of who is logged in, on routes behind requireLogin.
func SessionOf(c echo.Context) identity.Session { return *c.Get(contextSession).(*identity.Session) }

// AccountOf returns the account that is logged in, on routes behind requireAccount.
func AccountOf(c echo.Context) store.Account { return *c.Get(contextAccount).(*store.Account) }

// PartnerID is the partner the reader acts for, on routes that need [registry.ReadPartner].
// It comes from the account of the session and from nowhere else (guarantee G7).
func PartnerID(c echo.Context) string { return AccountOf(c).PartnerID }

// LoginEnded is the login page for who sent a form without being logged in.
const LoginEnded = "/login?ended=1"

// FactorsPath is the page of the own second factors.
const FactorsPath = "/account/factors"

// requireAccount sends visitors to the login page, and back after that; who must get a second factor, to the page for that.
func (a *App) requireAccount(next echo.HandlerFunc) echo.HandlerFunc {
	return a.requireLogin(func(c echo.Context) error {
		if a.CurrentAccount(c) == nil {
			return c.Redirect(http.StatusSeeOther, FactorsPath)
		}
		return next(c)
	})
}

// requireLogin is requireAccount for what people do who must get a second factor first.
func (a *App) requireLogin(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if a.CurrentSession(c) != nil {
			return next(c)
		}
		if c.Request().Header.Get("HX-Request") != "" {
			// A part of a page cannot show a login form: have the whole page go there.
			c.Response().Header().Set("HX-Redirect", "/login")
			return c.NoContent(http.StatusUnauthorized)
		}
		if c.Request().Method == http.MethodGet {
			return c.Redirect(http.StatusSeeOther, "/login?next="+url.QueryEscape(c.Request().URL.RequestURI()))
		}
		// Told by the address and not by the session: a visitor must not be able to have a row written by each request.
		return c.Redirect(http.StatusSeeOther, LoginEnded)
	}
}

// LocalPath is raw when it is the address of a page of ours, and otherwise "":
// a login must not end on another site.
func LocalPath(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || len(raw) > 2000 {
		return ""
	}
	if !strings.HasPrefix(raw, "/") || strings.HasPrefix(raw, "//") || strings.ContainsAny(raw, "\\\t\r\n") {
		return ""
	}
	return raw
}
