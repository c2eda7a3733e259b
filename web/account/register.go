package web

import (
	"errors"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/partners"
	"schakel/store"
	view "schakel/templates/account"
	"schakel/templates/ui"
)

// registerForm asks a visitor about its organisation.
func (p *portal) registerForm(c echo.Context) error {
	if account := p.currentAccount(c); account != nil {
		return c.Redirect(http.StatusSeeOther, homeOf(account))
	}
	return p.showRegister(c, http.StatusOK, partners.Registration{EndpointKinds: []string{store.EndpointWebhook}}, nil)
}

// register stores a registration. The answer does not reveal whether the address
// or a number is known already.
func (p *portal) register(c echo.Context) error {
	form, err := readForm(c)
	if err != nil {
		return err
	}
	in := registrationForm(form)
	in.EndpointKinds, in.TermsAccepted, in.TermsVersion = form.List("endpointKinds"), form.Checked("terms"), form.Get("termsVersion")
	in.Addr = c.RealIP()
	err = p.Registry.Partners.Register(c.Request().Context(), in)
	if fields, ok := refused(err); ok {
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
func (p *portal) registerSent(c echo.Context) error {
	organisation, err := p.organisation(c)
	if err != nil {
		return err
	}
	page := p.page(c, "Check your mail")
	page.Lead = "One step is left before " + organisation + " can look at your registration."
	return p.render(c, http.StatusOK, view.SentPage(page, view.SentView{Organisation: organisation, Mailbox: p.Mailbox, NoMail: p.noMail()}))
}

func (p *portal) showRegister(c echo.Context, status int, in partners.Registration, wrong map[string]string) error {
	organisation, err := p.organisation(c)
	if err != nil {
		return err
	}
	v := view.RegisterView{
		Name: in.Name, OIN: in.OIN, KVK: in.KVK, HerID: in.HerID, OrgNumber: in.OrgNumber,
		ContactName: in.Contact.Name, ContactEmail: in.Contact.Email, Phone: in.Contact.Phone,
		Kinds: endpointKindOptions(in.EndpointKinds), Terms: in.TermsAccepted, TermsVersion: p.Registry.Partners.TermsVersion(),
		Organisation: organisation, Wrong: wrong,
	}
	page := p.page(c, "Register your organisation")
	page.Lead = "This takes about five minutes. " + organisation + " approves every registration."
	page.Invalid = len(wrong) > 0
	return p.render(c, status, view.RegisterPage(page, v))
}

// endpointKindOptions lists the kinds of endpoints, with the chosen ones ticked.
func endpointKindOptions(chosen []string) []ui.Option {
	options := []ui.Option{
		{Value: store.EndpointWebhook, Label: "Webhook", Hint: "We send each event to an https address of yours."},
		{Value: store.EndpointPull, Label: "Pull", Hint: "You fetch events from us when it suits you."},
		{Value: store.EndpointAMQP, Label: "AMQP 1.0", Hint: "By queues of a message broker."},
		{Value: store.EndpointFiles, Label: "Mutation files", Hint: "Files with what changed in a dataset."},
	}
	for i := range options {
		options[i].Selected = slices.Contains(chosen, options[i].Value)
	}
	return options
}

// kindLabel names a kind of endpoint for people.
func kindLabel(kind string) string {
	for _, o := range endpointKindOptions(nil) {
		if o.Value == kind {
			return o.Label
		}
	}
	return kind
}
