package historytest

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"schakel/delivery/mutation/format"
)

// Digest tells two states apart by their fields.
func Digest(s *format.State) string {
	sum, err := s.Digest()
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("%x", sum)
}

// Copy lists the content of an exact copy: a line "type id digest" for each version, sorted. keep selects versions; nil
// is all.
func (h *History) Copy(keep func(*format.State) bool) []string {
	lines := []string{}
	for _, o := range h.objects {
		for _, v := range o.versions {
			if s := h.state(v); keep == nil || keep(s) {
				lines = append(lines, Line(o.kind, o.id, s))
			}
		}
	}
	sort.Strings(lines)
	return lines
}

// Line is one line of a copy.
func Line(kind, id string, s *format.State) string { return kind + " " + id + " " + Digest(s) }

// Header is one for files of this source.
func (h *History) Header(dataset string, kind format.DeliveryType, delivery string) format.Header {
	return format.Header{
		Root: format.Name{Prefix: "r", Space: Namespace, Local: "mutaties"}, Dataset: dataset, Type: kind,
		DeliveryID: delivery, ObjectTypes: Types(),
	}
}

// xml is the version as its source writes it.
func (v version) xml(filling string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<r:%s xmlns:r="%s"><r:identificatie>%s</r:identificatie><r:begin>%s</r:begin>`, v.kind, Namespace, v.object, date(v.begin))
	if v.end > 0 {
		fmt.Fprintf(&b, `<r:eind>%s</r:eind>`, date(v.end))
	}
	b.WriteString(`<r:naam>`)
	_ = xml.EscapeText(&b, []byte(v.name+filling))
	fmt.Fprintf(&b, `</r:naam><r:status>%s</r:status><r:gemeente>%04d</r:gemeente>`, v.status, int(v.x)%7)
	if v.inactive {
		b.WriteString(`<r:inactief>ja</r:inactief>`)
	}
	if v.size > 0 {
		fmt.Fprintf(&b, `<r:vlak><gml:Polygon xmlns:gml="http://www.opengis.net/gml/3.2" srsName="urn:ogc:def:crs:EPSG::28992"><gml:exterior><gml:LinearRing><gml:posList>%s</gml:posList></gml:LinearRing></gml:exterior></gml:Polygon></r:vlak>`, v.square())
	}
	fmt.Fprintf(&b, `</r:%s>`, v.kind)
	return b.String()
}

func (v version) square() string {
	l, b, r, t := v.x, v.y, v.x+v.size, v.y+v.size
	return fmt.Sprintf("%.3f %.3f %.3f %.3f %.3f %.3f %.3f %.3f %.3f %.3f", l, b, r, b, r, t, l, t, l, b)
}

// date is a day, counted from 1 January 2020; days are within some centuries.
func date(day int) string {
	return fmt.Sprintf("%04d-%02d-%02d", 2020+day/336, 1+day/28%12, 1+day%28)
}

// ReadCopy reads a copy as its users see it, from its view: a line for each version, as [History.Copy] gives it.
func ReadCopy(ctx context.Context, db *sql.DB, view string) ([]string, error) {
	rows, err := db.QueryContext(ctx, `SELECT object_type, object_id, xml, namespaces FROM "`+view+`"`)
	if err != nil {
		return nil, fmt.Errorf("read copy: %w", err)
	}
	defer rows.Close()
	lines := []string{}
	for rows.Next() {
		var kind, id, xml, around string
		if err := rows.Scan(&kind, &id, &xml, &around); err != nil {
			return nil, fmt.Errorf("read copy: %w", err)
		}
		s, err := parse(xml, around)
		if err != nil {
			return nil, err
		}
		lines = append(lines, Line(kind, id, s))
	}
	slices.Sort(lines)
	return lines, rows.Err()
}

func parse(xml, around string) (*format.State, error) {
	var declared map[string]string
	if err := json.Unmarshal([]byte(around), &declared); err != nil {
		return nil, fmt.Errorf("read namespaces: %w", err)
	}
	var list []format.Namespace
	for prefix, uri := range declared {
		list = append(list, format.Namespace{Prefix: prefix, URI: uri})
	}
	return format.ParseState("", []byte(xml), list...)
}

// Difference shows the first line in which two copies differ, or is empty.
func Difference(got, want []string) string {
	for i := range max(len(got), len(want)) {
		g, w := "nothing", "nothing"
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			return fmt.Sprintf("%d versions, want %d; at %d: %s, want %s", len(got), len(want), i, g, w)
		}
	}
	return ""
}

// Frame is an upright rectangle, in metres of EPSG:28992.
type Frame struct{ Left, Bottom, Right, Top float64 }

// Ring is an area between two frames, the inner one a hole. It is simple enough to be told without geometry, so that a
// filter can be held against it.
type Ring struct{ Outer, Hole Frame }

// WKT writes the area.
func (r Ring) WKT() string { return "POLYGON(" + r.Outer.corners() + "," + r.Hole.corners() + ")" }

func (f Frame) corners() string {
	return fmt.Sprintf("(%g %g,%g %g,%g %g,%g %g,%g %g)", f.Left, f.Bottom, f.Right, f.Bottom, f.Right, f.Top, f.Left, f.Top, f.Left, f.Bottom)
}

// Inside reports whether a state of a history lies in the area; touching counts, and without geometry it does not.
func (r Ring) Inside(s *format.State) bool {
	sq, ok := squareOf(s)
	if !ok || sq.Right < r.Outer.Left || sq.Left > r.Outer.Right || sq.Top < r.Outer.Bottom || sq.Bottom > r.Outer.Top {
		return false
	}
	inHole := sq.Left > r.Hole.Left && sq.Right < r.Hole.Right && sq.Bottom > r.Hole.Bottom && sq.Top < r.Hole.Top
	return !inHole
}

// squareOf reads the square of a state as it was written, to the millimetre.
func squareOf(s *format.State) (Frame, bool) {
	_, rest, found := bytes.Cut(s.XML, []byte("<gml:posList>"))
	if !found {
		return Frame{}, false
	}
	text, _, _ := bytes.Cut(rest, []byte("</gml:posList>"))
	var n [10]float64
	for i, word := range strings.Fields(string(text)) {
		n[i], _ = strconv.ParseFloat(word, 64)
	}
	return Frame{n[0], n[1], n[4], n[5]}, true
}
