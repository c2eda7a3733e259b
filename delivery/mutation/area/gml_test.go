package area_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"schakel/delivery/mutation/area"
	"schakel/delivery/mutation/format"
)

// boxArea is a square in RD.
func boxArea(t testing.TB, x, y, size float64) *area.Area {
	t.Helper()
	return parse(t, fmt.Sprintf("POLYGON((%[1]v %[2]v,%[3]v %[2]v,%[3]v %[4]v,%[1]v %[4]v,%[1]v %[2]v))", x, y, x+size, y+size))
}

// TestGeometries finds one and the same place in every kind of geometry: all touch the square of a metre at
// 155010,463010, and none the one at 155050,463050.
//
// Rules: MUT-42.
func TestGeometries(t *testing.T) {
	t.Parallel()
	near, far := boxArea(t, 155009.5, 463009.5, 1), boxArea(t, 155050, 463050, 1)
	square := "155010 463010 155020 463010 155020 463020 155010 463020 155010 463010"
	ring := "<gml:LinearRing><gml:posList>" + square + "</gml:posList></gml:LinearRing>"
	patch := "<gml:PolygonPatch><gml:exterior>" + ring + "</gml:exterior></gml:PolygonPatch>"
	polygon := "<gml:Polygon><gml:exterior>" + ring + "</gml:exterior></gml:Polygon>"
	segment := func(list string) string {
		return "<gml:LineStringSegment><gml:posList>" + list + "</gml:posList></gml:LineStringSegment>"
	}
	curve := func(segments string) string {
		return "<gml:Curve><gml:segments>" + segments + "</gml:segments></gml:Curve>"
	}
	member := func(name, inner string) string { return "<gml:" + name + ">" + inner + "</gml:" + name + ">" }
	for name, gml := range map[string]string{
		"Point":                 pointGML("155010 463010"),
		"Point, three numbers":  `<gml:Point srsDimension="3"><gml:pos>155010 463010 7.5</gml:pos></gml:Point>`,
		"Point by coordinates":  "<gml:Point><gml:coordinates>155010,463010</gml:coordinates></gml:Point>",
		"Point with metadata":   "<gml:Point><gml:description>x</gml:description><gml:name>y</gml:name><gml:pos>155010 463010</gml:pos></gml:Point>",
		"MultiPoint":            member("MultiPoint", member("pointMember", pointGML("155090 463010"))+member("pointMember", pointGML("155010 463010"))),
		"MultiPoint, members":   member("MultiPoint", member("pointMembers", pointGML("155090 463010")+pointGML("155010 463010"))),
		"LineString":            "<gml:LineString><gml:posList>155000 463000 155020 463020</gml:posList></gml:LineString>",
		"LineString of pos":     "<gml:LineString><gml:pos>155000 463000</gml:pos><gml:pos>155020 463020</gml:pos></gml:LineString>",
		"LineString of points":  "<gml:LineString><gml:pointProperty>" + pointGML("155000 463000") + "</gml:pointProperty><gml:pos>155020 463020</gml:pos></gml:LineString>",
		"LineString, old":       "<gml:LineString><gml:coordinates>155000,463000,1\n155020,463020,1</gml:coordinates></gml:LineString>",
		"LineString, 3D":        `<gml:LineString srsName="EPSG:7415"><gml:posList>155000 463000 1 155020 463020 2</gml:posList></gml:LineString>`,
		"posList, 3D":           `<gml:LineString><gml:posList srsDimension="3" count="2">155000 463000 1 155020 463020 2</gml:posList></gml:LineString>`,
		"posList, 3D, counted":  `<gml:LineString><gml:posList count="2">155000 463000 1 155020 463020 2</gml:posList></gml:LineString>`,
		"posList, 3D, not said": `<gml:LineString srsName="EPSG:28992"><gml:posList>155000 463000 1 155015 463015 2 155020 463020 2 155030 463020 1</gml:posList></gml:LineString>`,
		"posList, 2D, compound": `<gml:LineString srsName="urn:ogc:def:crs,crs:EPSG::28992,crs:EPSG::5709"><gml:posList>155000 463000 155015 463015 155020 463020</gml:posList></gml:LineString>`,
		"posList, 3D, compound": `<gml:LineString srsName="EPSG:28992+5709"><gml:posList>155000 463000 1 155015 463015 2</gml:posList></gml:LineString>`,
		"text in pieces":        "<gml:LineString><gml:posList>155000 4630<!-- -->00&#32;155020<![CDATA[ 463020]]></gml:posList></gml:LineString>",
		"Curve":                 curve(segment("155000 463000 155005 463000") + segment("155005 463000 155010 463010")),
		"CompositeCurve":        member("CompositeCurve", member("curveMember", curve(segment("155000 463000 155005 463000")))+member("curveMember", "<gml:LineString><gml:posList>155005 463000 155010 463010</gml:posList></gml:LineString>")),
		"Arc":                   curve("<gml:Arc><gml:posList>155005 463005 155010 463010 155015 463005</gml:posList></gml:Arc>"),
		"ArcString":             curve(`<gml:ArcString><gml:posList>154995 463005 155000 463010 155005 463005 155010 463010 155015 463005</gml:posList></gml:ArcString>`),
		"Circle":                curve("<gml:Circle><gml:posList>155005 463005 155015 463015 155015 463005</gml:posList></gml:Circle>") + pointGML("155010 463010"),
		"ArcByCenterPoint":      curve(`<gml:ArcByCenterPoint numArc="1"><gml:pos>155000 463010</gml:pos><gml:radius uom="m">10</gml:radius><gml:startAngle uom="deg">-30</gml:startAngle><gml:endAngle uom="deg">30</gml:endAngle></gml:ArcByCenterPoint>`),
		"CircleByCenterPoint":   curve(`<gml:CircleByCenterPoint numArc="1"><gml:pointProperty>` + pointGML("155000 463010") + `</gml:pointProperty><gml:radius uom="urn:ogc:def:uom:EPSG::9001">10</gml:radius></gml:CircleByCenterPoint>`),
		"MultiCurve":            member("MultiCurve", member("curveMember", curve(segment("155010 463010 155020 463030")))),
		"Polygon":               polygon,
		"Polygon, GML 2":        "<gml:Polygon><gml:outerBoundaryIs>" + ring + "</gml:outerBoundaryIs></gml:Polygon>",
		"Polygon of a Ring":     "<gml:Polygon><gml:exterior><gml:Ring>" + member("curveMember", curve(segment("155010 463010 155020 463010 155020 463020"))) + member("curveMember", `<gml:OrientableCurve orientation="-"><gml:baseCurve>`+curve(segment("155010 463010 155010 463020 155020 463020"))+"</gml:baseCurve></gml:OrientableCurve>") + "</gml:Ring></gml:exterior></gml:Polygon>",
		"Polygon of arcs":       "<gml:Polygon><gml:exterior><gml:Ring>" + member("curveMember", curve("<gml:Arc><gml:posList>155010 463010 155015 463015 155020 463010</gml:posList></gml:Arc>"+segment("155020 463010 155010 463010"))) + "</gml:Ring></gml:exterior></gml:Polygon>",
		"Surface":               member("Surface", member("patches", patch)),
		"CompositeSurface":      member("CompositeSurface", member("surfaceMember", polygon)+member("surfaceMember", member("Surface", member("patches", patch)))),
		"MultiSurface":          member("MultiSurface", member("surfaceMember", polygon)),
		"MultiSurface, members": member("MultiSurface", member("surfaceMembers", polygon+polygon)),
		"MultiGeometry":         member("MultiGeometry", member("geometryMember", polygon)+member("geometryMember", pointGML("155030 463030"))),
		"Solid":                 member("Solid", member("exterior", member("CompositeSurface", member("surfaceMember", polygon)))),
		"in latitude first":     `<gml:Point srsName="urn:ogc:def:crs:EPSG::4326"><gml:pos>` + degrees(true) + "</gml:pos></gml:Point>",
		"in CRS84":              `<gml:Point srsName="http://www.opengis.net/def/crs/OGC/1.3/CRS84"><gml:pos>` + degrees(false) + "</gml:pos></gml:Point>",
		"system inherited":      `<gml:MultiPoint srsName="http://www.opengis.net/def/crs/EPSG/0/4258">` + member("pointMember", pointGML(degrees(true))) + "</gml:MultiPoint>",
		"system of Envelope":    `<gml:boundedBy><gml:Envelope srsName="urn:ogc:def:crs:EPSG::4326"><gml:lowerCorner>0 0</gml:lowerCorner></gml:Envelope></gml:boundedBy>` + pointGML(degrees(true)),
	} {
		s := state(t, gml)
		if in, err := holds(t, near, s); !in || err != nil {
			t.Errorf("%s: not near: %v", name, err)
		}
		if in, err := holds(t, far, s); in || err != nil {
			t.Errorf("%s: far too: %v", name, err)
		}
	}
}

