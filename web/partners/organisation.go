package partners

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/registry/partners"
	"schakel/store"
	"schakel/templates/i18n"
	view "schakel/templates/partners"
	"schakel/templates/ui"
	"schakel/web/site"
)

// organisationPage shows the own registration.
func (d ownerPages) organisationPage(c echo.Context) error {
	owner, err := d.Owner(c)
	if err != nil {
		return err
	}
	contact := partners.Contact{Name: owner.ContactName, Email: owner.ContactEmail, Phone: owner.ContactPhone}
	return d.showOrganisation(c, http.StatusOK, owner, contact, nil)
}

// changeContact changes who can be reached. It is possible in every state.
func (d ownerPages) changeContact(c echo.Context) error {
	owner, err := d.Owner(c)
	if err != nil {
		return err
	}
	read := func(form site.Form) partners.Contact { return site.RegistrationForm(form).Contact }
	return site.SubmitAbout(c, owner, read, func(contact partners.Contact) error {
		_, err := d.Registry.Partners.UpdateContact(c.Request().Context(), site.Actor(c), owner.ID, contact)
		return d.Settled(c, err, d.Href("/organisation"), "partners.organisation.contact-saved")
	}, d.showOrganisation)
}

func (d ownerPages) showOrganisation(c echo.Context, status int, owner store.Partner, contact partners.Contact, wrong site.FormErrors) error {
	var kinds []string
	for _, k := range owner.EndpointKinds {
		kinds = append(kinds, site.KindLabel(c.Request().Context(), k))
	}
	v := view.OrganisationView{
		State: owner.Status, Reason: i18n.Message(owner.StatusReason).In(c.Request().Context()), Name: owner.Name, OIN: owner.OIN, KVK: owner.KVK, BRIN: owner.BRIN, HerID: owner.HerID, OrgNumber: owner.OrgNumber,
		Kinds: strings.Join(kinds, ", "), TermsVersion: owner.TermsVersion, Terms: owner.TermsAcceptedAt.Time,
		Since: owner.CreatedAt.Time, Decided: owner.DecidedAt.Time, DecidedBy: owner.DecidedBy, Now: d.Cfg.Now(),
		ContactName: contact.Name, Email: contact.Email, Phone: contact.Phone, Wrong: wrong,
	}
	page := d.PageFrame(c, i18n.T(c.Request().Context(), "partners.home.organisation"))
	page.Badge, page.Invalid = ui.State(owner.Status), len(wrong) > 0
	return d.Render(c, status, view.OrganisationPage(page, v))
}
