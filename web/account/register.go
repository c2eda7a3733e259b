package account

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/partners"
	"schakel/store"
	view "schakel/templates/account"
	"schakel/templates/ui"
	"schakel/web/site"
)

// registerForm asks a visitor about its organisation.
func (p *pages) registerForm(c echo.Context) error {
	if account := p.CurrentAccount(c); account != nil {
		return c.Redirect(http.StatusSeeOther, site.HomeOf(account))
	}
	return p.showRegister(c, http.StatusOK, partners.Registration{EndpointKinds: []string{store.EndpointWebhook}}, nil)
}

// register stores a registration. The answer does not reveal whether the address
// or a number is known already.
func (p *pages) register(c echo.Context) error {
	form, err := site.ReadForm(c)
	if err != nil {
		return err
	}
	in := site.RegistrationForm(form)
	in.EndpointKinds, in.TermsAccepted, in.TermsVersion = form.List("endpointKinds"), form.Checked("terms"), form.Get("termsVersion")
	in.Addr = c.RealIP()
	err = p.Registry.Partners.Register(c.Request().Context(), in)
	if fields, ok := site.Refused(err); ok {
		return p.showRegister(c, http.StatusUnprocessableEntity, in, fields)
	}
	if e, ok := errors.AsType[*registry.ThrottledError](err); ok {
		setRetryAfter(c, e.After)
		text := "Many registrations came from your address. Wait " + ui.Duration(e.After) + " and try again."
		return p.showRegister(c, http.StatusTooManyRequests, in, map[string]string{"": text})
	}
	if err != nil {
		return err
	}
	p.Engine.Changed()
	return c.Redirect(http.StatusSeeOther, "/register/sent")
}

// registerSent asks to look in the mailbox.
func (p *pages) registerSent(c echo.Context) error {
	organisation, err := p.Organisation(c)
	if err != nil {
		return err
	}
	page := p.Page(c, "Check your mail")
	page.Lead = "One step is left before " + organisation + " can look at your registration."
	return p.Render(c, http.StatusOK, view.SentPage(page, view.SentView{Organisation: organisation, Mailbox: p.Mailbox, NoMail: p.NoMail()}))
}

func (p *pages) showRegister(c echo.Context, status int, in partners.Registration, wrong map[string]string) error {
	organisation, err := p.Organisation(c)
	if err != nil {
		return err
	}
	v := view.RegisterView{
		Name: in.Name, OIN: in.OIN, KVK: in.KVK, HerID: in.HerID, OrgNumber: in.OrgNumber,
		ContactName: in.Contact.Name, ContactEmail: in.Contact.Email, Phone: in.Contact.Phone,
		Kinds: site.EndpointKindOptions(in.EndpointKinds), Terms: in.TermsAccepted, TermsVersion: p.Registry.Partners.TermsVersion(),
		Organisation: organisation, Wrong: wrong,
	}
	page := p.Page(c, "Register your organisation")
	page.Lead = "This takes about five minutes. " + organisation + " approves every registration."
	page.Invalid = len(wrong) > 0
	return p.Render(c, status, view.RegisterPage(page, v))
}