// degrees holds 155010,463010 in longitude and latitude.
func degrees(latitudeFirst bool) string {
	lat, lon := 52.15517440+10*3235.65389e-5/3600, 5.38720621+10*5260.52916e-5/3600
	if latitudeFirst {
		return fmt.Sprintf("%.9f %.9f", lat, lon)
	}
	return fmt.Sprintf("%.9f %.9f", lon, lat)
}

// TestBrokenGeometry: what cannot be read is reported with its element and line, and counts as inside.
//
// Rules: MUT-42.
func TestBrokenGeometry(t *testing.T) {
	t.Parallel()
	a := boxArea(t, 155000, 463000, 1)
	for name, c := range map[string]struct{ gml, says string }{
		"no number":         {pointGML("155000 x"), `line 1, element pos: "x" is no coordinate`},
		"one number":        {pointGML("155000"), "element pos: a position of 1 numbers"},
		"no position":       {"<gml:Point/>", "element Point: a point of 0 positions"},
		"odd list":          {"<gml:LineString><gml:posList>1 2 3</gml:posList></gml:LineString>", "element posList: 3 numbers"},
		"short line":        {"<gml:LineString><gml:posList>1 2</gml:posList></gml:LineString>", "element LineString"},
		"open ring":         {polygonGML("1 1,2 1,2 2,1 2"), "the ring is not closed"},
		"short ring":        {polygonGML("1 1,2 1,1 1"), "a ring of 3 points"},
		"hole first":        {"<gml:Polygon><gml:interior/></gml:Polygon>", "element interior"},
		"two outer rings":   {strings.ReplaceAll(polygonGML("1 1,2 1,2 2,1 1", "1 1,2 1,2 2,1 1"), "interior", "exterior"), "element exterior"},
		"unknown system":    {`<gml:Point srsName="http://www.altova.com/"><gml:pos>1 2</gml:pos></gml:Point>`, "altova"},
		"unknown dimension": {`<gml:Point srsDimension="4"><gml:pos>1 2</gml:pos></gml:Point>`, "element Point"},
		"far in degrees":    {`<gml:Point srsName="EPSG:4326"><gml:pos>-68 12</gml:pos></gml:Point>`, "too far"},
		"reference":         {`<gml:MultiSurface><gml:surfaceMember xlink:href="#p"/></gml:MultiSurface>`, "element surfaceMember"},
		"unknown geometry":  {"<gml:MultiSurface><gml:surfaceMember><gml:Sphere/></gml:surfaceMember></gml:MultiSurface>", "element Sphere"},
		"unknown segment":   {"<gml:Curve><gml:segments><gml:BSpline/></gml:segments></gml:Curve>", "element BSpline"},
		"gap in a curve":    {"<gml:Curve><gml:segments><gml:LineStringSegment><gml:posList>1 1 2 2</gml:posList></gml:LineStringSegment><gml:LineStringSegment><gml:posList>3 3 4 4</gml:posList></gml:LineStringSegment></gml:segments></gml:Curve>", "does not begin where"},
		"arc of two":        {"<gml:Curve><gml:segments><gml:Arc><gml:posList>1 1 2 2</gml:posList></gml:Arc></gml:segments></gml:Curve>", "2 positions make no arc"},
		"circle on a line":  {"<gml:Curve><gml:segments><gml:Circle><gml:posList>1 1 2 2 3 3</gml:posList></gml:Circle></gml:segments></gml:Curve>", "make no circle"},
		"huge circle":       {"<gml:Curve><gml:segments><gml:CircleByCenterPoint><gml:pos>1 1</gml:pos><gml:radius>1e11</gml:radius></gml:CircleByCenterPoint></gml:segments></gml:Curve>", "too large"},
		"radius in feet":    {`<gml:Curve><gml:segments><gml:CircleByCenterPoint><gml:pos>1 1</gml:pos><gml:radius uom="ft">1</gml:radius></gml:CircleByCenterPoint></gml:segments></gml:Curve>`, "ft"},
		"elements in text":  {"<gml:Point><gml:pos><b/></gml:pos></gml:Point>", "element b"},
		"comma as decimal":  {`<gml:Point><gml:coordinates decimal="," cs=" ">1,5 2,5</gml:coordinates></gml:Point>`, "decimal"},
	} {
		in, err := holds(t, a, state(t, c.gml))
		var wrong *area.GeometryError
		if !in || !errors.As(err, &wrong) || !errors.Is(err, area.ErrGeometry) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v %v, want it to say %q", name, in, err, c.says)
		}
	}
	s := state(t, "\n\n"+pointGML("x y"))
	s.Line = 40
	if _, err := holds(t, a, s); err == nil || !strings.HasPrefix(err.Error(), "line 42, element pos") {
		t.Error(err)
	}
}

