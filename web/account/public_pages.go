package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"schakel/registry"
	view "schakel/templates/account"
)

// startPage is the first page: what this Schakel is, and where to go.
func (p *portal) startPage(c echo.Context) error {
	organisation, err := p.organisation(c)
	if err != nil {
		return err
	}
	reader, err := p.reader(c)
	if err != nil {
		return err
	}
	types, err := p.Registry.EventTypes.Catalogue(c.Request().Context(), reader)
	if err != nil {
		return err
	}
	v := view.StartView{Organisation: organisation, EventTypes: len(types), Mailbox: p.Mailbox}
	if account := p.currentAccount(c); account != nil {
		v.Home = homeOf(account)
	}
	page := p.page(c, "Exchange events with "+organisation)
	page.Lead = "With this Schakel, " + organisation + " and its chain partners tell each other what happens, at the moment it happens."
	return p.render(c, http.StatusOK, view.StartPage(page, v))
}

// termsPage shows what is agreed with at registration.
func (p *portal) termsPage(c echo.Context) error {
	organisation, err := p.organisation(c)
	if err != nil {
		return err
	}
	v := view.TermsView{Organisation: organisation, Version: p.Registry.Partners.TermsVersion()}
	page := p.page(c, "Terms")
	page.Lead = "What you agree with when you register, version " + v.Version + "."
	return p.render(c, http.StatusOK, view.TermsPage(page, v))
}

// organisation is the name of who runs this Schakel.
func (p *portal) organisation(c echo.Context) (string, error) {
	own, err := p.Registry.Partners.Own(c.Request().Context())
	return own.Name, err
}

// reader returns the rights of the account that asks, or of a visitor, to contracts and event types.
func (p *portal) reader(c echo.Context) (registry.Reader, error) {
	account := p.currentAccount(c)
	if account == nil {
		return registry.Reader{}, nil
	}
	return p.Registry.Contracts.Reader(c.Request().Context(), registry.AccountActor(*account))
}
