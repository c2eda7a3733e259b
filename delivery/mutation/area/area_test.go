package area_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/peterstace/simplefeatures/geom"
	"schakel/delivery/mutation/area"
	"schakel/store/needs"
)

const withHole = "POLYGON((155000 463000,156000 463000,156000 464000,155000 464000,155000 463000)," +
	"(155400 463400,155400 463600,155600 463600,155600 463400,155400 463400))"

// TestWKTIsTheBoundary reads areas in all their spellings: the same area has one text, which makes an equal area again.
//
// Rules: MUT-40, MUT-41.
func TestWKTIsTheBoundary(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"as it comes out":  withHole,
		"with SRID":        "SRID=28992;" + withHole,
		"from an editor":   "\ufeff" + withHole,
		"small letters":    "srid=28992; polygon ( ( 155000 463000, 156000 463000,156000 464000,155000 464000,155000 463000) ,(155400 463400,155400 463600,155600 463600,155600 463400,155400 463400) ) ",
		"other way around": "POLYGON((155000 463000,155000 464000,156000 464000,156000 463000,155000 463000),(155400 463400,155600 463400,155600 463600,155400 463600,155400 463400))",
		"other start":      "POLYGON((156000 464000.0,155000 464000,155000 463000,156000 463000,156000 464000),(155600 463400,155400 463400,155400 463600,155600 463600,155600 463400))",
		"with height":      "POLYGON Z((155000 463000 1,156000 463000 2,156000 464000 3,155000 464000 4,155000 463000 1),(155400 463400 0,155400 463600 0,155600 463600 0,155600 463400 0,155400 463400 0))",
		"repeated points":  "POLYGON((155000 463000,155000 463000,156000 463000,156000 464000,155000 464000,155000 463000),(155400 463400,155400 463600,155600 463600,155600 463400,155400 463400))",
		"in a MULTI":       "MULTIPOLYGON(" + strings.TrimPrefix(withHole, "POLYGON") + ")",
		"old GeoJSON":      `{"type":"Polygon","crs":{"type":"name","properties":{"name":"urn:ogc:def:crs:EPSG::28992"}},"coordinates":[[[155000,463000],[156000,463000],[156000,464000],[155000,464000],[155000,463000]],[[155400,463400],[155400,463600],[155600,463600],[155600,463400],[155400,463400]]]}`,
	} {
		a := parse(t, text)
		if a.WKT() != withHole {
			t.Errorf("%s: %s", name, a.WKT())
		}
		if again := parse(t, a.WKT()); !again.Equal(a) || again.WKT() != a.WKT() || again.Digest() != a.Digest() {
			t.Errorf("%s: the text makes another area", name)
		}
	}
	a := parse(t, withHole)
	if x, y, x2, y2 := a.Bounds(); x != 155000 || y != 463000 || x2 != 156000 || y2 != 464000 || a.Vertices() != 10 {
		t.Errorf("bounds %v %v %v %v, %d vertices", x, y, x2, y2, a.Vertices())
	}
}

