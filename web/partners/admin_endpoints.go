package web

import (
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"
	view "schakel/templates/partners"
	"schakel/templates/ui"
)

// adminEndpoints lists the endpoints of all partners that have not ended.
func (p *portal) adminEndpoints(c echo.Context) error {
	ctx, paging := c.Request().Context(), pagePaging(c)
	status, partner := pageChoice(c, "status", endpointStatuses()), clean(c.QueryParam("partner"))
	rows, err := p.endpointRows(ctx, actor(c).Scope(), partner)
	if err != nil {
		return err
	}
	if status != "" {
		rows = slices.DeleteFunc(rows, func(r ui.EndpointRow) bool { return r.Status != status })
	}
	partners, err := p.partnerOptions(ctx, p.deliveryNames())
	if err != nil {
		return err
	}
	page := p.frame(c, "Endpoints")
	page.Lead = "Where partners receive, and what waits there."
	page.Actions = ui.LinkButton(ui.Secondary, "Add one of your own organisation", "/admin/own/endpoints/new")
	return p.render(c, http.StatusOK, view.AdminEndpoints(page, view.AdminEndpointsView{
		Status: status, Partner: partner, Partners: partners, Total: len(rows), Now: p.cfg.Now(),
		Statuses: ui.StateOptions(endpointStatuses()...),
		Rows:     slicePage(rows, paging), Pager: pager(c, paging, len(rows)),
	}))
}
