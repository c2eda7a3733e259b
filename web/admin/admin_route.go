package web

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/partners"
	"schakel/store"
	view "schakel/templates/admin"
	"schakel/templates/ui"
)

// adminRoutes lists what may pass from one partner to another (guarantee G3).
func (p *portal) adminRoutes(c echo.Context) error {
	return p.showRoutes(c, http.StatusOK, partners.NewRoute{}, nil)
}

// adminAddRoute opens a route.
func (p *portal) adminAddRoute(c echo.Context) error {
	form, err := readForm(c)
	if err != nil {
		return err
	}
	in := partners.NewRoute{FromPartnerID: form.Get("from"), ToPartnerID: form.Get("to"), EventType: form.Get("eventType")}
	_, err = p.Registry.Routes.Add(c.Request().Context(), actor(c), in)
	if status, wrong := formRefusal(err); wrong != nil {
		return p.showRoutes(c, status, in, wrong)
	}
	if err != nil {
		return err
	}
	return p.done(c, "/admin/routes", "The route is open: "+in.EventType+" may pass from now on.")
}

// adminRemoveRoute closes a route.
func (p *portal) adminRemoveRoute(c echo.Context) error {
	if err := p.Registry.Routes.Remove(c.Request().Context(), actor(c), c.Param("id")); err != nil {
		return err
	}
	return p.done(c, "/admin/routes", "The route is closed. Events that are received from now on do not pass.")
}

// formRefusal returns the problems of a form by field, and the status of the page
// that shows it; nil for any other error. A conflict with the state of things
// stands under the empty name.
func formRefusal(err error) (status int, wrong formErrors) {
	if fields, ok := refused(err); ok {
		return http.StatusUnprocessableEntity, fields
	}
	e, ok := errors.AsType[*registry.Error](err)
	if !ok || e.Code == registry.CodeForbidden || e.Code == registry.CodeNotFound {
		return 0, nil
	}
	if status = registryProblem(e).Status; e.Code == registry.CodeInvalid {
		status = http.StatusConflict
	}
	return status, formErrors{"": e.Message}
}

func (p *portal) showRoutes(c echo.Context, status int, in partners.NewRoute, wrong formErrors) error {
	ctx := c.Request().Context()
	routes, err := p.Registry.Routes.List(ctx, actor(c))
	if err != nil {
		return err
	}
	v := view.AdminRoutesView{From: in.FromPartnerID, To: in.ToPartnerID, EventType: in.EventType, Wrong: wrong, Now: p.cfg.Now()}
	if v.Rows, err = p.routeRows(ctx, routes); err != nil {
		return err
	}
	if v.Partners, err = p.routePartners(ctx, actor(c)); err != nil {
		return err
	}
	if v.EventTypes, err = p.routeTypes(ctx); err != nil {
		return err
	}
	page := p.frame(c, "Routes between partners")
	page.Invalid = wrong != nil
	return p.render(c, status, view.AdminRoutes(page, v))
}

func (p *portal) routeRows(ctx context.Context, routes []store.Route) ([]view.RouteRow, error) {
	names := p.adminNames()
	var rows []view.RouteRow
	for _, r := range routes {
		from, err := names.partnerLink(ctx, r.FromPartnerID)
		if err != nil {
			return nil, err
		}
		to, err := names.partnerLink(ctx, r.ToPartnerID)
		if err != nil {
			return nil, err
		}
		rows = append(rows, view.RouteRow{
			From: from, To: to, EventType: r.EventType, By: r.CreatedBy, Since: r.CreatedAt.Time, Remove: "/admin/routes/" + r.ID + "/removal",
		})
	}
	return rows, nil
}

// routePartners are the partners a route can be between.
func (p *portal) routePartners(ctx context.Context, who registry.Actor) ([]ui.Option, error) {
	options := []ui.Option{{Label: "Choose a partner"}}
	for _, status := range []string{store.PartnerApproved, store.PartnerSuspended, store.PartnerRequested} {
		rows, _, err := p.Registry.Partners.List(ctx, who, store.PartnerFilter{Status: status})
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			label := row.Name
			if status != store.PartnerApproved {
				label += " (" + status + ")"
			}
			options = append(options, ui.Option{Value: row.ID, Label: label})
		}
	}
	return options, nil
}

func (p *portal) routeTypes(ctx context.Context) ([]ui.Option, error) {
	types, err := p.Registry.EventTypes.Catalogue(ctx, registry.Reader{Internal: true, Administrator: true})
	if err != nil {
		return nil, err
	}
	options := []ui.Option{{Label: "Choose an event type"}}
	for _, t := range types {
		options = append(options, ui.Option{Value: t.Name, Label: t.Name})
	}
	return options, nil
}
