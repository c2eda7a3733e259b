package area_test

import (
	"strings"
	"testing"

	"github.com/peterstace/simplefeatures/geom"

	"schakel/delivery/mutation/area"
	"schakel/delivery/mutation/format"
)

// FuzzParse reads anything as an area: what is accepted is valid, comes back from its own text, and can be used.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		withHole, "SRID=4326;POLYGON((5.3 52.1,5.4 52.1,5.4 52.2,5.3 52.1))", "POLYGON((0 300000,1 300000,1 300001,0 300000),(", "POLYGON EMPTY",
		"MULTIPOLYGON(((1 400000,5 400000,5 400005,1 400000)),((11 400000,15 400000,15 400005,11 400000),(13 400001,14 400001,14 400002,13 400001)))",
		`{"type":"Feature","geometry":{"type":"Polygon","coordinates":[[[5.3,52.1],[5.4,52.1],[5.4,52.2],[5.3,52.1]]]}}`,
		`{"type":"FeatureCollection","features":[{"type":"Feature","geometry":null}]}`, `{"type":"MultiPolygon","crs":{"properties":{"name":"EPSG:28992"}},"coordinates":[[[[1,400000],[2,400000],[2,400001],[1,400000]]]]}`,
	} {
		f.Add(text, true)
		f.Add(text, false)
	}
	f.Fuzz(func(t *testing.T, text string, rd bool) {
		dataset := area.RD
		if !rd {
			dataset = area.WGS84
		}
		a, err := area.Parse(text, area.Options{Dataset: dataset, Vertices: 1000})
		if err != nil {
			return
		}
		again, err := area.Parse(a.WKT(), area.Options{Dataset: dataset})
		if err != nil || again.WKT() != a.WKT() || !again.Equal(a) {
			t.Fatalf("%q gives %q, which gives %v", text, a.WKT(), err)
		}
		if _, err := geom.UnmarshalWKT(a.WKT()); err != nil {
			t.Fatalf("%q: %v", a.WKT(), err)
		}
		p := a.Polygons()[0][0][0]
		shape := area.PointShape(p)
		if !a.Meets(shape) {
			t.Fatalf("%q does not hold its own corner", a.WKT())
		}
		frame := area.NewFrame(100, 100, a)
		if path := frame.Path(a); !strings.HasPrefix(path, "M") || strings.ContainsAny(path, "NI") {
			t.Fatalf("%q is drawn as %q", a.WKT(), path)
		}
		if string(a.GeoJSON()) != string(again.GeoJSON()) {
			t.Fatal("two texts for one area")
		}
	})
}

// FuzzGML reads anything as geometry: no panic, and the reader goes on with the next state.
func FuzzGML(f *testing.F) {
	for _, gml := range []string{
		pointGML("155010 463010"), polygonGML("155010 463010,155020 463010,155020 463020,155010 463010", "155012 463011,155015 463012,155012 463012,155012 463011"),
		`<gml:Curve><gml:segments><gml:Arc><gml:posList>1 1 2 2 3 1</gml:posList></gml:Arc><gml:CircleByCenterPoint><gml:pos>1 1</gml:pos><gml:radius>5</gml:radius></gml:CircleByCenterPoint></gml:segments></gml:Curve>`,
		`<gml:MultiSurface srsName="urn:ogc:def:crs:EPSG::4326"><gml:surfaceMember><gml:Surface><gml:patches><gml:PolygonPatch/></gml:patches></gml:Surface></gml:surfaceMember></gml:MultiSurface>`,
		`<gml:LineString><gml:coordinates>1,2 3,4</gml:coordinates></gml:LineString>`, `<gml:OrientableCurve orientation="-"><gml:baseCurve/></gml:OrientableCurve>`,
		`<gml:Polygon><gml:exterior><gml:Ring><gml:curveMember><gml:LineString><gml:pos>1 1</gml:pos></gml:LineString></gml:curveMember></gml:Ring></gml:exterior></gml:Polygon>`,
		"</d:o></s><s><d:o>",
	} {
		f.Add(gml)
	}
	good, a := state(f, pointGML("155010 463010")), boxArea(f, 155009, 463009, 2)
	f.Fuzz(func(t *testing.T, gml string) {
		r := area.NewReader(area.Fields{CRS: area.RD, Keys: []string{"k"}})
		doc := `<d:o xmlns:d="urn:d" xmlns:gml="http://www.opengis.net/gml">` + gml + "</d:o>"
		s, err := format.ParseState("s", []byte(doc))
		if err != nil {
			s = &format.State{XML: []byte(doc)} // no XML, which states that were read never are
		}
		if shape, _, err := r.Read(s); err == nil {
			a.Meets(shape)
		}
		shape, _, err := r.Read(good)
		if err != nil || !a.Meets(shape) {
			t.Fatalf("the state behind %q: %v", gml, err)
		}
	})
}
