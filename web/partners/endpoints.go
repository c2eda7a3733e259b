package partners

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/partners"
	"schakel/store"
	"schakel/templates/i18n"
	view "schakel/templates/partners"
	"schakel/templates/ui"
	"schakel/web/site"
)

func (d ownerPages) routesEndpoints(g site.RouteGroup) {
	change, operate := g.Needs(registry.ChangeEndpoints), g.Needs(registry.OperateEndpoints)
	g.GET("/endpoints", d.endpoints)
	change.POST("/endpoints", d.createEndpoint, d.RequireProof)
	change.GET("/endpoints/new", d.newEndpoint)
	g.GET("/endpoints/:id", d.endpoint)
	change.POST("/endpoints/:id", d.updateEndpoint, d.RequireProof)
	change.GET("/endpoints/:id/edit", d.editEndpoint)
	operate.GET("/endpoints/:id/setup", d.setupEndpoint)
	operate.GET("/endpoints/:id/test", d.newTest)
	operate.POST("/endpoints/:id/test", d.testEndpoint)
	g.GET("/endpoints/:id/check", d.endpointCheck)
	operate.POST("/endpoints/:id/check", d.startCheck)
	change.GET("/endpoints/:id/signing", d.signing)
	change.POST("/endpoints/:id/signing", d.changeSigning, d.RequireProof)
	change.POST("/endpoints/:id/signing/rotate", d.rotateSigning, d.RequireProof)
	change.POST("/endpoints/:id/certificates/:certificate/removal", d.removeCertificate, d.RequireProof)
	change.POST("/endpoints/inbox", d.createInbox)
	operate.POST("/endpoints/:id/answer", d.answerInbox)
	operate.POST("/endpoints/:id/clear", d.clearInbox)
	g.GET("/endpoints/:id/messages/:message", d.inboxMessage)
	operate.POST("/endpoints/:id/pause", d.pauseEndpoint)
	operate.POST("/endpoints/:id/probe", d.probeEndpoint)
	operate.POST("/endpoints/:id/resume", d.resumeEndpoint, d.RequireProof)
	change.POST("/endpoints/:id/end", d.endEndpoint)
	d.routesMove(g)
}

// endpoints lists where the organisation receives.
func (d ownerPages) endpoints(c echo.Context) error {
	owner, err := d.Owner(c)
	if err != nil {
		return err
	}
	all, err := d.Registry.Endpoints.List(c.Request().Context(), registry.ScopeOf(owner.ID), owner.ID)
	if err != nil {
		return err
	}
	v := view.EndpointListView{
		Action: d.Href("/endpoints"), NewHref: d.Href("/endpoints/new"), Closed: site.Waits(c.Request().Context(), owner),
		Search: site.Clean(c.QueryParam("q")), Status: site.PageChoice(c, "status", site.EndpointStatuses()), Now: d.Cfg.Now(),
	}
	found := searchEndpoints(all, v.Search, v.Status)
	paging := site.PagePaging(c)
	v.Total, v.Pager = len(found), site.Pager(c, paging, len(found))
	shown := site.OnPage(found, paging)
	drawn, err := d.Sparks(c.Request().Context(), endpointIDs(shown))
	if err != nil {
		return err
	}
	issues, err := d.DB.UnresolvedIssues(c.Request().Context(), endpointIDs(shown))
	if err != nil {
		return err
	}
	ready := d.Readiness(site.Actor(c).Administrator)
	for _, e := range shown {
		unready, err := ready.OfEndpoint(c.Request().Context(), e)
		if err != nil {
			return err
		}
		v.Rows = append(v.Rows, view.OwnEndpoint{
			Name: e.Name, Href: d.Href("/endpoints/" + e.ID), Kind: site.KindLabel(c.Request().Context(), e.Kind), Host: partners.EndpointHost(e),
			State: e.Status, Circuit: e.Circuit, Unready: unready, Since: e.UpdatedAt.Time, Spark: drawn[e.ID],
			Issues: issues[e.ID], IssuesHref: d.issuesHref(e.ID),
		})
	}
	page := d.Page(c, i18n.T(c.Request().Context(), "partners.label.endpoints"))
	page.Lead = i18n.T(c.Request().Context(), "partners.endpoint.lead")
	if v.Closed == "" {
		page.Actions = ui.LinkButton(ui.Primary, i18n.T(c.Request().Context(), "partners.action.add-endpoint"), v.NewHref)
		v.InboxHref = d.inboxToMake(all)
	}
	return d.Render(c, http.StatusOK, view.EndpointListPage(page, v))
}

// inboxToMake returns the address that makes a test inbox, and nothing where one is there already or none can be served.
func (d ownerPages) inboxToMake(all []store.Endpoint) string {
	made := slices.ContainsFunc(all, func(e store.Endpoint) bool { return e.Kind == store.EndpointInbox && e.Status != store.EndpointEnded })
	if made || !slices.Contains(d.Registry.Endpoints.ServedKinds(), store.EndpointInbox) {
		return ""
	}
	return d.Href("/endpoints/inbox")
}

func endpointIDs(endpoints []store.Endpoint) []string {
	ids := make([]string, len(endpoints))
	for i := range endpoints {
		ids[i] = endpoints[i].ID
	}
	return ids
}

func searchEndpoints(all []store.Endpoint, search, status string) []store.Endpoint {
	words := strings.Fields(strings.ToLower(search))
	var found []store.Endpoint
	for _, e := range all {
		if (status == "" || e.Status == status) && site.ContainsAll(strings.ToLower(e.Name+" "+partners.EndpointHost(e)), words) {
			found = append(found, e)
		}
	}
	return found
}

// ownEndpoint finds an endpoint of this owner; another's is not there.
func (d ownerPages) ownEndpoint(c echo.Context) (store.Partner, store.Endpoint, error) {
	owner, err := d.Owner(c)
	if err != nil {
		return owner, store.Endpoint{}, err
	}
	e, err := d.Registry.Endpoints.Get(c.Request().Context(), registry.ScopeOf(owner.ID), c.Param("id"))
	return owner, e, err
}

func (d ownerPages) crumbsToEndpoints(ctx context.Context, e store.Endpoint) []ui.Crumb {
	crumbs := []ui.Crumb{{Label: i18n.T(ctx, "partners.label.endpoints"), Href: d.Href("/endpoints")}}
	if e.ID != "" {
		crumbs = append(crumbs, ui.Crumb{Label: e.Name, Href: d.Href("/endpoints/" + e.ID)})
	}
	return crumbs
}
