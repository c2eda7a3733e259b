package account

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	view "schakel/templates/account"
	"schakel/web/site"
)

// confirmForm shows who opened the link in the mail the form to choose a password.
func (p *pages) confirmForm(c echo.Context) error {
	return p.showConfirm(c, http.StatusOK, "")
}

// confirm confirms the e-mail address, sets the password and logs in.
func (p *pages) confirm(c echo.Context) error {
	form, err := site.ReadForm(c)
	if err != nil {
		return err
	}
	account, err := p.Registry.Partners.Confirm(c.Request().Context(), c.Param("token"), form.Raw("password"))
	if fields, ok := site.Refused(err); ok {
		return p.showConfirm(c, http.StatusUnprocessableEntity, fields["password"])
	}
	if err != nil {
		return confirmProblem(err)
	}
	if err := p.LoginByLink(c, account); err != nil {
		return err
	}
	return p.Done(c, site.HomeOf(&account), "Your e-mail address is confirmed, and you are logged in.")
}

func (p *pages) showConfirm(c echo.Context, status int, wrong string) error {
	partner, err := p.Registry.Partners.ConfirmPartner(c.Request().Context(), c.Param("token"))
	if err != nil {
		return confirmProblem(err)
	}
	page := p.Page(c, "Confirm your e-mail address")
	page.Lead = "Choose the password with which you log in for " + partner.Name + "."
	page.Invalid = wrong != ""
	return p.Render(c, status, view.PasswordPage(page, view.PasswordView{
		Action: c.Request().URL.EscapedPath(), Email: partner.ContactEmail, Wrong: wrong,
	}))
}

// confirmProblem advises the next step when a confirmation link does not work.
func confirmProblem(err error) error {
	if errors.Is(err, registry.ErrLinkDead) {
		return site.NewProblem(http.StatusNotFound, "link-dead",
			"This link does not work any more: it was used, it is older than 24 hours, or a newer one was sent. "+
				"When you chose a password already, log in; otherwise register again to get a new link.")
	}
	return err
}
