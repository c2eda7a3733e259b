package account

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/partners"
	"schakel/store"
	view "schakel/templates/account"
	"schakel/templates/i18n"
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
	read := func(form site.Form) partners.Registration {
		in := site.RegistrationForm(form)
		in.EndpointKinds, in.TermsAccepted, in.TermsVersion = form.List("endpointKinds"), form.Checked("terms"), form.Get("termsVersion")
		in.Addr = c.RealIP()
		return in
	}
	return site.Submit(c, read, func(in partners.Registration) error {
		err := p.Registry.Partners.Register(c.Request().Context(), in)
		if e, ok := errors.AsType[*registry.ThrottledError](err); ok {
			setRetryAfter(c, e.After)
			return tooMany("", i18n.M("account.registrations-throttled", i18n.Duration(c.Request().Context(), e.After)))
		}
		if err != nil {
			return err
		}
		p.Engine.Changed()
		return c.Redirect(http.StatusSeeOther, "/register/sent")
	}, p.showRegister)
}

// registerSent asks to look in the mailbox.
func (p *pages) registerSent(c echo.Context) error {
	organisation, err := p.Organisation(c)
	if err != nil {
		return err
	}
	page := p.Page(c, i18n.T(c.Request().Context(), "account.sent"))
	page.Lead = i18n.T(c.Request().Context(), "account.sent-lead", organisation)
	return p.Render(c, http.StatusOK, view.SentPage(page, view.SentView{Organisation: organisation, Mailbox: p.Mailbox, NoMail: p.NoMail()}))
}

func (p *pages) showRegister(c echo.Context, status int, in partners.Registration, wrong site.FormErrors) error {
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
	page := p.Page(c, i18n.T(c.Request().Context(), "account.register"))
	page.Lead = i18n.T(c.Request().Context(), "account.register-lead", organisation)
	page.Invalid = len(wrong) > 0
	return p.Render(c, status, view.RegisterPage(page, v))
}

// confirmForm shows who opened the link in the mail the form to choose a password.
func (p *pages) confirmForm(c echo.Context) error {
	return p.showConfirm(c, http.StatusOK, "", nil)
}

// confirm confirms the e-mail address, sets the password and logs in.
func (p *pages) confirm(c echo.Context) error {
	return site.Submit(c, newPassword, func(password string) error {
		account, err := p.Registry.Partners.Confirm(c.Request().Context(), c.Param("token"), password)
		if err != nil {
			return confirmProblem(err)
		}
		if err := p.LoginByLink(c, account); err != nil {
			return err
		}
		return p.Done(c, site.HomeOf(&account), "account.confirmed")
	}, p.showConfirm)
}

func newPassword(form site.Form) string { return form.Raw("password") }

func (p *pages) showConfirm(c echo.Context, status int, _ string, wrong site.FormErrors) error {
	partner, err := p.Registry.Partners.ConfirmPartner(c.Request().Context(), c.Param("token"))
	if err != nil {
		return confirmProblem(err)
	}
	page := p.Page(c, i18n.T(c.Request().Context(), "account.confirm"))
	page.Lead = i18n.T(c.Request().Context(), "account.confirm-lead", partner.Name)
	page.Invalid = len(wrong) > 0
	return p.Render(c, status, view.PasswordPage(page, view.PasswordView{
		Action: c.Request().URL.EscapedPath(), Email: partner.ContactEmail, Wrong: wrong["password"],
	}))
}

// confirmProblem advises the next step when a confirmation link does not work.
func confirmProblem(err error) error {
	if errors.Is(err, registry.ErrLinkDead) {
		return site.NewProblem(http.StatusNotFound, "link-dead", "account.confirm-dead")
	}
	return err
}

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
