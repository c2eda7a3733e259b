package account

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/identity"
	view "schakel/templates/account"
	"schakel/templates/i18n"
	"schakel/web/site"
)

// factorForm asks who gave a right password for a second factor.
func (a *logins) factorForm(c echo.Context) error {
	pending, ok := a.PendingLogin(c)
	if !ok {
		return c.Redirect(http.StatusSeeOther, "/login")
	}
	return a.showFactor(c, http.StatusOK, pending, "")
}

// factor checks the second factor and logs in.
func (a *logins) factor(c echo.Context) error {
	form, err := site.ReadForm(c)
	if err != nil {
		return err
	}
	ctx, accounts := c.Request().Context(), a.Cfg.Accounts
	pending, ok := a.PendingLogin(c)
	if !ok {
		return c.Redirect(http.StatusSeeOther, site.LoginEnded)
	}
	account, err := accounts.Account(ctx, pending.Account)
	if err != nil {
		return err
	}
	if account.SessionEpoch != pending.Epoch {
		return c.Redirect(http.StatusSeeOther, site.LoginEnded)
	}
	err = accounts.CheckFactor(ctx, account, identity.FactorTry{
		Code: form.Raw("code"), Passkey: form.Raw("passkey"), Challenge: a.TakeChallenge(c), Addr: c.RealIP(), Device: a.DeviceOf(c),
	})
	status := http.StatusUnauthorized
	if e, ok := errors.AsType[*registry.ThrottledError](err); ok {
		status = http.StatusTooManyRequests
		setRetryAfter(c, e.After)
	}
	wrong, err := a.FactorProblem(ctx, err)
	if err != nil {
		return err
	}
	if wrong != "" {
		return a.showFactor(c, status, pending, wrong)
	}
	if err := accounts.NoteLogin(ctx, account.ID); errors.Is(err, identity.ErrLogin) || errors.Is(err, identity.ErrNoAccount) {
		return c.Redirect(http.StatusSeeOther, site.LoginEnded)
	} else if err != nil {
		return err
	}
	if err := a.TrustDevice(c, account.ID); err != nil {
		return err
	}
	if err := a.StartSession(c, account); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, pending.Next)
}

func (a *logins) showFactor(c echo.Context, status int, pending site.Pending, wrong i18n.Message) error {
	v, err := a.AskPasskey(c, pending.Account)
	if err != nil {
		return err
	}
	v.Name, v.Wrong = "code", wrong
	ctx := c.Request().Context()
	p := a.Page(c, i18n.T(ctx, "account.factor-login"))
	p.Lead = i18n.T(ctx, "account.factor-login-lead")
	p.Invalid = wrong != ""
	return a.Render(c, status, view.FactorLoginPage(p, v))
}
