package partners

import (
	"cmp"
	"net/http"

	"github.com/labstack/echo/v4"

	"schakel/store"
	view "schakel/templates/partners"
	"schakel/templates/ui"
	"schakel/web/site"
)

// adminPartners lists registered organisations.
func (p *pages) adminPartners(c echo.Context) error {
	paging := site.PagePaging(c)
	f := store.PartnerFilter{
		Status: site.PageChoice(c, "status", site.PartnerStatuses()), Search: site.Clean(c.QueryParam("q")),
		Page: store.Page{Number: paging.Page, Size: paging.PerPage},
	}
	partners, total, err := p.Registry.Partners.List(c.Request().Context(), site.Actor(c), f)
	if err != nil {
		return err
	}
	v := view.AdminPartnersView{
		Status: f.Status, Search: f.Search, Total: total, Pager: site.Pager(c, paging, total), Now: p.Cfg.Now(),
		Statuses: ui.StateOptions(site.PartnerStatuses()...),
	}
	for _, partner := range partners {
		v.Rows = append(v.Rows, view.PartnerRow{
			Name: partner.Name, Href: "/admin/partners/" + partner.ID, Number: cmp.Or(partner.OIN, partner.OrgNumber), Contact: partner.ContactName,
			Status: partner.Status, Since: partner.CreatedAt.Time,
			Unconfirmed: partner.Status == store.PartnerRequested && partner.EmailConfirmedAt.IsZero(),
		})
	}
	page := p.Frame(c, "Partners")
	page.Lead = "Organisations that registered themselves. A registration waits until you approve it."
	return p.Render(c, http.StatusOK, view.AdminPartners(page, v))
}
