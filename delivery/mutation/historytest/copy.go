package historytest

import (
	"encoding/xml"
	"fmt"
	"sort"
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
