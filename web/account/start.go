package account

import (
	"net/http"

	"github.com/labstack/echo/v4"
	view "schakel/templates/account"
	"schakel/templates/i18n"
	"schakel/web/site"
)

// startPage is the first page: what this Schakel is, and where to go.
func (p *pages) startPage(c echo.Context) error {
	organisation, err := p.Organisation(c)
	if err != nil {
		return err
	}
	reader, err := p.Reader(c)
	if err != nil {
		return err
	}
	types, err := p.Registry.EventTypes.Catalogue(c.Request().Context(), reader)
	if err != nil {
		return err
	}
	v := view.StartView{Organisation: organisation, EventTypes: len(types), Mailbox: p.Mailbox}
	if account := p.CurrentAccount(c); account != nil {
		v.Home = site.HomeOf(account)
	}
	page := p.Page(c, i18n.T(c.Request().Context(), "account.start", organisation))
	page.Lead = i18n.T(c.Request().Context(), "account.start-lead", organisation)
	return p.Render(c, http.StatusOK, view.StartPage(page, v))
}

// termsPage shows what is agreed with at registration.
func (p *pages) termsPage(c echo.Context) error {
	organisation, err := p.Organisation(c)
	if err != nil {
		return err
	}
	v := view.TermsView{Organisation: organisation, Version: p.Registry.Partners.TermsVersion()}
	page := p.Page(c, i18n.T(c.Request().Context(), "account.terms"))
	page.Lead = i18n.T(c.Request().Context(), "account.terms-lead", v.Version)
	return p.Render(c, http.StatusOK, view.TermsPage(page, v))
}
