package account

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	view "schakel/templates/account"
	"schakel/templates/ui"
	"schakel/web/site"
)

// invitationForm shows an invited person the form to choose a password.
func (a *logins) invitationForm(c echo.Context) error {
	return a.passwordForm(c, registry.LinkInvitation, http.StatusOK, "")
}

// invitation sets the first password of an invited person and logs in.
func (a *logins) invitation(c echo.Context) error {
	return a.choosePassword(c, registry.LinkInvitation)
}

// resetForm shows the form for a new password to who lost the old one.
func (a *logins) resetForm(c echo.Context) error {
	return a.passwordForm(c, registry.LinkReset, http.StatusOK, "")
}

// reset sets a new password and logs in.
func (a *logins) reset(c echo.Context) error {
	return a.choosePassword(c, registry.LinkReset)
}

func (a *logins) choosePassword(c echo.Context, purpose registry.LinkPurpose) error {
	form, err := site.ReadForm(c)
	if err != nil {
		return err
	}
	account, err := a.Cfg.Accounts.ChoosePassword(c.Request().Context(), purpose, c.Param("token"), form.Raw("password"))
	if e, ok := errors.AsType[*registry.Error](err); ok {
		return a.passwordForm(c, purpose, http.StatusUnprocessableEntity, e.Fields["password"])
	}
	if err != nil {
		return linkProblem(err)
	}
	if account.Status != store.AccountActive {
		return echo.NewHTTPError(http.StatusForbidden, "This account is blocked. Ask the administrator.")
	}
	if err := a.LoginByLink(c, account); err != nil {
		return err
	}
	a.Flash(c, ui.KindOK, "Your password is set, and you are logged in.")
	return c.Redirect(http.StatusSeeOther, site.HomeOf(&account))
}

func (a *logins) passwordForm(c echo.Context, purpose registry.LinkPurpose, status int, wrong string) error {
	account, err := a.Cfg.Accounts.LinkAccount(c.Request().Context(), purpose, c.Param("token"))
	if err != nil {
		return linkProblem(err)
	}
	p := a.Page(c, "Choose a password")
	p.Invalid = wrong != ""
	return a.Render(c, status, view.PasswordPage(p, view.PasswordView{
		Action: c.Request().URL.EscapedPath(), Email: account.Email, Wrong: wrong,
	}))
}
