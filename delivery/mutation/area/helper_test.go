package area_test

import (
	"fmt"
	"strings"
	"testing"

	"schakel/delivery/mutation/area"
	"schakel/delivery/mutation/format"
	"schakel/store/needs"
)

func parse(t testing.TB, text string) *area.Area {
	t.Helper()
	a, err := area.Parse(text, area.Options{Dataset: area.RD})
	if err != nil {
		t.Fatalf("%.200s: %v", text, err)
	}
	return a
}

// state wraps GML in an object with the usual prefixes.
func state(t testing.TB, gml string) *format.State {
	t.Helper()
	doc := `<d:o xmlns:d="urn:d" xmlns:gml="http://www.opengis.net/gml/3.2" xmlns:xlink="http://www.w3.org/1999/xlink">` +
		"<d:Perceel>" + gml + "</d:Perceel></d:o>"
	s, err := format.ParseState("s", []byte(doc))
	if err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	return s
}

// polygonGML writes rings, each as in WKT, as a Polygon.
func polygonGML(rings ...string) string {
	var out strings.Builder
	out.WriteString("<gml:Polygon>")
	for i, r := range rings {
		side := "exterior"
		if i > 0 {
			side = "interior"
		}
		fmt.Fprintf(&out, "<gml:%s><gml:LinearRing><gml:posList>%s</gml:posList></gml:LinearRing></gml:%s>", side, strings.ReplaceAll(r, ",", " "), side)
	}
	out.WriteString("</gml:Polygon>")
	return out.String()
}

func pointGML(position string) string {
	return "<gml:Point><gml:pos>" + position + "</gml:pos></gml:Point>"
}

// holds asks a filter of one area whether a state lies in it.
func holds(t testing.TB, a *area.Area, s *format.State) (bool, error) {
	t.Helper()
	f, err := area.NewFilter(area.Config{Fields: area.Fields{CRS: a.CRS()}, Areas: []*area.Area{a}})
	must(t, err)
	return f.Holds(s)
}

// sample reads one of PDOK's files.
func sample(t testing.TB, name string) []byte {
	t.Helper()
	return needs.File(t, "mutation", name)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