// TestGeoJSONInAndOut converts an area of longitude and latitude to RD and back.
//
// Rules: MUT-40, MUT-41.
func TestGeoJSONInAndOut(t *testing.T) {
	t.Parallel()
	polygon := `{"type":"Polygon","coordinates":[[[5.3,52.1],[5.4,52.1],[5.4,52.2],[5.3,52.1]]]}`
	want := parse(t, polygon)
	for name, text := range map[string]string{
		"Feature":           `{"type":"Feature","properties":{"a":[1]},"geometry":` + polygon + `}`,
		"FeatureCollection": `{"type":"FeatureCollection","features":[{"type":"Feature","properties":null,"geometry":` + polygon + `}]}`,
		"MultiPolygon":      `{"type":"MultiPolygon","coordinates":[[[[5.3,52.1,3],[5.4,52.1,3],[5.4,52.2,3],[5.3,52.1,3]]]]}`,
		"WKT":               "SRID=4326;POLYGON((5.3 52.1,5.4 52.1,5.4 52.2,5.3 52.1))",
	} {
		if a := parse(t, text); !a.Equal(want) {
			t.Errorf("%s: %s, want %s", name, a.WKT(), want.WKT())
		}
	}
	out := want.GeoJSON()
	if string(out) != string(parse(t, want.WKT()).GeoJSON()) {
		t.Error("not the same bytes")
	}
	g, err := geom.UnmarshalGeoJSON(feature(t, out))
	must(t, err)
	ring := g.MustAsPolygon().ExteriorRing().Coordinates()
	for i, p := range []geom.XY{{X: 5.3, Y: 52.1}, {X: 5.4, Y: 52.1}, {X: 5.4, Y: 52.2}, {X: 5.3, Y: 52.1}} {
		if got := ring.GetXY(i); math.Abs(got.X-p.X) > 3e-6 || math.Abs(got.Y-p.Y) > 2e-6 {
			t.Errorf("vertex %d is %v, want %v", i, got, p)
		}
	}
	multi := parse(t, "MULTIPOLYGON(((1 400000,5 400000,5 400005,1 400000)),((11 400000,15 400000,15 400005,11 400000),(13 400001,14 400001,14 400002,13 400001)))")
	if g, err = geom.UnmarshalGeoJSON(feature(t, multi.GeoJSON())); err != nil || g.MustAsMultiPolygon().NumPolygons() != 2 {
		t.Error(err)
	}
}

func feature(t *testing.T, raw []byte) []byte {
	t.Helper()
	var f struct {
		Type     string
		Geometry json.RawMessage
	}
	if err := json.Unmarshal(raw, &f); err != nil || f.Type != "Feature" {
		t.Fatalf("%v in %s", err, raw)
	}
	return f.Geometry
}

