package admin

import (
	"cmp"
	"context"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/partners"
	"schakel/store"
	view "schakel/templates/admin"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// adminRoutes lists what may pass from one partner to another (guarantee G3).
func (p *pages) adminRoutes(c echo.Context) error {
	return p.showRoutes(c, http.StatusOK, routeForm{}, nil)
}

// routeForm is a route as typed; preview asks what would pass along it.
type routeForm struct {
	partners.NewRoute
	preview bool
	reason  string // for the second person
}

func readRoute(form site.Form) routeForm {
	return routeForm{
		partners.NewRoute{FromPartnerID: form.Get("from"), ToPartnerID: form.Get("to"), EventType: form.Get("eventType")},
		form.Get("do") == "preview", form.Get("reason"),
	}
}

// adminAddRoute opens a route, or shows what would pass along it.
func (p *pages) adminAddRoute(c echo.Context) error {
	return site.Submit(c, readRoute, func(in routeForm) error {
		if in.preview {
			if err := p.Registry.Routes.Check(c.Request().Context(), site.Actor(c), in.NewRoute); err != nil {
				return err
			}
			return p.showRoutes(c, http.StatusOK, in, nil)
		}
		ctx := registry.WithReason(c.Request().Context(), in.reason)
		if wrong, err := p.reasonWrong(ctx, registry.TwoRoutes, in.reason); err != nil || wrong != nil {
			return cmp.Or(err, wrong)
		}
		_, err := p.Registry.Routes.Add(ctx, site.Actor(c), in.NewRoute)
		return p.Saved(c, err, "/admin/routes", i18n.M("admin.routes.opened", in.EventType))
	}, p.showRoutes)
}

// reasonWrong refuses an action that waits for a second person without a reason.
func (p *pages) reasonWrong(ctx context.Context, kind, reason string) (wrong, err error) {
	on, err := p.Registry.Confirmations.On(ctx, kind)
	if err == nil && on && reason == "" {
		wrong = registry.Invalid(map[string]i18n.Message{"reason": "confirm.reason-missing"})
	}
	return wrong, err
}

// adminRemoveRoute closes a route.
func (p *pages) adminRemoveRoute(c echo.Context) error {
	err := p.Registry.Routes.Remove(c.Request().Context(), site.Actor(c), c.Param("id"))
	return p.Saved(c, err, "/admin/routes", "admin.routes.closed")
}

func (p *pages) showRoutes(c echo.Context, status int, in routeForm, wrong site.FormErrors) error {
	ctx := c.Request().Context()
	routes, err := p.Registry.Routes.List(ctx, site.Actor(c))
	if err != nil {
		return err
	}
	v := view.AdminRoutesView{From: in.FromPartnerID, To: in.ToPartnerID, EventType: in.EventType, Wrong: wrong, Now: p.Cfg.Now()}
	if v.Rows, err = p.routeRows(ctx, routes); err != nil {
		return err
	}
	if v.Partners, err = p.RoutePartners(ctx, site.Actor(c)); err != nil {
		return err
	}
	if v.EventTypes, err = p.routeTypes(ctx); err != nil {
		return err
	}
	if in.preview && wrong == nil {
		if err := p.previewRoute(c, in.NewRoute, &v); err != nil {
			return err
		}
	}
	if v.Waits, err = p.Registry.Confirmations.On(ctx, registry.TwoRoutes); err != nil {
		return err
	}
	v.Reason = in.reason
	page := p.Frame(c, i18n.T(ctx, "admin.routes.title"))
	page.Invalid = wrong != nil
	if err := p.NoteWaiting(ctx, &page, "route"); err != nil {
		return err
	}
	return p.Render(c, status, view.AdminRoutes(page, v))
}

func (p *pages) routeRows(ctx context.Context, routes []store.Route) ([]view.RouteRow, error) {
	names := p.AdminNames()
	var rows []view.RouteRow
	for _, r := range routes {
		from, err := names.PartnerLink(ctx, r.FromPartnerID)
		if err != nil {
			return nil, err
		}
		to, err := names.PartnerLink(ctx, r.ToPartnerID)
		if err != nil {
			return nil, err
		}
		rows = append(rows, view.RouteRow{
			From: from, To: to, EventType: r.EventType, By: r.CreatedBy, Since: r.CreatedAt.Time, Remove: "/admin/routes/" + r.ID + "/removal",
		})
	}
	return rows, nil
}

func (p *pages) routeTypes(ctx context.Context) ([]ui.Option, error) {
	types, err := p.Registry.EventTypes.Catalogue(ctx, registry.Reader{Internal: true, Administrator: true})
	if err != nil {
		return nil, err
	}
	options := []ui.Option{{Label: i18n.T(ctx, "admin.routes.choose-type")}}
	for _, t := range types {
		options = append(options, ui.Option{Value: t.Name, Label: t.Name})
	}
	return options, nil
}
