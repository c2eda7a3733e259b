package datasets

import (
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/delivery/mutation/area"
	"schakel/registry"
	"schakel/store"
	view "schakel/templates/datasets"
	"schakel/templates/ui"
	"schakel/web/site"
)

// Bounds of what the page of an area writes out.
const (
	shownWKT  = 4000
	shownKeys = 200
)

// areaPages shows areas: all of them to administrators, its own to a partner.
type areaPages struct {
	*Pages
	base string
	sees func(echo.Context) registry.Scope
}

func (p *Pages) areaAdmin() areaPages {
	return areaPages{p, "/admin", func(c echo.Context) registry.Scope { return site.Actor(c).Scope() }}
}

func (p *Pages) areaPartner() areaPages {
	return areaPages{p, "/partner", func(c echo.Context) registry.Scope { return registry.ScopeOf(site.PartnerID(c)) }}
}

func (a areaPages) routes(g site.RouteGroup) {
	g.GET("/datasets/:dataset/areas/:area", a.page)
	g.GET("/datasets/:dataset/areas/:area/wkt", a.wkt)
	g.GET("/datasets/:dataset/areas/:area/geojson", a.geoJSON)
}

// find reads the area of the address, as far as the reader may see it.
func (a areaPages) find(c echo.Context) (store.Dataset, store.MutationArea, error) {
	ctx := c.Request().Context()
	d, err := a.Registry.Datasets.Get(ctx, c.Param("dataset"))
	if err != nil {
		return d, store.MutationArea{}, err
	}
	row, err := a.Registry.Datasets.Area(ctx, a.sees(c), d.ID, c.Param("area"))
	return d, row, err
}

// page shows an area on a map (MUT-41).
func (a areaPages) page(c echo.Context) error {
	d, row, err := a.find(c)
	if err != nil {
		return err
	}
	set, here := a.base+"/datasets/"+d.ID, areaHref(a.base, d.ID, row.ID)
	v := view.AreaView{
		Name: areaName(row), ID: row.ID, Dataset: ui.Named{Name: d.Title, Href: set}, Created: row.CreatedAt.Time, Now: a.Cfg.Now(),
		Keys: row.Keys[:min(shownKeys, len(row.Keys))], KeyTotal: len(row.Keys),
	}
	if a.base == "/admin" {
		if v.Partner, err = a.AdminNames().PartnerLink(c.Request().Context(), row.PartnerID); err != nil {
			return err
		}
	}
	if shape, err := area.Parse(row.WKT, area.Options{Dataset: area.CRS(d.CRS)}); err == nil {
		v.System, v.Vertices, v.WKTHref, v.GeoJSONHref = systemName(d.CRS), shape.Vertices(), here+"/wkt", here+"/geojson"
		v.Extent = []string{site.Capital(extentText(boxOf([]*area.Area{shape}), d.CRS))}
		v.Map = datasetMap(d, "map", v.Name, []mapArea{{label: v.Name, wkt: row.WKT}})
		v.WKT, v.Cut = row.WKT, len(row.WKT) > shownWKT
		if v.Cut {
			v.WKT = row.WKT[:shownWKT] + "…"
		}
	}
	page := a.Frame(c, v.Name, ui.Crumb{Label: "Datasets", Href: a.base + "/datasets"}, ui.Crumb{Label: d.Title, Href: set})
	return a.Render(c, http.StatusOK, view.AreaPage(page, v))
}

// wkt answers the boundary as it is used, the same bytes each time.
func (a areaPages) wkt(c echo.Context) error {
	_, row, err := a.find(c)
	if err != nil || row.WKT == "" {
		return orNotFound(err)
	}
	return sendText(c, row.ID+".wkt", "text/plain; charset=utf-8", []byte(row.WKT))
}

// geoJSON answers the boundary in longitude and latitude.
func (a areaPages) geoJSON(c echo.Context) error {
	d, row, err := a.find(c)
	if err != nil || row.WKT == "" {
		return orNotFound(err)
	}
	shape, err := area.Parse(row.WKT, area.Options{Dataset: area.CRS(d.CRS)})
	if err != nil {
		return err
	}
	return sendText(c, row.ID+".geojson", "application/geo+json", shape.GeoJSON())
}

func orNotFound(err error) error {
	if err == nil {
		return store.ErrNotFound
	}
	return err
}

func sendText(c echo.Context, name, contentType string, body []byte) error {
	h := c.Response().Header()
	h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	h.Set("Content-Security-Policy", site.DataCSP)
	h.Set("Cache-Control", "private, no-cache")
	return c.Blob(http.StatusOK, contentType, body)
}
