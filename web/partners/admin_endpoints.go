package partners

import (
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"
	view "schakel/templates/partners"
	"schakel/templates/ui"
	"schakel/web/site"
)

// adminEndpoints lists the endpoints of all partners that have not ended.
func (p *pages) adminEndpoints(c echo.Context) error {
	ctx, paging := c.Request().Context(), site.PagePaging(c)
	status, partner := site.PageChoice(c, "status", site.EndpointStatuses()), site.Clean(c.QueryParam("partner"))
	rows, err := p.EndpointRows(ctx, site.Actor(c).Scope(), partner)
	if err != nil {
		return err
	}
	if status != "" {
		rows = slices.DeleteFunc(rows, func(r ui.EndpointRow) bool { return r.Status != status })
	}
	partners, err := p.PartnerOptions(ctx, p.DeliveryNames())
	if err != nil {
		return err
	}
	page := p.Frame(c, "Endpoints")
	page.Lead = "Where partners receive, and what waits there."
	page.Actions = ui.LinkButton(ui.Secondary, "Add one of your own organisation", "/admin/own/endpoints/new")
	return p.Render(c, http.StatusOK, view.AdminEndpoints(page, view.AdminEndpointsView{
		Status: status, Partner: partner, Partners: partners, Total: len(rows), Now: p.Cfg.Now(),
		Statuses: ui.StateOptions(site.EndpointStatuses()...),
		Rows:     site.SlicePage(rows, paging), Pager: site.Pager(c, paging, len(rows)),
	}))
}
