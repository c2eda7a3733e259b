package web

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/templates"
)

// setupForm shows the form with which the first administrator is made.
func (a *App) setupForm(c echo.Context) error {
	if err := a.cfg.Accounts.CheckSetupLink(c.Request().Context(), c.Param("token")); err != nil {
		return linkProblem(err)
	}
	return a.showSetup(c, http.StatusOK, templates.SetupView{})
}

// setup makes the first administrator and logs in.
func (a *App) setup(c echo.Context) error {
	form, err := readForm(c)
	if err != nil {
		return err
	}
	name, email := form.Get("name"), form.Get("email")
	account, err := a.cfg.Accounts.CreateAdministrator(c.Request().Context(), c.Param("token"), name, email, form.Raw("password"))
	if e, ok := errors.AsType[*registry.Error](err); ok {
		return a.showSetup(c, http.StatusUnprocessableEntity, templates.SetupView{Name: name, Email: email, Wrong: e.Fields})
	}
	if err != nil {
		return linkProblem(err)
	}
	if err := a.startSession(c, account.ID, account.SessionEpoch); err != nil {
		return err
	}
	a.flash(c, templates.KindOK, "Your account is made, and you are logged in.")
	return c.Redirect(http.StatusSeeOther, homeOf(&account))
}

func (a *App) showSetup(c echo.Context, status int, v templates.SetupView) error {
	v.Action = c.Request().URL.EscapedPath()
	p := a.page(c, "Create the administrator")
	p.Lead = "This is the first start of this Schakel. The link you followed works once, for this."
	p.Invalid = len(v.Wrong) > 0
	return a.render(c, status, templates.SetupPage(p, v))
}

// linkProblem is the answer to a one-time link that does not work.
func linkProblem(err error) error {
	if errors.Is(err, registry.ErrLinkDead) {
		return newProblem(http.StatusNotFound, "link-dead",
			"This link does not work any more: it was used, it has expired, or a newer one was sent. Ask for a new one.")
	}
	return err
}
