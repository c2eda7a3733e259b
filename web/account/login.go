package account

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/identity"
	view "schakel/templates/account"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// loginForm shows the login page. Who is logged in already is sent on.
func (a *logins) loginForm(c echo.Context) error {
	next := site.LocalPath(c.QueryParam("next"))
	if account := a.CurrentAccount(c); account != nil {
		return c.Redirect(http.StatusSeeOther, cmp.Or(next, site.HomeOf(account)))
	}
	return a.showLogin(c, http.StatusOK, view.LoginView{Next: next})
}

// login checks an e-mail address and password. One text for all that can be
// wrong with them: it does not tell which accounts exist.
func (a *logins) login(c echo.Context) error {
	form, err := site.ReadForm(c)
	if err != nil {
		return err
	}
	v := view.LoginView{Email: form.Get("email"), Next: site.LocalPath(form.Get("next"))}
	account, err := a.Cfg.Accounts.Authenticate(c.Request().Context(), identity.Login{
		Email: v.Email, Password: form.Raw("password"), Addr: c.RealIP(), Device: a.deviceOf(c),
	})
	if errors.Is(err, identity.ErrLogin) {
		v.Wrong = "account.login-wrong"
		return a.showLogin(c, http.StatusUnauthorized, v)
	}
	if e, ok := errors.AsType[*registry.ThrottledError](err); ok {
		v.Wrong = waitText(c, e.After)
		setRetryAfter(c, e.After)
		return a.showLogin(c, http.StatusTooManyRequests, v)
	}
	if err != nil {
		return err
	}
	if err := a.trustDevice(c, account.ID); err != nil {
		return err
	}
	if err := a.StartSession(c, account.ID, account.SessionEpoch); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, cmp.Or(v.Next, site.HomeOf(&account)))
}

// deviceAge is the lifetime of the cookie of a browser that its user logged in with, in seconds.
const deviceAge = 400 * 24 * 60 * 60

// deviceCookie lets an owner log in while others guess the password. It is worth nothing without the password.
func (a *logins) deviceCookie(value string) *http.Cookie {
	cookie := &http.Cookie{Name: "schakel-device", Value: value, Path: "/", MaxAge: deviceAge, HttpOnly: true, SameSite: http.SameSiteStrictMode}
	if a.HTTPS() {
		cookie.Name, cookie.Secure = "__Host-schakel-device", true
	}
	return cookie
}

// deviceOf returns what this browser keeps of an earlier login; empty when it keeps nothing.
func (a *logins) deviceOf(c echo.Context) string {
	cookie, err := c.Cookie(a.deviceCookie("").Name)
	if err != nil {
		return ""
	}
	return cookie.Value
}

func (a *logins) trustDevice(c echo.Context, account string) error {
	device, err := a.Cfg.Accounts.TrustDevice(c.Request().Context(), account, a.deviceOf(c))
	if err != nil {
		return err
	}
	c.SetCookie(a.deviceCookie(device))
	return nil
}

// logout ends the session of this browser.
func (a *logins) logout(c echo.Context) error {
	if account := a.CurrentAccount(c); account != nil {
		if err := a.Cfg.Accounts.LoggedOut(c.Request().Context(), *account); err != nil {
			return err
		}
	}
	if err := a.EndSession(c); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/login")
}

func (a *logins) showLogin(c echo.Context, status int, v view.LoginView) error {
	if a.oidc != nil {
		v.ProviderLabel, v.ProviderHref = a.oidc.Cfg.Label, "/login/oidc"
		if v.Next != "" {
			v.ProviderHref += "?next=" + url.QueryEscape(v.Next)
		}
	}
	p := a.Page(c, i18n.T(c.Request().Context(), "account.login"))
	p.Invalid = v.Wrong != ""
	if p.Flash == nil && c.QueryParam("ended") != "" {
		p.Flash = &ui.Flash{Kind: ui.KindWarning, Text: "account.session-ended"}
	}
	return a.Render(c, status, view.LoginPage(p, v))
}

func setRetryAfter(c echo.Context, after time.Duration) {
	c.Response().Header()["Retry-After"] = site.RetryLater(0, "", "", after).Header["Retry-After"]
}

func waitText(c echo.Context, after time.Duration) i18n.Message {
	return i18n.M("account.login-throttled", i18n.Duration(c.Request().Context(), after.Round(time.Second)+time.Second))
}

// tooMany refuses a form that was sent too often.
func tooMany(field string, text i18n.Message) error {
	return &site.FormRefused{Status: http.StatusTooManyRequests, Wrong: site.FormErrors{field: text}}
}
