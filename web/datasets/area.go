package datasets

import (
	"context"
	"math"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/delivery/mutation/area"
	"schakel/registry"
	"schakel/store"
	view "schakel/templates/datasets"
	"schakel/templates/i18n"
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
	ctx := c.Request().Context()
	d, row, err := a.find(c)
	if err != nil {
		return err
	}
	set, here := a.base+"/datasets/"+d.ID, areaHref(a.base, d.ID, row.ID)
	v := view.AreaView{
		Name: areaName(ctx, row), ID: row.ID, Dataset: ui.Named{Name: d.Title, Href: set}, Created: row.CreatedAt.Time, Now: a.Cfg.Now(),
		Keys: row.Keys[:min(shownKeys, len(row.Keys))], KeyTotal: len(row.Keys),
	}
	if a.base == "/admin" {
		if v.Partner, err = a.AdminNames().PartnerLink(ctx, row.PartnerID); err != nil {
			return err
		}
	}
	if shape, err := area.Parse(row.WKT, area.Options{Dataset: area.CRS(d.CRS)}); err == nil {
		v.System, v.Vertices, v.WKTHref, v.GeoJSONHref = systemName(d.CRS), shape.Vertices(), here+"/wkt", here+"/geojson"
		v.Extent = []string{extentText(ctx, boxOf([]*area.Area{shape}, nil), d.CRS)}
		v.Map = datasetMap(ctx, d, "map", v.Name, []mapArea{{label: v.Name, wkt: row.WKT}})
		v.WKT, v.Cut = row.WKT, len(row.WKT) > shownWKT
		if v.Cut {
			v.WKT = row.WKT[:shownWKT] + "…"
		}
	}
	page := a.Frame(c, v.Name, ui.Crumb{Label: i18n.T(ctx, "datasets.title"), Href: a.base + "/datasets"}, ui.Crumb{Label: d.Title, Href: set})
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

// The size of a map, in its own units, and how many areas one map shows.
const (
	mapWidth     = 640
	mapHeight    = 420
	mapLabel     = 100.0 // room for a coordinate, also in the larger letters of a phone
	mapTop       = 55.0  // where the coordinates at the left begin, below those at the top
	mostMapAreas = 40
)

// mapArea is an area on a map.
type mapArea struct {
	label, href, wkt string
}

// datasetMap draws areas that are in the coordinates of a dataset; nil when none of them can be drawn.
func datasetMap(ctx context.Context, d store.Dataset, id, title string, areas []mapArea) *ui.MapView {
	v, _ := drawMap(ctx, d, id, title, areas, nil)
	return v
}

// drawMap draws areas, and leaves room for shapes; the frame serves to draw those. Without any of both the map is nil.
func drawMap(ctx context.Context, d store.Dataset, id, title string, areas []mapArea, objects []*area.Shape) (*ui.MapView, *area.Frame) {
	var shapes []*area.Area
	v := &ui.MapView{ID: id, Title: title, Width: mapWidth, Height: mapHeight}
	for _, a := range areas {
		shape, err := area.Parse(a.wkt, area.Options{Dataset: area.CRS(d.CRS)})
		if err != nil {
			continue // it was checked when it was given; a map is more than one area
		}
		shapes = append(shapes, shape)
		v.Layers = append(v.Layers, ui.MapLayer{Label: a.label, Href: a.href})
	}
	if len(shapes)+len(objects) == 0 {
		return nil, nil
	}
	frame := area.NewFrameOf(mapWidth, mapHeight, area.CRS(d.CRS), shapes, objects)
	for i, shape := range shapes {
		v.Layers[i].Path = frame.Path(shape)
	}
	metres, pixels := frame.ScaleBar()
	v.ScaleLabel, v.ScaleWidth = distance(ctx, metres), pixels
	b := boxOf(shapes, objects)
	drawGrid(ctx, v, b, area.CRS(d.CRS), metres, pixels)
	if d.CRS == int64(area.WGS84) {
		v.Desc = i18n.T(ctx, "datasets.map.desc-degrees", len(shapes), b.minX, b.maxX, b.minY, b.maxY)
		v.Note = i18n.T(ctx, "datasets.map.note-degrees", v.ScaleLabel, b.minX, b.maxX, b.minY, b.maxY)
		if len(objects) > 0 {
			v.Desc = i18n.T(ctx, "datasets.changes.desc-degrees", len(objects), b.minX, b.maxX, b.minY, b.maxY)
		}
		return v, frame
	}
	v.Desc = i18n.T(ctx, "datasets.map.desc-metres", len(shapes), whole(b.minX), whole(b.maxX), whole(b.minY), whole(b.maxY))
	v.Note = i18n.T(ctx, "datasets.map.note-metres", v.ScaleLabel, whole(b.minX), whole(b.maxX), whole(b.minY), whole(b.maxY))
	if len(objects) > 0 {
		v.Desc = i18n.T(ctx, "datasets.changes.desc-metres", len(objects), whole(b.minX), whole(b.maxX), whole(b.minY), whole(b.maxY))
	}
	return v, frame
}

// box is the rectangle around areas and objects, in their coordinates.
type box struct{ minX, minY, maxX, maxY float64 }

func boxOf(areas []*area.Area, objects []*area.Shape) box {
	b := box{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	take := func(minX, minY, maxX, maxY float64) {
		b = box{min(b.minX, minX), min(b.minY, minY), max(b.maxX, maxX), max(b.maxY, maxY)}
	}
	for _, a := range areas {
		take(a.Bounds())
	}
	for _, o := range objects {
		take(o.Bounds())
	}
	return b
}

// drawGrid adds lines as far apart as the scale bar is long. Those of the national grid are at round coordinates and say
// which, in whole metres; those in degrees are only squares, as a degree is not as long in both directions.
func drawGrid(ctx context.Context, v *ui.MapView, b box, crs area.CRS, metres, pixels float64) {
	line := func(middle, size, at, up, labels float64) []ui.MapLine {
		var lines []ui.MapLine
		first := math.Ceil((at-middle/pixels*metres)/metres) * metres
		for n := first; n < at+middle/pixels*metres; n += metres {
			place := middle + up*(n-at)/metres*pixels
			if place < 30 || place > size-20 {
				continue
			}
			label := ""
			if crs == area.RD && metres >= 1 && place >= labels && place < size-mapLabel && int64(math.Round(n/metres))%int64(math.Ceil(mapLabel/pixels)) == 0 {
				label = i18n.Count(ctx, whole(n))
			}
			lines = append(lines, ui.MapLine{At: place, Label: label})
		}
		return lines
	}
	x, y := (b.minX+b.maxX)/2, (b.minY+b.maxY)/2
	if crs != area.RD {
		x, y = 0, 0
	}
	v.GridX = line(mapWidth/2, mapWidth, x, 1, 0)
	v.GridY = line(mapHeight/2, mapHeight, y, -1, mapTop)
}

// distance is a length for people.
func distance(ctx context.Context, metres float64) string {
	const decimals = 3
	switch {
	case metres >= 1000:
		return i18n.T(ctx, "datasets.map.km", i18n.From(ctx).Decimal(metres/1000, decimals))
	case metres >= 1:
		return i18n.T(ctx, "datasets.map.m", i18n.From(ctx).Decimal(metres, decimals))
	}
	return i18n.T(ctx, "datasets.map.cm", i18n.From(ctx).Decimal(metres*100, decimals))
}

func whole(n float64) int { return int(math.Round(n)) }

// extentText describes the extent of an area.
func extentText(ctx context.Context, b box, crs int64) string {
	if crs == int64(area.WGS84) {
		return i18n.T(ctx, "datasets.area.extent-degrees", b.minX, b.maxX, b.minY, b.maxY)
	}
	return i18n.T(ctx, "datasets.area.extent-metres", whole(b.minX), whole(b.maxX), whole(b.minY), whole(b.maxY))
}
