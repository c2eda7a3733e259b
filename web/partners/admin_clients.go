package partners

import (
	"net/http"

	"github.com/labstack/echo/v4"
	view "schakel/templates/partners"
	"schakel/templates/ui"
	"schakel/web/site"
)

// adminClients lists the clients that ask for something, and the own ones.
func (p *pages) adminClients(c echo.Context) error {
	ctx, names := c.Request().Context(), p.AdminNames()
	waiting, err := p.Registry.Clients.Waiting(ctx, site.Actor(c))
	if err != nil {
		return err
	}
	own, err := p.Registry.Partners.Own(ctx)
	if err != nil {
		return err
	}
	mine, err := p.Registry.Clients.List(ctx, site.Actor(c).Scope(), own.ID)
	if err != nil {
		return err
	}
	v := view.AdminClientsView{Organisation: own.Name, Now: p.Cfg.Now()}
	if v.Waiting, err = clientRows(ctx, names, waiting); err != nil {
		return err
	}
	if v.Own, err = clientRows(ctx, names, mine); err != nil {
		return err
	}
	for i := range v.Own {
		v.Own[i].Href = "/admin/own/clients/" + v.Own[i].ID
	}
	page := p.Frame(c, "Clients")
	page.Lead = "The machines that get access tokens."
	page.Actions = ui.LinkButton(ui.Primary, "Make a client of your own", "/admin/own/clients/new")
	return p.Render(c, http.StatusOK, view.AdminClients(page, v))
}