// TestReaderGoesOn: one reader reads states one after the other, whatever was wrong with the one before.
func TestReaderGoesOn(t *testing.T) {
	t.Parallel()
	r := area.NewReader(area.Fields{CRS: area.RD, Keys: []string{"code"}})
	good := pointGML("155010 463010") + "<d:code> GM1 </d:code>"
	for i, c := range []struct {
		xml string
		bad bool
	}{
		{good, false}, {pointGML("x y") + "<d:code>GM1</d:code>", true}, {good, false}, {"<d:code>GM<!-- --><b>1</b></d:code>", false}, {good, false},
	} {
		shape, keys, err := r.Read(state(t, c.xml))
		if (err != nil) != c.bad || len(keys) != 1 || keys[0] != "GM1" || shape.Empty() == strings.Contains(c.xml, "155010") {
			t.Errorf("%d: %v %v %v", i, shape.Empty(), keys, err)
		}
	}
	if _, _, err := r.Read(&format.State{XML: []byte("<d:a><b></d:a>")}); !errors.Is(err, area.ErrGeometry) {
		t.Error(err)
	}
	if _, keys, err := r.Read(state(t, good)); err != nil || len(keys) != 1 {
		t.Error(keys, err)
	}
}

// TestElements: only geometry below the elements of the dataset counts.
//
// Rules: MUT-42.
func TestElements(t *testing.T) {
	t.Parallel()
	a := boxArea(t, 155009, 463009, 2)
	s := state(t, "<d:label>"+pointGML("155010 463010")+"</d:label><d:vlak>"+pointGML("100000 400000")+"</d:vlak>")
	for name, c := range map[string]struct {
		elements []string
		want     bool
	}{"all": {nil, true}, "label": {[]string{"label"}, true}, "vlak": {[]string{"vlak"}, false}, "both": {[]string{"vlak", "label"}, true}, "none there": {[]string{"x"}, false}} {
		f, err := area.NewFilter(area.Config{Fields: area.Fields{CRS: area.RD, Geometry: c.elements}, Areas: []*area.Area{a}})
		must(t, err)
		if in, err := f.Holds(s); in != c.want || err != nil {
			t.Errorf("%s: %v %v", name, in, err)
		}
	}
}

