package account

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	view "schakel/templates/account"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// invitationForm shows an invited person the form to choose a password.
func (a *logins) invitationForm(c echo.Context) error {
	return a.passwordForm(c, http.StatusOK, registry.LinkInvitation, "", nil)
}

// invitation sets the first password of an invited person and logs in.
func (a *logins) invitation(c echo.Context) error {
	return a.choosePassword(c, registry.LinkInvitation)
}

// resetForm shows the form for a new password to who lost the old one.
func (a *logins) resetForm(c echo.Context) error {
	return a.passwordForm(c, http.StatusOK, registry.LinkReset, "", nil)
}

// reset sets a new password and logs in.
func (a *logins) reset(c echo.Context) error {
	return a.choosePassword(c, registry.LinkReset)
}

func (a *logins) choosePassword(c echo.Context, purpose registry.LinkPurpose) error {
	return site.SubmitAbout(c, purpose, newPassword, func(password string) error {
		account, err := a.Cfg.Accounts.ChoosePassword(c.Request().Context(), purpose, c.Param("token"), password)
		if err != nil {
			return linkProblem(err)
		}
		if account.Status != store.AccountActive {
			return echo.NewHTTPError(http.StatusForbidden, i18n.Message("account.blocked"))
		}
		to, err := a.LoginByLink(c, account, site.HomeOf(&account))
		if err != nil {
			return err
		}
		said := i18n.Message("account.password-set")
		if account.Factors > 0 {
			said = "account.password-set-factor"
		}
		a.Flash(c, ui.KindOK, said)
		return c.Redirect(http.StatusSeeOther, to)
	}, a.passwordForm)
}

func (a *logins) passwordForm(c echo.Context, status int, purpose registry.LinkPurpose, _ string, wrong site.FormErrors) error {
	account, err := a.Cfg.Accounts.LinkAccount(c.Request().Context(), purpose, c.Param("token"))
	if err != nil {
		return linkProblem(err)
	}
	p := a.Page(c, i18n.T(c.Request().Context(), "account.choose-password"))
	p.Invalid = len(wrong) > 0
	return a.Render(c, status, view.PasswordPage(p, view.PasswordView{
		Action: c.Request().URL.EscapedPath(), Email: account.Email, Wrong: wrong["password"],
	}))
}

// forgottenForm asks for the e-mail address of an account whose password was lost.
func (p *pages) forgottenForm(c echo.Context) error {
	return p.renderForgotten(c, http.StatusOK, "", nil)
}

// forgotten mails a link to choose a new password. The answer is the same whether there is such an account or not.
func (p *pages) forgotten(c echo.Context) error {
	read := func(form site.Form) string { return form.Get("email") }
	return site.Submit(c, read, func(email string) error {
		err := p.Registry.Mails.RequestPassword(c.Request().Context(), p.Registry.Accounts, email, c.RealIP())
		if e, ok := errors.AsType[*registry.ThrottledError](err); ok {
			return tooMany("email", i18n.M("account.links-throttled", i18n.Duration(c.Request().Context(), e.After)))
		}
		if err != nil {
			return err
		}
		p.Flash(c, ui.KindOK, "account.link-sent")
		return c.Redirect(http.StatusSeeOther, "/login")
	}, p.renderForgotten)
}

func (p *pages) renderForgotten(c echo.Context, status int, email string, wrong site.FormErrors) error {
	page := p.Page(c, i18n.T(c.Request().Context(), "account.forgotten"))
	page.Lead = i18n.T(c.Request().Context(), "account.forgotten-lead")
	page.Invalid = wrong["email"] != ""
	return p.Render(c, status, view.ForgottenPage(page, view.ForgottenView{Email: email, Wrong: wrong["email"]}))
}
