package web

import (
	"net/http"

	"github.com/labstack/echo/v4"
	view "schakel/templates/partners"
	"schakel/templates/ui"
)

// adminClients lists the clients that ask for something, and the own ones.
func (p *portal) adminClients(c echo.Context) error {
	ctx, names := c.Request().Context(), p.adminNames()
	waiting, err := p.Registry.Clients.Waiting(ctx, actor(c))
	if err != nil {
		return err
	}
	own, err := p.Registry.Partners.Own(ctx)
	if err != nil {
		return err
	}
	mine, err := p.Registry.Clients.List(ctx, actor(c).Scope(), own.ID)
	if err != nil {
		return err
	}
	v := view.AdminClientsView{Organisation: own.Name, Now: p.cfg.Now()}
	if v.Waiting, err = names.clientRows(ctx, waiting); err != nil {
		return err
	}
	if v.Own, err = names.clientRows(ctx, mine); err != nil {
		return err
	}
	for i := range v.Own {
		v.Own[i].Href = "/admin/own/clients/" + v.Own[i].ID
	}
	page := p.frame(c, "Clients")
	page.Lead = "The machines that get access tokens."
	page.Actions = ui.LinkButton(ui.Primary, "Make a client of your own", "/admin/own/clients/new")
	return p.render(c, http.StatusOK, view.AdminClients(page, v))
}