// TestArcDeviation measures how far the lines made of an arc stay from it.
func TestArcDeviation(t *testing.T) {
	t.Parallel()
	for _, radius := range []float64{0.01, 0.5, 10, 1000, 100000} {
		gml := fmt.Sprintf(`<gml:Curve><gml:segments><gml:CircleByCenterPoint><gml:pos>155000 463000</gml:pos><gml:radius uom="m">%v</gml:radius></gml:CircleByCenterPoint></gml:segments></gml:Curve>`, radius)
		r := area.NewReader(area.Fields{CRS: area.RD})
		shape, _, err := r.Read(state(t, gml))
		must(t, err)
		worst := 0.0
		points := area.PointsOf(shape)
		for i := 1; i < len(points); i++ {
			x, y := (points[i].X+points[i-1].X)/2-155000, (points[i].Y+points[i-1].Y)/2-463000
			worst = max(worst, math.Abs(math.Hypot(x, y)-radius))
		}
		if worst > 0.001+1e-9 {
			t.Errorf("radius %v: %v m off with %d points", radius, worst, len(points))
		}
	}
}

// TestSamples reads the geometry of real payloads of BGT, DKK and BAG.
//
// Rules: MUT-04, MUT-42.
func TestSamples(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in, out *area.Area
		broken  bool
	}{
		"voorbeeld-bgt-new.xml":        {boxArea(t, 154706, 464058, 7), boxArea(t, 154720, 464058, 7), false},
		"voorbeeld-bgt-new-change.xml": {boxArea(t, 133240, 398134, 9), boxArea(t, 133260, 398134, 9), false},
		"voorbeeld-dkk-new.xml":        {boxArea(t, 178485, 317859, 1), boxArea(t, 178460, 317850, 1), false},
		"voorbeeld-dkk-2.2.0-new.xml":  {boxArea(t, 194065, 471820, 1), nil, false},
		"voorbeeld-bag-new.xml":        {boxArea(t, 194065, 471820, 1), nil, true},
	} {
		r := format.NewReader(name, strings.NewReader(string(sample(t, name))), format.Limits{})
		g, err := r.Next()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		kept := 0
		for ; err == nil; g, err = r.Next() {
			for i := range g.Mutations {
				in, failed := holds(t, c.in, g.Mutations[i].Wordt)
				if (failed != nil) != c.broken {
					t.Errorf("%s: %v", name, failed)
				}
				if in {
					kept++
				}
				if c.out == nil {
					continue
				}
				if in, failed := holds(t, c.out, g.Mutations[i].Wordt); in || failed != nil {
					t.Errorf("%s: outside: %v %v", name, in, failed)
				}
			}
		}
		if kept == 0 {
			t.Errorf("%s: nothing inside", name)
		}
	}
}
