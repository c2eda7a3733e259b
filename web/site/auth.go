package site

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/store"
)

const contextAccount = "account"

// withAccount finds out who is asking, from the session alone.
func (a *App) withAccount(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		ctx := c.Request().Context()
		account, err := a.sessionAccount(ctx)
		if err != nil {
			return err
		}
		if account == nil {
			if a.sessions.Exists(ctx, keyAccount) {
				a.forgetAccount(ctx)
			}
			return next(c)
		}
		a.touchSession(ctx)
		c.Set(contextAccount, account)
		a.setLocale(c)
		return next(c)
	}
}

// sessionAccount is whose session it is; nil for a visitor, and for an account
// that was blocked or whose sessions were ended.
func (a *App) sessionAccount(ctx context.Context) (*store.Account, error) {
	id := a.sessions.GetString(ctx, keyAccount)
	if id == "" || !a.sessionAlive(ctx) {
		return nil, nil
	}
	account, err := a.Cfg.Accounts.Account(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find account of session: %w", err)
	}
	if account.Status != store.AccountActive || account.SessionEpoch != a.sessions.GetInt64(ctx, keyEpoch) {
		return nil, nil
	}
	return &account, nil
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
	if account, err := a.sessionAccount(ctx); err == nil && account != nil {
		c.Set(contextAccount, account)
		a.setLocale(c)
	}
}

// CurrentAccount returns the account that is logged in; nil for a visitor.
func (a *App) CurrentAccount(c echo.Context) *store.Account {
	account, _ := c.Get(contextAccount).(*store.Account)
	return account
}

// AccountOf returns the account that is logged in, on routes behind requireAccount.
func AccountOf(c echo.Context) store.Account { return *c.Get(contextAccount).(*store.Account) }

// PartnerID is the partner the reader acts for, on routes behind requirePartner.
// It comes from the account of the session and from nowhere else (guarantee G7).
func PartnerID(c echo.Context) string { return AccountOf(c).PartnerID }

// LoginEnded is the login page for who sent a form without being logged in.
const LoginEnded = "/login?ended=1"

// RequireAccount sends visitors to the login page, and back after that.
func (a *App) RequireAccount(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if a.CurrentAccount(c) != nil {
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

// RequireAdministrator lets administrators pass.
func (a *App) RequireAdministrator(next echo.HandlerFunc) echo.HandlerFunc {
	return a.RequireAccount(func(c echo.Context) error {
		if AccountOf(c).Role != store.RoleAdministrator {
			return echo.NewHTTPError(http.StatusForbidden, "site.page-administrators")
		}
		return next(c)
	})
}

// RequirePartner lets accounts of a partner pass.
func (a *App) RequirePartner(next echo.HandlerFunc) echo.HandlerFunc {
	return a.RequireAccount(func(c echo.Context) error {
		if account := AccountOf(c); account.Role != store.RolePartner || account.PartnerID == "" {
			return echo.NewHTTPError(http.StatusForbidden, "site.page-partners")
		}
		return next(c)
	})
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
