package account

import (
	"errors"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/partners"
	"schakel/store"
	view "schakel/templates/account"
	"schakel/templates/i18n"
	"schakel/web/site"
)

// registrationForm is a registration as typed, with the step that was filled in and the button that was pressed.
type registrationForm struct {
	partners.Registration
	step, do string
}

func readRegistration(c echo.Context) func(site.Form) registrationForm {
	return func(form site.Form) registrationForm {
		in := site.RegistrationForm(form)
		in.By, in.EndpointKinds, in.TermsAccepted, in.TermsVersion = form.Get("by"), form.List("endpointKinds"), form.Checked("terms"), form.Get("termsVersion")
		in.Addr, in.Language = c.RealIP(), i18n.From(c.Request().Context()).Lang
		return registrationForm{in, form.Get("step"), form.Get("do")}
	}
}

// registerForm asks a visitor about its organisation, from where this browser left.
func (p *pages) registerForm(c echo.Context) error {
	if account := p.CurrentAccount(c); account != nil {
		return c.Redirect(http.StatusSeeOther, site.HomeOf(account))
	}
	d, ok, err := p.Registry.Partners.Draft(c.Request().Context(), p.draftToken(c))
	if err != nil {
		return err
	}
	if !ok {
		by := partners.ByOIN
		if i18n.From(c.Request().Context()).Lang == i18n.Norwegian {
			by = partners.ByHealth
		}
		return p.showRegister(c, http.StatusOK, registrationForm{Registration: partners.Registration{By: by, EndpointKinds: []string{store.EndpointWebhook}}}, nil)
	}
	return p.showRegister(c, http.StatusOK, registrationForm{Registration: d.Registration, step: askedStep(c.QueryParam("step"), d.Registration)}, nil)
}

// askedStep is the step of the address, or the first one that is not right yet when it comes before that.
func askedStep(asked string, in partners.Registration) string {
	first := view.RegisterCheck
	switch {
	case len(partners.CheckOrganisation(in)) > 0:
		first = view.RegisterOrganisation
	case len(partners.CheckContact(in)) > 0:
		first = view.RegisterContact
	}
	order := []string{view.RegisterOrganisation, view.RegisterContact, view.RegisterCheck}
	if at := slices.Index(order, asked); at >= 0 && at <= slices.Index(order, first) {
		return asked
	}
	return first
}

// register takes a step of a registration, or all of it. Each step is kept for this browser.
func (p *pages) register(c echo.Context) error {
	return site.Submit(c, readRegistration(c), func(in registrationForm) error {
		if in.do == "later" {
			return p.keepForLater(c, in)
		}
		next := ""
		switch in.step {
		case view.RegisterOrganisation:
			if err := partners.CheckOrganisation(in.Registration).Err(); err != nil {
				return err
			}
			next = view.RegisterContact
		case view.RegisterContact:
			if err := partners.CheckContact(in.Registration).Err(); err != nil {
				return err
			}
			next = view.RegisterCheck
		default:
			return p.finishRegistration(c, in.Registration)
		}
		if err := p.saveDraft(c, in.Registration); err != nil {
			return err
		}
		return c.Redirect(http.StatusSeeOther, "/register?step="+next)
	}, p.showRegister)
}

// finishRegistration stores a registration. The answer does not reveal whether the address or a number is known already.
func (p *pages) finishRegistration(c echo.Context, in partners.Registration) error {
	err := p.Registry.Partners.Register(c.Request().Context(), in)
	if e, ok := errors.AsType[*registry.ThrottledError](err); ok {
		return throttledRegistration(c, e)
	}
	if err != nil {
		return err
	}
	if err := p.forgetDraft(c); err != nil {
		return err
	}
	p.Engine.Changed()
	return c.Redirect(http.StatusSeeOther, "/register/sent")
}

func throttledRegistration(c echo.Context, e *registry.ThrottledError) error {
	setRetryAfter(c, e.After)
	return tooMany("", i18n.M("account.registrations-throttled", i18n.Duration(c.Request().Context(), e.After)))
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

// showRegister shows a step, or the one with what is wrong.
func (p *pages) showRegister(c echo.Context, status int, in registrationForm, wrong site.FormErrors) error {
	organisation, err := p.Organisation(c)
	if err != nil {
		return err
	}
	v := view.RegisterView{
		Step: stepOf(in, wrong), By: in.By, Name: in.Name, OIN: in.OIN, KVK: in.KVK, BRIN: in.BRIN, HerID: in.HerID, OrgNumber: in.OrgNumber,
		ContactName: in.Contact.Name, ContactEmail: in.Contact.Email, Phone: in.Contact.Phone,
		Kinds: site.EndpointKindOptions(c.Request().Context(), in.EndpointKinds), Terms: in.TermsAccepted, TermsVersion: p.Registry.Partners.TermsVersion(),
		Organisation: organisation, Wrong: wrong,
	}
	d, ok, err := p.Registry.Partners.Draft(c.Request().Context(), p.draftToken(c))
	if err != nil {
		return err
	}
	if ok {
		v.KeptUntil = d.ExpiresAt
	}
	page := p.Page(c, i18n.T(c.Request().Context(), "account.register"))
	page.Lead = i18n.T(c.Request().Context(), "account.register-lead", organisation)
	page.Invalid = len(wrong) > 0
	return p.Render(c, status, view.RegisterPage(page, v))
}

// stepOf is the step that has the first field that is wrong, or else the one of the form.
func stepOf(in registrationForm, wrong site.FormErrors) string {
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return wrong[name] != "" })
	}
	switch {
	case has("name", "by", "oin", "kvk", "brin", "orgNumber", "herId"):
		return view.RegisterOrganisation
	case has("contactName", "email", "phone"):
		return view.RegisterContact
	case has("endpointKinds", "terms"), in.step == view.RegisterCheck:
		return view.RegisterCheck
	case in.step == view.RegisterContact:
		return in.step
	}
	return view.RegisterOrganisation
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
		to, err := p.LoginByLink(c, account, site.HomeOf(&account))
		return p.Saved(c, err, to, "account.confirmed")
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
		Action: c.Request().URL.EscapedPath(), Email: partner.ContactEmail, Wrong: wrong["password"], Steps: view.RegisterSteps(c.Request().Context(), 3),
	}))
}

// confirmProblem advises the next step when a confirmation link does not work.
func confirmProblem(err error) error {
	if errors.Is(err, registry.ErrLinkDead) {
		return site.NewProblem(http.StatusNotFound, "link-dead", "account.confirm-dead")
	}
	return err
}
