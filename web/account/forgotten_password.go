package account

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"schakel/registry"
	view "schakel/templates/account"
	"schakel/templates/ui"
	"schakel/web/site"
)

// forgottenForm asks for the e-mail address of an account whose password was lost.
func (p *pages) forgottenForm(c echo.Context) error {
	return p.renderForgotten(c, http.StatusOK, view.ForgottenView{})
}

// forgotten mails a link to choose a new password. The answer is the same whether there is such an account or not.
func (p *pages) forgotten(c echo.Context) error {
	form, err := site.ReadForm(c)
	if err != nil {
		return err
	}
	email := form.Get("email")
	err = p.Registry.Mails.RequestPassword(c.Request().Context(), p.Registry.Accounts, email, c.RealIP())
	if e, ok := errors.AsType[*registry.Error](err); ok {
		return p.renderForgotten(c, http.StatusUnprocessableEntity, view.ForgottenView{Email: email, Wrong: e.Fields["email"]})
	}
	if e, ok := errors.AsType[*registry.ThrottledError](err); ok {
		wrong := "Too many links were asked for from your address. Wait " + ui.Duration(e.After) + " and try again."
		return p.renderForgotten(c, http.StatusTooManyRequests, view.ForgottenView{Email: email, Wrong: wrong})
	}
	if err != nil {
		return err
	}
	p.Flash(c, ui.KindOK, "If there is an account with that e-mail address, a link to choose a new password is on its way.")
	return c.Redirect(http.StatusSeeOther, "/login")
}

func (p *pages) renderForgotten(c echo.Context, status int, v view.ForgottenView) error {
	page := p.Page(c, "Choose a new password")
	page.Lead = "We send a link to the e-mail address of your account. It works once."
	page.Invalid = v.Wrong != ""
	return p.Render(c, status, view.ForgottenPage(page, v))
}
