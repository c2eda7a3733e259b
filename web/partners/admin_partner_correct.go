package web

import (
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/registry/partners"
	"schakel/store"
	view "schakel/templates/account"
	"schakel/templates/ui"
)

// correctable reports whether the registration of a partner can be corrected: one that is over would register again, and the own
// organisation is named where the program is started.
func correctable(p store.Partner) bool {
	return !p.Own && p.Status != store.PartnerRejected && p.Status != store.PartnerEnded
}

// correctionForm shows the registration as it stands.
func (p *portal) correctionForm(c echo.Context) error {
	partner, err := p.Registry.Partners.Get(c.Request().Context(), actor(c).Scope(), c.Param("id"))
	if err != nil {
		return err
	}
	if !correctable(partner) {
		return c.Redirect(http.StatusSeeOther, partnerHref(partner.ID))
	}
	return p.showCorrection(c, http.StatusOK, partners.Registration{
		Name: partner.Name, OIN: partner.OIN, KVK: partner.KVK, HerID: partner.HerID, OrgNumber: partner.OrgNumber,
		Contact: partners.Contact{Name: partner.ContactName, Email: partner.ContactEmail, Phone: partner.ContactPhone},
	}, nil)
}

// correctPartner corrects the registration of a partner.
func (p *portal) correctPartner(c echo.Context) error {
	form, err := readForm(c)
	if err != nil {
		return err
	}
	in, id := registrationForm(form), c.Param("id")
	err = p.Registry.Partners.Correct(c.Request().Context(), actor(c), id, in)
	if fields, ok := refused(err); ok {
		return p.showCorrection(c, http.StatusUnprocessableEntity, in, fields)
	}
	return p.ownDesk("/admin").settled(c, err, partnerHref(id), "The registration is saved.")
}

// registrationForm reads the fields that registering and correcting a registration share.
func registrationForm(form Form) partners.Registration {
	return partners.Registration{
		Name: form.Get("name"), OIN: form.Get("oin"), KVK: form.Get("kvk"), HerID: form.Get("herId"), OrgNumber: form.Get("orgNumber"),
		Contact: partners.Contact{Name: form.Get("contactName"), Email: form.Get("email"), Phone: form.Get("phone")},
	}
}

func (p *portal) showCorrection(c echo.Context, status int, in partners.Registration, wrong map[string]string) error {
	partner, err := p.Registry.Partners.Get(c.Request().Context(), actor(c).Scope(), c.Param("id"))
	if err != nil {
		return err
	}
	href := partnerHref(partner.ID)
	page := p.frame(c, "Correct the registration", ui.Crumb{Label: "Partners", Href: "/admin/partners"}, ui.Crumb{Label: partner.Name, Href: href})
	page.Lead, page.Invalid = "Others identify the organisation by this. The partner sees in its list of changes what you changed.", len(wrong) > 0
	return p.render(c, status, view.CorrectionPage(page, view.CorrectionView{
		RegisterView: view.RegisterView{
			Name: in.Name, OIN: in.OIN, KVK: in.KVK, HerID: in.HerID, OrgNumber: in.OrgNumber,
			ContactName: in.Contact.Name, ContactEmail: in.Contact.Email, Phone: in.Contact.Phone, Wrong: wrong,
		},
		Action: href + "/registration", Cancel: href,
	}))
}