// TestRefused gives areas that cannot be used: what is said names the ring and the vertex, and what to do.
//
// Rules: MUT-40, MUT-51.
func TestRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, says string }{
		"nothing":         {"", "POLYGON"},
		"a point":         {"POINT(1 2)", "POLYGON"},
		"empty":           {"POLYGON EMPTY", "the area is empty; give a polygon"},
		"empty with Z":    {"MULTIPOLYGON Z empty", "the area is empty"},
		"no number":       {"POLYGON((155000 463000,x 463000))", "polygon 1, ring 1 (the outer one), vertex 2: number 1"},
		"not a number":    {"POLYGON((155000 463000,NaN 463000))", "vertex 2"},
		"infinite":        {"POLYGON((155000 463000,1e999 463000))", "vertex 2"},
		"cut off":         {"POLYGON((155000 463000,155000", "vertex 2"},
		"more behind":     {withHole + "x", "more text"},
		"other SRID":      {"SRID=31370;" + withHole, "SRID=31370"},
		"not closed":      {"POLYGON((155000 463000,156000 463000,156000 464000,155000 464000))", "vertex 4: the ring is not closed; repeat the first point"},
		"two points":      {"POLYGON((155000 463000,156000 463000,155000 463000))", "3 points"},
		"one corner":      {"POLYGON((155000 463000,155000 463000,155000 463000,155000 463000))", "encloses nothing"},
		"flat":            {"POLYGON((155000 463000,156000 463000,157000 463000,155000 463000))", "goes back"},
		"a spike":         {"POLYGON((155000 463000,156000 463000,156000 465000,156000 464000,155000 464000,155000 463000))", "vertex 3: the ring goes back"},
		"a bow tie":       {"POLYGON((155000 463000,156000 464000,156000 463000,155000 464000,155000 463000))", "vertex 1: the side from here meets the side from vertex 3"},
		"touches itself":  {"POLYGON((155000 463000,157000 463000,156000 464000,155500 463000,155200 464000,155000 463000))", "the same ring"},
		"hole crosses":    {"POLYGON((155000 463000,156000 463000,156000 464000,155000 464000,155000 463000),(155400 463400,155400 464600,155600 463400,155400 463400))", "crosses the side from vertex"},
		"hole outside":    {"POLYGON((155000 463000,156000 463000,156000 464000,155000 464000,155000 463000),(157000 463000,157000 463100,157100 463100,157000 463000))", "polygon 1"},
		"overlap":         {"MULTIPOLYGON(((155000 463000,157000 463000,156000 464000,155000 463000)),((155000 463500,157000 463500,156000 464500,155000 463500)))", "merge the two polygons"},
		"shared side":     {"MULTIPOLYGON(((155000 463000,156000 463000,155000 464000,155000 463000)),((155000 463000,155000 464000,154000 463000,155000 463000)))", "runs along"},
		"one in another":  {"MULTIPOLYGON(((155000 463000,158000 463000,155000 466000,155000 463000)),((155100 463100,155200 463100,155100 463200,155100 463100)))", "merge polygons that overlap"},
		"degrees as RD":   {"POLYGON((5.3 52.1,5.4 52.1,5.4 52.2,5.3 52.1))", "say SRID=4326;"},
		"metres as WGS84": {"SRID=4326;" + withHole, "say SRID=28992;"},
		"latitude first":  {"SRID=4326;POLYGON((52.1 5.3,52.1 5.4,52.2 5.4,52.1 5.3))", "longitude before latitude"},
		"far away":        {"SRID=4326;POLYGON((-68.2 12.1,-68.3 12.1,-68.3 12.2,-68.2 12.1))", "too far from the Netherlands"},
		"two features":    {`{"type":"FeatureCollection","features":[{},{}]}`, "2 features"},
		"no JSON":         {`{"type":`, "no GeoJSON"},
		"two documents":   {`{"type":"Polygon"} {}`, "more text"},
		"a line":          {`{"type":"LineString","coordinates":[[1,2],[3,4]]}`, "LineString"},
		"other crs":       {`{"type":"Polygon","crs":{"properties":{"name":"EPSG:3857"}},"coordinates":[]}`, "3857"},
		"wrong nesting":   {`{"type":"Polygon","coordinates":[[5.3,52.1]]}`, "coordinates of the Polygon"},
		"short position":  {`{"type":"Polygon","coordinates":[[[5.3,52.1],[5.3]]]}`, "vertex 2"},
		"null geometry":   {`{"type":"Feature","geometry":null}`, "is no area"},
		"deep":            {`{"type":"Feature","geometry":{"type":"Feature","geometry":{"type":"Feature","geometry":{"type":"Feature"}}}}`, "Feature in a Feature"},
	} {
		_, err := area.Parse(c.text, area.Options{Dataset: area.RD})
		var wrong *area.Error
		if !errors.As(err, &wrong) || !errors.Is(err, area.ErrArea) || wrong.Remedy == "" && name != "" || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want it to say %q", name, err, c.says)
		}
	}
	if _, err := area.Parse(withHole, area.Options{Dataset: area.RD, Vertices: 9}); err == nil || !strings.Contains(err.Error(), "9 vertices") {
		t.Error(err)
	}
	if _, err := area.Parse(withHole, area.Options{}); err == nil {
		t.Error("an area of a dataset without geometry")
	}
	parse(t, "POLYGON((155000 463000,156000 463000,156000 464000,155000 464000,155000 463000),(155000 463000,155400 463600,155600 463400,155000 463000))")
}

