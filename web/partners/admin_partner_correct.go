package partners

import (
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/registry/partners"
	"schakel/store"
	view "schakel/templates/account"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// correctable reports whether the registration of a partner can be corrected: one that is over would register again, and the own
// organisation is named where the program is started.
func correctable(p store.Partner) bool {
	return !p.Own && p.Status != store.PartnerRejected && p.Status != store.PartnerEnded
}

// correctionForm shows the registration as it stands.
func (p *pages) correctionForm(c echo.Context) error {
	partner, err := p.Registry.Partners.Get(c.Request().Context(), site.Actor(c).Scope(), c.Param("id"))
	if err != nil {
		return err
	}
	if !correctable(partner) {
		return c.Redirect(http.StatusSeeOther, site.PartnerHref(partner.ID))
	}
	return p.showCorrection(c, http.StatusOK, partners.Registration{
		Name: partner.Name, OIN: partner.OIN, KVK: partner.KVK, BRIN: partner.BRIN, HerID: partner.HerID, OrgNumber: partner.OrgNumber,
		Contact: partners.Contact{Name: partner.ContactName, Email: partner.ContactEmail, Phone: partner.ContactPhone},
	}, nil)
}

// correctPartner corrects the registration of a partner.
func (p *pages) correctPartner(c echo.Context) error {
	return site.Submit(c, site.RegistrationForm, func(in partners.Registration) error {
		id := c.Param("id")
		err := p.Registry.Partners.Correct(c.Request().Context(), site.Actor(c), id, in)
		return p.OwnPages("/admin").Settled(c, err, site.PartnerHref(id), "partners.partner.registration-saved")
	}, p.showCorrection)
}

func (p *pages) showCorrection(c echo.Context, status int, in partners.Registration, wrong site.FormErrors) error {
	partner, err := p.Registry.Partners.Get(c.Request().Context(), site.Actor(c).Scope(), c.Param("id"))
	if err != nil {
		return err
	}
	href := site.PartnerHref(partner.ID)
	page := p.Frame(c, i18n.T(c.Request().Context(), "partners.partner.correct"), ui.Crumb{Label: i18n.T(c.Request().Context(), "partners.label.partners"), Href: "/admin/partners"}, ui.Crumb{Label: partner.Name, Href: href})
	page.Lead, page.Invalid = i18n.T(c.Request().Context(), "partners.partner.correct-lead"), len(wrong) > 0
	return p.Render(c, status, view.CorrectionPage(page, view.CorrectionView{
		RegisterView: view.RegisterView{
			Name: in.Name, OIN: in.OIN, KVK: in.KVK, BRIN: in.BRIN, HerID: in.HerID, OrgNumber: in.OrgNumber,
			ContactName: in.Contact.Name, ContactEmail: in.Contact.Email, Phone: in.Contact.Phone, Wrong: wrong,
		},
		Action: href + "/registration", Cancel: href,
	}))
}
