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
			return tooMany("", "Many registrations came from your address. Wait "+ui.Duration(e.After)+" and try again.")
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
	page := p.Page(c, "Check your mail")
	page.Lead = "One step is left before " + organisation + " can look at your registration."
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
		Kinds: site.EndpointKindOptions(c.Request().Context(), in.EndpointKinds), Terms: in.TermsAccepted, TermsVersion: p.Registry.Partners.TermsVersion(),
		Organisation: organisation, Wrong: wrong,
	}
	page := p.Page(c, "Register your organisation")
	page.Lead = "This takes about five minutes. " + organisation + " approves every registration."
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
		return p.Done(c, site.HomeOf(&account), "Your e-mail address is confirmed, and you are logged in.")
	}, p.showConfirm)
}

func newPassword(form site.Form) string { return form.Raw("password") }

func (p *pages) showConfirm(c echo.Context, status int, _ string, wrong site.FormErrors) error {
	partner, err := p.Registry.Partners.ConfirmPartner(c.Request().Context(), c.Param("token"))
	if err != nil {
		return confirmProblem(err)
	}
	page := p.Page(c, "Confirm your e-mail address")
	page.Lead = "Choose the password with which you log in for " + partner.Name + "."
	page.Invalid = len(wrong) > 0
	return p.Render(c, status, view.PasswordPage(page, view.PasswordView{
		Action: c.Request().URL.EscapedPath(), Email: partner.ContactEmail, Wrong: wrong["password"],
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
	page := p.Page(c, "Exchange events with "+organisation)
	page.Lead = "With this Schakel, " + organisation + " and its chain partners tell each other what happens, at the moment it happens."
	return p.Render(c, http.StatusOK, view.StartPage(page, v))
}

// termsPage shows what is agreed with at registration.
func (p *pages) termsPage(c echo.Context) error {
	organisation, err := p.Organisation(c)
	if err != nil {
		return err
	}
	v := view.TermsView{Organisation: organisation, Version: p.Registry.Partners.TermsVersion()}
	page := p.Page(c, "Terms")
	page.Lead = "What you agree with when you register, version " + v.Version + "."
	return p.Render(c, http.StatusOK, view.TermsPage(page, v))
}
