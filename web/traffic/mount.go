// Package traffic serves the charts of what moved: events, deliveries, failed attempts, latency and what waits.
//
// Administrators see all, a partner, or an endpoint; a partner sees its own endpoints alone (guarantee G7). The pages read counts
// that the engine kept and never deliveries, so their cost does not grow with what moved. They lack what the last ten seconds, or
// ten seconds before a crash, counted.
package traffic

import (
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
	view "schakel/templates/traffic"
	"schakel/web/site"
)

type pages struct{ *site.Portal }

// Mount registers the pages.
func Mount(p *site.Portal) {
	t := &pages{p}
	p.Pages("/admin", registry.ReadOrganisation).GET("/traffic", t.admin)
	p.Pages("/partner", registry.ReadPartner).GET("/traffic", t.partner)
}

// admin charts all together, a partner or an endpoint.
func (p *pages) admin(c echo.Context) error {
	ctx, names := c.Request().Context(), p.DeliveryNames()
	v := view.View{Action: "/admin/traffic", Partner: site.Clean(c.QueryParam("partner")), Endpoint: site.Clean(c.QueryParam("endpoint"))}
	var err error
	if v.Partners, err = p.PartnerOptions(ctx, names); err != nil {
		return err
	}
	ids := []string{store.AllEndpoints}
	if v.Partner != "" || v.Endpoint != "" {
		if ids, err = p.choose(c, registry.Scope{All: true}, &v); err != nil {
			return err
		}
	}
	return p.show(c, v, ids)
}

// partner charts the endpoints of whoever is logged in.
func (p *pages) partner(c echo.Context) error {
	owner := site.PartnerID(c)
	v := view.View{Action: "/partner/traffic", Partner: owner, Endpoint: site.Clean(c.QueryParam("endpoint"))}
	ids, err := p.choose(c, registry.ScopeOf(owner), &v)
	if err != nil {
		return err
	}
	v.Partner = "" // it stands in no address
	return p.show(c, v, ids)
}

// choose returns the endpoint asked for, or all of the partner, and fills what can be chosen. An endpoint out of scope is not
// there; one of another partner than the chosen one is shown with its own.
func (p *pages) choose(c echo.Context, scope registry.Scope, v *view.View) ([]string, error) {
	ctx := c.Request().Context()
	if v.Endpoint != "" {
		e, err := p.Registry.Endpoints.Get(ctx, scope, v.Endpoint)
		if err != nil {
			return nil, err
		}
		v.Partner = e.PartnerID
	}
	var err error
	if v.Endpoints, err = p.EndpointOptions(ctx, v.Partner, p.DeliveryNames()); err != nil {
		return nil, err
	}
	if v.Endpoint != "" {
		return []string{v.Endpoint}, nil
	}
	var ids []string
	for _, o := range v.Endpoints {
		if o.Value != "" {
			ids = append(ids, o.Value)
		}
	}
	return ids, nil
}

func (p *pages) show(c echo.Context, v view.View, ids []string) error {
	filter := url.Values{}
	if v.Partner != "" {
		filter.Set("partner", v.Partner)
	}
	if v.Endpoint != "" {
		filter.Set("endpoint", v.Endpoint)
	}
	v.Period = site.PageChoice(c, "period", site.TrafficPeriods())
	ctx := c.Request().Context()
	var err error
	if v.Traffic, err = p.Traffic(ctx, ids, v.Period, v.Action, filter); err != nil {
		return err
	}
	if v.Endpoint != "" {
		e, err := p.DB.Endpoint(ctx, v.Endpoint) // of which choose found that the reader may see it
		if err != nil {
			return err
		}
		if v.Traffic.Timeline, err = p.EndpointTimeline(ctx, e, v.Period); err != nil {
			return err
		}
	}
	page := p.Frame(c, i18n.T(ctx, "traffic.title"))
	page.Lead = i18n.T(ctx, "traffic.lead")
	return p.Render(c, http.StatusOK, view.Page(page, v))
}