// TestKeys makes areas of keys.
//
// Rules: MUT-40.
func TestKeys(t *testing.T) {
	t.Parallel()
	a, err := area.NewKeys([]string{"GM0363", " GM0014\n", "GM0363", "gm0014", `a"b<`})
	must(t, err)
	if got := strings.Join(a.Keys(), "|"); got != `GM0014|GM0363|a"b<|gm0014` || a.Text() != `["GM0014","GM0363","a\"b<","gm0014"]` {
		t.Errorf("%s, %s", got, a.Text())
	}
	if !a.Holds("GM0014") || a.Holds("GM00") || a.Kind() != area.Keys || a.WKT() != "" || a.GeoJSON() != nil {
		t.Error("wrong about itself")
	}
	for name, keys := range map[string][]string{
		"none": nil, "empty": {"a", " "}, "long": {strings.Repeat("x", 201)}, "control": {"a\x00b"}, "no text": {"\xff"},
		"many": numbers(10_001),
	} {
		if _, err := area.NewKeys(keys); !errors.Is(err, area.ErrArea) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func numbers(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = strconv.Itoa(i)
	}
	return out
}

// TestLineage: the same filter keeps its lineage, however it is put; anything else has another.
//
// Rules: MUT-38, MUT-49.
func TestLineage(t *testing.T) {
	t.Parallel()
	dataset := uuid.MustParse("7a2c9f6e-5d0b-4c7e-9f5a-0d3b1c2e4f60")
	a, b := parse(t, withHole), parse(t, "POLYGON((155000 463000,156000 463000,156000 464000,155000 463000))")
	base := area.Lineage(dataset, []*area.Area{a, b}, []string{"Perceel", "pand"})
	if base != area.Lineage(dataset, []*area.Area{b, parse(t, "SRID=28992;"+withHole)}, []string{"pand", "perceel", "Pand"}) {
		t.Error("the same filter has another lineage")
	}
	if base.Version() != 5 || area.Lineage(dataset, nil, nil) != dataset {
		t.Error("not as documented")
	}
	for name, other := range map[string]uuid.UUID{
		"area":    area.Lineage(dataset, []*area.Area{a}, []string{"Perceel", "pand"}),
		"types":   area.Lineage(dataset, []*area.Area{a, b}, nil),
		"dataset": area.Lineage(uuid.Nil, []*area.Area{a, b}, []string{"Perceel", "pand"}),
	} {
		if other == base {
			t.Errorf("another %s has the same lineage", name)
		}
	}
}

// TestMadeToBeSlow: a comb of long slanting teeth has nothing wrong with it but that every side is beside all others.
// It is refused before it has taken long.
func TestMadeToBeSlow(t *testing.T) {
	needs.Unraced(t)
	t.Parallel()
	teeth := 49_990
	var comb strings.Builder
	comb.WriteString("POLYGON((")
	for i := range teeth {
		fmt.Fprintf(&comb, "10000 %.2f,250000 %.2f,", 300000+float64(i)*2, 400000+float64(i)*2+1)
	}
	fmt.Fprintf(&comb, "5000 %d,5000 300000,10000 300000))", 300000+teeth*2)
	_, err := area.Parse(comb.String(), area.Options{Dataset: area.RD})
	if !errors.Is(err, area.ErrArea) || !strings.Contains(err.Error(), "too close together") {
		t.Error(err)
	}
	if _, err := area.Parse(strings.Repeat(" ", 9<<20), area.Options{Dataset: area.RD}); !errors.Is(err, area.ErrArea) {
		t.Error(err)
	}
}

// TestManyPolygons: thousands of polygons, and as many holes, are found each.
//
// Rules: MUT-40, MUT-42.
func TestManyPolygons(t *testing.T) {
	t.Parallel()
	corner := func(i int) (x, y int) { return 150000 + i%50*100, 450000 + i/50*100 }
	var polygons, holes []string
	for i := range 2000 {
		x, y := corner(i)
		ring := fmt.Sprintf("(%d %d,%d %d,%d %d,%[1]d %[2]d)", x, y, x+50, y, x+50, y+50)
		polygons, holes = append(polygons, "("+ring+")"), append(holes, ring)
	}
	many := parse(t, "MULTIPOLYGON("+strings.Join(polygons, ",")+")")
	rest := parse(t, "POLYGON((140000 440000,160000 440000,160000 460000,140000 460000,140000 440000),"+strings.Join(holes, ",")+")")
	for i := 0; i < 2000; i += 37 {
		x, y := corner(i)
		for gml, want := range map[string][2]bool{
			pointGML(fmt.Sprintf("%d %d", x+40, y+10)): {true, false}, pointGML(fmt.Sprintf("%d %d", x+10, y+40)): {false, true},
			pointGML(fmt.Sprintf("%d %d", x+20, y+20)):                                                   {true, true},
			polygonGML(fmt.Sprintf("%d %d,%d %d,%d %d,%[1]d %[2]d", x-10, y-10, x+90, y-10, x+60, y+90)): {true, true},
			polygonGML(fmt.Sprintf("%d %d,%d %d,%d %d,%[1]d %[2]d", x+30, y+10, x+40, y+10, x+40, y+15)): {true, false},
		} {
			for n, a := range []*area.Area{many, rest} {
				if in, err := holds(t, a, state(t, gml)); in != want[n] || err != nil {
					t.Fatalf("%d, %s: %v %v", i, gml, in, err)
				}
			}
		}
	}
}

// TestDatasetInDegrees: areas and states in RD are converted for a dataset in longitude and latitude.
//
// Rules: MUT-40, MUT-41, MUT-42.
func TestDatasetInDegrees(t *testing.T) {
	t.Parallel()
	a, err := area.Parse("SRID=28992;POLYGON((155000 463000,156000 463000,156000 464000,155000 464000,155000 463000))", area.Options{Dataset: area.WGS84})
	must(t, err)
	if !strings.HasPrefix(a.WKT(), "POLYGON((5.387206211 52.1551744") && !strings.HasPrefix(a.WKT(), "POLYGON((5.38720621 52.1551744") || a.CRS() != area.WGS84 {
		t.Error(a.WKT())
	}
	if again, err := area.Parse(a.WKT(), area.Options{Dataset: area.WGS84}); err != nil || !again.Equal(a) {
		t.Error(err)
	}
	for gml, want := range map[string]bool{
		`<gml:Point srsName="EPSG:28992"><gml:pos>155500 463500</gml:pos></gml:Point>`:                 true,
		`<gml:Point srsName="EPSG:28992"><gml:pos>156500 463500</gml:pos></gml:Point>`:                 false,
		`<gml:Point srsName="urn:ogc:def:crs:EPSG::4326"><gml:pos>52.157 5.39</gml:pos></gml:Point>`:   true,
		`<gml:Point srsName="EPSG:4326"><gml:pos>5.39 52.157</gml:pos></gml:Point>`:                    true,
		`<gml:Point><gml:pos>5.39 52.157</gml:pos></gml:Point>`:                                        true,
		`<gml:Point srsName="urn:ogc:def:crs:EPSG::4326"><gml:pos>52.157 5.43</gml:pos></gml:Point>`:   false,
		`<gml:Point srsName="urn:ogc:def:crs:EPSG::4326"><gml:pos>12.157 -68.43</gml:pos></gml:Point>`: false,
	} {
		if in, err := holds(t, a, state(t, gml)); in != want || err != nil {
			t.Errorf("%s: %v %v", gml, in, err)
		}
	}
}

// TestJoin: what files say of areas can be read again.
//
// Rules: MUT-41.
func TestJoin(t *testing.T) {
	t.Parallel()
	o := area.Options{Dataset: area.RD}
	for _, text := range []string{
		"POLYGON((155000 463000,155100 463000,155100 463100,155000 463000))",
		"INTERSECTION(POLYGON((155000 463000,155100 463000,155100 463100,155000 463000)), MULTIPOLYGON(((155000 463000,155100 463000,155100 463100,155000 463000)),((155200 463000,155300 463000,155300 463100,155200 463000))))",
		`["0344","0363"]`,
	} {
		list, err := area.Split(text, o)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		again, err := area.Split(area.Join(list), o)
		if err != nil || len(again) != len(list) || area.Join(again) != area.Join(list) {
			t.Errorf("%s became %s, %v", text, area.Join(list), err)
		}
	}
	if area.Join(nil) != "" {
		t.Error("no area has a text")
	}
	for _, wrong := range []string{"49446,49447", "INTERSECTION(", "INTERSECTION(POLYGON((1 2)), 3)", "[1]"} {
		if _, err := area.Split(wrong, o); !errors.Is(err, area.ErrArea) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}
