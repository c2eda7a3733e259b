package web

import (
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/identity"
	view "schakel/templates/account"
	"schakel/templates/ui"
)

// loginForm shows the login page. Who is logged in already is sent on.
func (a *App) loginForm(c echo.Context) error {
	next := localPath(c.QueryParam("next"))
	if account := a.currentAccount(c); account != nil {
		return c.Redirect(http.StatusSeeOther, orElse(next, homeOf(account)))
	}
	return a.showLogin(c, http.StatusOK, view.LoginView{Next: next})
}

// login checks an e-mail address and password. One text for all that can be
// wrong with them: it does not tell which accounts exist.
func (a *App) login(c echo.Context) error {
	form, err := readForm(c)
	if err != nil {
		return err
	}
	v := view.LoginView{Email: form.Get("email"), Next: localPath(form.Get("next"))}
	account, err := a.cfg.Accounts.Authenticate(c.Request().Context(), v.Email, form.Raw("password"), c.RealIP())
	if errors.Is(err, identity.ErrLogin) {
		v.Wrong = "The e-mail address or the password is wrong."
		return a.showLogin(c, http.StatusUnauthorized, v)
	}
	if e, ok := errors.AsType[*registry.ThrottledError](err); ok {
		v.Wrong = waitText(e.After)
		setRetryAfter(c, e.After)
		return a.showLogin(c, http.StatusTooManyRequests, v)
	}
	if err != nil {
		return err
	}
	if err := a.startSession(c, account.ID, account.SessionEpoch); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, orElse(v.Next, homeOf(&account)))
}

// logout ends the session of this browser.
func (a *App) logout(c echo.Context) error {
	if err := a.endSession(c); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/login")
}

func (a *App) showLogin(c echo.Context, status int, v view.LoginView) error {
	if a.oidc != nil {
		v.ProviderLabel, v.ProviderHref = a.oidc.cfg.Label, "/login/oidc"
		if v.Next != "" {
			v.ProviderHref += "?next=" + url.QueryEscape(v.Next)
		}
	}
	p := a.page(c, "Log in")
	p.Invalid = v.Wrong != ""
	if p.Flash == nil && c.QueryParam("ended") != "" {
		p.Flash = &ui.Flash{Kind: ui.KindWarning, Text: "Your session had ended, so this was not done. Log in and try again."}
	}
	return a.render(c, status, view.LoginPage(p, v))
}

func setRetryAfter(c echo.Context, after time.Duration) {
	c.Response().Header()["Retry-After"] = retryLater(0, "", "", after).header["Retry-After"]
}

func waitText(after time.Duration) string {
	return "Too many tries have failed. Wait " + ui.Duration(after.Round(time.Second)+time.Second) + " and try again."
}

func orElse(first, otherwise string) string {
	if first != "" {
		return first
	}
	return otherwise
}
