package web

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	view "schakel/templates/account"
	"schakel/templates/ui"
)

// accountPage shows the own account.
func (a *App) accountPage(c echo.Context) error {
	return a.showAccount(c, http.StatusOK, nil)
}

// changePassword replaces the own password. All sessions of the account end, and
// this browser gets a new one.
func (a *App) changePassword(c echo.Context) error {
	form, err := readForm(c)
	if err != nil {
		return err
	}
	account, err := a.cfg.Accounts.ChangePassword(c.Request().Context(), accountOf(c).ID,
		form.Raw("current"), form.Raw("password"), c.RealIP())
	if e, ok := errors.AsType[*registry.Error](err); ok {
		return a.showAccount(c, http.StatusUnprocessableEntity, e.Fields)
	}
	if e, ok := errors.AsType[*registry.ThrottledError](err); ok {
		setRetryAfter(c, e.After)
		return a.showAccount(c, http.StatusTooManyRequests, map[string]string{"current": waitText(e.After)})
	}
	if err != nil {
		return err
	}
	return a.freshSession(c, account, "Your password is changed. You were logged out everywhere else.")
}

// endSessions logs the account out everywhere but here.
func (a *App) endSessions(c echo.Context) error {
	ctx := c.Request().Context()
	if err := a.cfg.Accounts.EndSessions(ctx, accountOf(c).ID); err != nil {
		return err
	}
	account, err := a.cfg.Accounts.Account(ctx, accountOf(c).ID)
	if err != nil {
		return err
	}
	return a.freshSession(c, account, "You were logged out everywhere else.")
}

func (a *App) freshSession(c echo.Context, account store.Account, text string) error {
	if err := a.startSession(c, account.ID, account.SessionEpoch); err != nil {
		return err
	}
	a.flash(c, ui.KindOK, text)
	return c.Redirect(http.StatusSeeOther, "/account")
}

func (a *App) showAccount(c echo.Context, status int, wrong map[string]string) error {
	account := accountOf(c)
	p := a.page(c, "Your account")
	p.Invalid = len(wrong) > 0
	return a.render(c, status, view.AccountPage(p, view.AccountView{
		Name: account.Name, Email: account.Email, HasPassword: account.PasswordHash != "",
		Since: account.CreatedAt.Time, ThisLogin: account.LastLoginAt.Time, LastLogin: account.PreviousLoginAt.Time, Now: a.cfg.Now(), Wrong: wrong,
	}))
}
