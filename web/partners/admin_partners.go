package web

import (
	"cmp"
	"net/http"

	"github.com/labstack/echo/v4"

	"schakel/store"
	view "schakel/templates/partners"
	"schakel/templates/ui"
)

// adminPartners lists registered organisations.
func (p *portal) adminPartners(c echo.Context) error {
	paging := pagePaging(c)
	f := store.PartnerFilter{
		Status: pageChoice(c, "status", partnerStatuses()), Search: clean(c.QueryParam("q")),
		Page: store.Page{Number: paging.Page, Size: paging.PerPage},
	}
	partners, total, err := p.Registry.Partners.List(c.Request().Context(), actor(c), f)
	if err != nil {
		return err
	}
	v := view.AdminPartnersView{
		Status: f.Status, Search: f.Search, Total: total, Pager: pager(c, paging, total), Now: p.cfg.Now(),
		Statuses: ui.StateOptions(partnerStatuses()...),
	}
	for _, partner := range partners {
		v.Rows = append(v.Rows, view.PartnerRow{
			Name: partner.Name, Href: "/admin/partners/" + partner.ID, Number: cmp.Or(partner.OIN, partner.OrgNumber), Contact: partner.ContactName,
			Status: partner.Status, Since: partner.CreatedAt.Time,
			Unconfirmed: partner.Status == store.PartnerRequested && partner.EmailConfirmedAt.IsZero(),
		})
	}
	page := p.frame(c, "Partners")
	page.Lead = "Organisations that registered themselves. A registration waits until you approve it."
	return p.render(c, http.StatusOK, view.AdminPartners(page, v))
}
