package partners

import (
	"context"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
	view "schakel/templates/partners"
	"schakel/templates/ui"
	"schakel/web/site"
)

func (d ownerPages) routesClients(g site.RouteGroup) {
	change, operate := g.Needs(registry.ChangeClients), g.Needs(registry.OperateEndpoints)
	g.GET("/clients", d.clients)
	change.POST("/clients", d.createClient, d.RequireProof)
	change.GET("/clients/new", d.newClient)
	g.GET("/clients/:id", d.client)
	change.POST("/clients/:id", d.updateClient, d.RequireProof)
	operate.GET("/clients/:id/publish", d.publishForm)
	operate.POST("/clients/:id/publish", d.publishTest)
	change.GET("/clients/:id/edit", d.editClient)
	change.POST("/clients/:id/secret", d.rotateSecret, d.RequireProof)
	change.POST("/clients/:id/keys", d.addKeyPair, d.RequireProof)
	change.POST("/clients/:id/revoke", d.revokeClient)
}

// clients lists the machines of the organisation.
func (d ownerPages) clients(c echo.Context) error {
	owner, err := d.Owner(c)
	if err != nil {
		return err
	}
	all, err := d.Registry.Clients.List(c.Request().Context(), registry.ScopeOf(owner.ID), owner.ID)
	if err != nil {
		return err
	}
	v := view.ClientListView{
		Action: d.Href("/clients"), NewHref: d.Href("/clients/new"), Closed: site.Waits(c.Request().Context(), owner),
		Search: site.Clean(c.QueryParam("q")), Status: site.PageChoice(c, "status", []string{store.ClientActive, "waiting", store.ClientRevoked}), Now: d.Cfg.Now(),
	}
	found := searchClients(all, v.Search, v.Status)
	paging := site.PagePaging(c)
	v.Total, v.Pager = len(found), site.Pager(c, paging, len(found))
	for _, client := range site.OnPage(found, paging) {
		v.Rows = append(v.Rows, view.OwnClient{
			Name: client.Name, Href: d.Href("/clients/" + client.ID), ID: client.ID, Method: client.AuthMethod, State: client.Status,
			Waiting: client.Waiting(), Scopes: strings.Join(client.Scopes, ", "), Since: client.UpdatedAt.Time,
		})
	}
	page := d.Page(c, i18n.T(c.Request().Context(), "partners.label.clients"))
	page.Lead = i18n.T(c.Request().Context(), "partners.client.lead")
	if v.Closed == "" {
		page.Actions = ui.LinkButton(ui.Primary, i18n.T(c.Request().Context(), "partners.client.add-one"), v.NewHref)
	}
	return d.Render(c, http.StatusOK, view.ClientListPage(page, v))
}

func searchClients(all []store.Client, search, status string) []store.Client {
	words := strings.Fields(strings.ToLower(search))
	var found []store.Client
	for _, client := range all {
		is := status == "" || client.Status == status || status == "waiting" && client.Waiting()
		if is && site.ContainsAll(strings.ToLower(client.Name+" "+client.ID), words) {
			found = append(found, client)
		}
	}
	return found
}

// ownClient finds a client of this owner; another's is not there.
func (d ownerPages) ownClient(c echo.Context) (store.Partner, store.Client, error) {
	owner, err := d.Owner(c)
	if err != nil {
		return owner, store.Client{}, err
	}
	client, err := d.Registry.Clients.Get(c.Request().Context(), registry.ScopeOf(owner.ID), c.Param("id"))
	return owner, client, err
}

func (d ownerPages) crumbsToClients(ctx context.Context, client store.Client) []ui.Crumb {
	crumbs := []ui.Crumb{{Label: i18n.T(ctx, "partners.label.clients"), Href: d.Href("/clients")}}
	if client.ID != "" {
		crumbs = append(crumbs, ui.Crumb{Label: client.Name, Href: d.Href("/clients/" + client.ID)})
	}
	return crumbs
}
