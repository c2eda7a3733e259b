package account

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/identity"
	"schakel/store"
	view "schakel/templates/account"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// AccountPage shows the own account.
func (a *logins) AccountPage(c echo.Context) error {
	return a.showAccount(c, http.StatusOK, nil)
}

// changePassword replaces the own password. All sessions of the account end, and
// this browser gets a new one.
func (a *logins) changePassword(c echo.Context) error {
	type passwords struct{ current, chosen string }
	read := func(form site.Form) passwords { return passwords{form.Raw("current"), form.Raw("password")} }
	return site.Submit(c, read, func(in passwords) error {
		account, err := a.Cfg.Accounts.ChangePassword(c.Request().Context(), site.AccountOf(c).ID, in.current, in.chosen, c.RealIP(), a.DeviceOf(c))
		if e, ok := errors.AsType[*registry.ThrottledError](err); ok {
			setRetryAfter(c, e.After)
			return tooMany("current", waitText(c, e.After))
		}
		if err != nil {
			return err
		}
		return a.freshSession(c, account, "account.password-changed")
	}, func(c echo.Context, status int, _ passwords, wrong site.FormErrors) error {
		return a.showAccount(c, status, wrong)
	})
}

// setLocale stores the language and the time zone in which the reader wants pages and mails.
func (a *logins) setLocale(c echo.Context) error {
	type locale struct{ language, zone string }
	read := func(form site.Form) locale { return locale{form.Get("language"), form.Get("timeZone")} }
	return site.Submit(c, read, func(in locale) error {
		if err := a.Cfg.Accounts.SetLocale(c.Request().Context(), site.AccountOf(c).ID, in.language, in.zone); err != nil {
			return err
		}
		a.RememberLanguage(c, i18n.Lang(in.language))
		a.Flash(c, ui.KindOK, "account.locale-saved")
		return c.Redirect(http.StatusSeeOther, "/account")
	}, func(c echo.Context, status int, _ locale, wrong site.FormErrors) error {
		return a.showAccount(c, status, wrong)
	})
}

// setNotifications stores how the reader is told of issues, dead letters and held deliveries.
func (a *logins) setNotifications(c echo.Context) error {
	read := func(form site.Form) identity.Notifications {
		number := func(name string) int64 {
			n, err := strconv.ParseInt(form.Get(name), 10, 64)
			if err != nil {
				return -1 // refused
			}
			return n
		}
		return identity.Notifications{When: form.Get("notify"), Every: form.Get("digestEvery"), Day: number("digestDay"), Hour: number("digestHour")}
	}
	return site.Submit(c, read, func(in identity.Notifications) error {
		if err := a.Cfg.Accounts.SetNotifications(c.Request().Context(), site.AccountOf(c).ID, in); err != nil {
			return err
		}
		a.Flash(c, ui.KindOK, "account.notify-saved")
		return c.Redirect(http.StatusSeeOther, "/account")
	}, func(c echo.Context, status int, _ identity.Notifications, wrong site.FormErrors) error {
		return a.showAccount(c, status, wrong)
	})
}

func (a *logins) freshSession(c echo.Context, account store.Account, text i18n.Message) error {
	if err := a.RestartSession(c, account); err != nil {
		return err
	}
	if err := a.TrustDevice(c, account.ID); err != nil { // all browsers of the account were forgotten
		return err
	}
	a.Flash(c, ui.KindOK, text)
	return c.Redirect(http.StatusSeeOther, "/account")
}

func (a *logins) showAccount(c echo.Context, status int, wrong map[string]i18n.Message) error {
	account := site.AccountOf(c)
	sessions, err := a.sessionRows(c, account)
	if err != nil {
		return err
	}
	p := a.Page(c, i18n.T(c.Request().Context(), "account.title"))
	p.Invalid = len(wrong) > 0
	return a.Render(c, status, view.AccountPage(p, view.AccountView{
		Sessions: sessions, Factors: int(account.Factors),
		Name: account.Name, Email: account.Email, HasPassword: account.PasswordHash != "", Language: account.Language, TimeZone: account.TimeZone,
		Notify: account.Notify, DigestEvery: account.DigestEvery, DigestDay: int(account.DigestDay), DigestHour: int(account.DigestHour),
		Since: account.CreatedAt.Time, ThisLogin: account.LastLoginAt.Time, LastLogin: account.PreviousLoginAt.Time, Now: a.Cfg.Now(), Wrong: wrong,
	}))
}
