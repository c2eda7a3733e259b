package datasets

import (
	"context"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/delivery/mutation/area"
	"schakel/delivery/mutation/export"
	"schakel/delivery/mutation/format"
	"schakel/store"
	view "schakel/templates/datasets"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// mostChanges bounds the objects of a delta that are shown; the file has all of them.
const mostChanges = 500

// object is one that a delta does something to, as it is shown.
type object struct {
	row   view.ChangeRow
	shape *area.Shape // nil when it has no geometry, or one that cannot be read
}

// deltaChangesPage shows what a delta does to an administrator, with the areas of those who follow.
func (p *Pages) deltaChangesPage(c echo.Context) error {
	d, err := p.Registry.Datasets.Get(c.Request().Context(), c.Param("dataset"))
	if err != nil {
		return err
	}
	_, areas, err := p.followerRows(c, d)
	if err != nil {
		return err
	}
	back := datasetHref(d.ID)
	page := p.Frame(c, "", ui.Crumb{Label: i18n.T(c.Request().Context(), "datasets.title"), Href: datasetPages}, ui.Crumb{Label: d.Title, Href: back})
	return p.showChanges(c, page, export.View{Dataset: d}, areas, back)
}

// ownChanges shows what a subscription gets of a delta, with its area.
func (d ownerPages) ownChanges(c echo.Context) error {
	set, reading, err := d.ownReading(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	var areas []mapArea
	if reading.Follower != nil && reading.Follower.AreaID != "" {
		row, err := d.DB.MutationArea(ctx, reading.Follower.AreaID)
		if err != nil {
			return err
		}
		areas = append(areas, mapArea{label: areaName(ctx, row), href: areaHref(d.Base, set.ID, row.ID), wkt: row.WKT})
	}
	page := d.PageFrame(c, "", ui.Crumb{Label: i18n.T(ctx, "datasets.title"), Href: d.Href("/datasets")}, ui.Crumb{Label: set.Title, Href: d.Dataset(set.ID)})
	return d.pages.showChanges(c, page, reading, areas, d.Dataset(set.ID))
}

// showChanges shows what a reader gets of the delta of the address.
func (p *Pages) showChanges(c echo.Context, page ui.Page, reading export.View, areas []mapArea, back string) error {
	ctx, set := c.Request().Context(), reading.Dataset
	o, err := p.Exporter.Delta(ctx, reading, c.Param("delta"))
	if err != nil {
		return p.notThere(c, err, back)
	}
	if !o.Ready {
		return p.notReady(c, o, back)
	}
	changes, more, err := p.Exporter.Changes(ctx, o, mostChanges)
	if err != nil {
		return err
	}
	n := o.Manifest.Counts
	v := view.ChangesView{DeltaRow: DeltaRow(set, o.Delta, p.Cfg.Now(), ""), Shown: len(changes), More: more, Now: p.Cfg.Now()}
	v.Bytes, v.DeliveryCounts = o.Manifest.Bytes, view.DeliveryCounts{Groups: n.Groups, Adds: n.Adds, Changes: n.Changes, Deletes: n.Deletes}
	objects := objectsOf(ctx, set, changes)
	for _, one := range objects {
		v.Rows = append(v.Rows, one.row)
		switch one.row.Sign {
		case ui.SignAdded:
			v.Objects.Adds++
		case ui.SignChanged:
			v.Objects.Changes++
		case ui.SignDeleted:
			v.Objects.Deletes++
		default:
			v.Passed++
		}
		if one.shape == nil && area.CRS(set.CRS) != area.None {
			v.Unplaced++
		}
	}
	title := i18n.T(ctx, "datasets.delta-number", o.Delta.Number)
	if v.Unplaced < len(objects) {
		v.Map = changesMap(ctx, set, i18n.T(ctx, "datasets.changes.map", title, set.Title), areas, objects)
	}
	paging := site.PagePaging(c)
	v.Rows, v.Pager = site.OnPage(v.Rows, paging), site.Pager(c, paging, len(v.Rows))
	page.Title = title
	page.Crumbs[len(page.Crumbs)-1].Label = title
	page.Actions = view.ChangesButton(strings.TrimSuffix(c.Request().URL.Path, "/") + "/content")
	return p.Render(c, http.StatusOK, view.ChangesPage(page, v))
}

// signs gives the sign of each kind of change.
var signs = map[format.Kind]ui.MapSign{format.Add: ui.SignAdded, format.Change: ui.SignChanged, format.Delete: ui.SignDeleted}

// objectsOf reads where the objects of changes lie.
func objectsOf(ctx context.Context, set store.Dataset, changes []export.Change) []object {
	reader := area.NewReader(area.Fields{CRS: area.CRS(set.CRS), Geometry: set.GeometryElements, Keys: set.KeyElements})
	objects := make([]object, 0, len(changes))
	for _, c := range changes {
		one := object{row: view.ChangeRow{Sign: signs[c.Kind()], Type: c.ObjectType, ObjectID: c.ObjectID}}
		shape, keys, err := reader.Read(c.State())
		one.row.Place = strings.Join(keys, ", ")
		if err == nil && !shape.Empty() {
			one.shape = shape.Clone()
			one.row.Place = placeText(ctx, one.shape, set.CRS)
		}
		objects = append(objects, one)
	}
	return objects
}

// placeText gives the coordinates of the middle of a shape.
func placeText(ctx context.Context, s *area.Shape, crs int64) string {
	minX, minY, maxX, maxY := s.Bounds()
	x, y := (minX+maxX)/2, (minY+maxY)/2
	if crs == int64(area.WGS84) {
		return i18n.T(ctx, "datasets.changes.at-degrees", x, y)
	}
	return i18n.T(ctx, "datasets.changes.at-metres", whole(x), whole(y))
}

// changesMap draws objects by what became of them, on the areas.
func changesMap(ctx context.Context, set store.Dataset, title string, areas []mapArea, objects []object) *ui.MapView {
	var shapes []*area.Shape
	for _, one := range objects {
		if one.shape != nil {
			shapes = append(shapes, one.shape)
		}
	}
	v, frame := drawMap(ctx, set, "map", title, areas, shapes)
	if v == nil {
		return nil
	}
	for _, kind := range []format.Kind{format.Add, format.Change, format.Delete} {
		m, n := ui.MapMarks{Sign: signs[kind]}, 0
		for _, one := range objects {
			if one.shape == nil || one.row.Sign != m.Sign {
				continue
			}
			n++
			m.Outline += frame.Outline(one.shape, area.CRS(set.CRS))
			m.Signs += m.Sign.At(frame.Middle(one.shape, area.CRS(set.CRS)))
		}
		if n > 0 {
			m.Label = i18n.T(ctx, "datasets.changes.key", i18n.Of(ctx, "datasets.changes", string(m.Sign)), n)
			v.Marks = append(v.Marks, m)
		}
	}
	return v
}
