package account

import (
	"cmp"
	"errors"
	"net/http"
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
		Email: v.Email, Password: form.Raw("password"), Addr: c.RealIP(), Device: a.DeviceOf(c),
	})
	if errors.Is(err, identity.ErrElsewhere) {
		v.Wrong = "account.login-elsewhere"
		return a.showLogin(c, http.StatusForbidden, v)
	}
	if errors.Is(err, identity.ErrNoAccount) {
		return site.NoAccount(err)
	}
	if errors.Is(err, identity.ErrLogin) {
		v.Wrong = "account.login-wrong"
		return a.showLogin(c, http.StatusUnauthorized, v)
	}
	if e, ok := errors.AsType[*registry.ThrottledError](err); ok {
		v.Wrong = i18n.M("account.login-throttled-link", i18n.Duration(c.Request().Context(), e.After.Round(time.Second)+time.Second))
		setRetryAfter(c, e.After)
		return a.showLogin(c, http.StatusTooManyRequests, v)
	}
	if err != nil {
		return err
	}
	next := cmp.Or(v.Next, site.HomeOf(&account))
	if account.Factors > 0 {
		if next, err = a.AwaitFactor(c, account, next); err != nil {
			return err
		}
		return c.Redirect(http.StatusSeeOther, next)
	}
	if err := a.TrustDevice(c, account.ID); err != nil {
		return err
	}
	if err := a.StartSession(c, account); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, next)
}

// logout ends the session of this browser.
func (a *logins) logout(c echo.Context) error {
	to := "/login"
	if s := a.CurrentSession(c); s != nil {
		if err := a.Cfg.Accounts.LoggedOut(c.Request().Context(), *s); err != nil {
			return err
		}
		if l, on := a.leave(c, *s); l != nil {
			if err := a.keep(c, l, leavingName, on, time.Minute); err != nil {
				return err
			}
			to = "/logout/provider"
		}
	}
	if err := a.EndSession(c); err != nil {
		return err
	}
	c.Response().Header().Set("Clear-Site-Data", `"cache", "storage"`) // cookies stay: language, time zone and device are no data of the session
	return c.Redirect(http.StatusSeeOther, to)
}

func (a *logins) showLogin(c echo.Context, status int, v view.LoginView) error {
	for _, l := range a.providers {
		v.Providers = append(v.Providers, ui.Named{Name: l.Cfg.Label, Href: site.ProviderHref(l.Cfg, "", v.Next)})
	}
	v.LocalOff = len(a.providers) > 0 && !a.Cfg.Accounts.LocalLogins()
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
