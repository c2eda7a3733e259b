package area

import (
	"math"
	"testing"

	"schakel/delivery/mutation/format"
)

// TestConvertKnownPoints holds the conversion against points whose coordinates in both systems are published.
func TestConvertKnownPoints(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ rd, wgs Point }{
		"Amersfoort":              {Point{155000, 463000}, Point{5.38720621, 52.15517440}},
		"Amsterdam, Westertoren":  {Point{120700.723, 487525.502}, Point{4.88352559, 52.37453253}},
		"Groningen, Martinitoren": {Point{233883.131, 582065.167}, Point{6.56820053, 53.21938317}},
	} {
		got := toRD(c.wgs)
		if d := math.Hypot(got.X-c.rd.X, got.Y-c.rd.Y); d > 0.25 {
			t.Errorf("%s: to RD is %.3f m off: %v", name, d, got)
		}
		back := toWGS84(c.rd)
		if d := math.Hypot((back.X-c.wgs.X)*68000, (back.Y-c.wgs.Y)*111300); d > 0.25 {
			t.Errorf("%s: to WGS84 is %.3f m off: %v", name, d, back)
		}
	}
}

// TestConvertThereAndBack goes over the land of the Netherlands.
func TestConvertThereAndBack(t *testing.T) {
	t.Parallel()
	worst := 0.0
	for x := 10000.0; x <= 280000; x += 10000 {
		for y := 305000.0; y <= 620000; y += 10000 {
			p := convert(convert(Point{x, y}, RD, WGS84), WGS84, RD)
			worst = max(worst, math.Hypot(p.X-x, p.Y-y))
		}
	}
	if worst > 0.25 {
		t.Errorf("there and back is %.3f m off", worst)
	}
	t.Logf("there and back is at most %.3f m off", worst)
}

func TestParseReference(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]reference{
		"urn:ogc:def:crs:EPSG::28992":                   {RD, false, 2, false},
		"urn:ogc:def:crs:EPSG:6.9:28992":                {RD, false, 2, false},
		"urn:ogc:def:crs:EPSG::4326":                    {WGS84, true, 2, false},
		"http://www.opengis.net/def/crs/EPSG/0/28992":   {RD, false, 2, false},
		"https://www.opengis.net/def/crs/EPSG/0/4258":   {WGS84, true, 2, false},
		"http://www.opengis.net/def/crs/OGC/1.3/CRS84":  {WGS84, false, 2, false},
		"urn:ogc:def:crs:OGC:1.3:CRS84":                 {WGS84, false, 2, false},
		"http://www.opengis.net/gml/srs/epsg.xml#28992": {RD, false, 2, false},
		"http://www.opengis.net/gml/srs/epsg.xml#4326":  {WGS84, false, 2, false},
		"EPSG:28992":                 {RD, false, 2, false},
		"epsg:4326":                  {WGS84, false, 2, false},
		"EPSG:7415":                  {RD, false, 3, false},
		"urn:ogc:def:crs:EPSG::7415": {RD, false, 3, false},
		"urn:ogc:def:crs,crs:EPSG::28992,crs:EPSG::5709": {RD, false, 3, false},
		"EPSG:28992+5709":                 {RD, false, 3, false},
		"urn:ogc:def:crs,crs:EPSG::28992": {RD, false, 2, false},
		"http://www.opengis.net/def/crs-compound?1=http://www.opengis.net/def/crs/EPSG/0/28992&2=http://www.opengis.net/def/crs/EPSG/0/5709": {RD, false, 3, false},
		"urn:ogc:def:crs:EPSG::4937":  {WGS84, true, 3, false},
		"http://www.altova.com/":      {},
		"urn:ogc:def:crs:EPSG::31370": {},
		"28992":                       {},
		"":                            {},
	} {
		got, err := parseReference(name)
		if got != want || (err == nil) != (want.crs != None) {
			t.Errorf("%q: %v, %v; want %v", name, got, err, want)
		}
	}
}

// TestNumber holds the fast way to read a number against the standard one.
func TestNumber(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{
		"0": 0, "-0": 0, "1": 1, "-1.5": -1.5, "133247.431": 133247.431, "52.155174400000001": 52.155174400000001,
		"3.1415926535897900073734945": 3.1415926535897900073734945, "1e3": 1000, "+7": 7, ".5": 0.5, "5.": 5,
		"123456789012": 123456789012, "0.00000000000001": 1e-14, "1234567890.123456789": 1234567890.123456789,
	} {
		if got, err := numbersIn(text); err != nil || len(got) != 1 || got[0] != want {
			t.Errorf("%s: %v %v", text, got, err)
		}
	}
	for _, text := range []string{"-", ".", "x", "1x", "NaN", "Inf", "0x10", "1e999", "1_0", "--1", "1.2.3", "1;2", "1e-70"} {
		if got, err := numbersIn(text); err == nil {
			t.Errorf("%s: read as %v", text, got)
		}
	}
	if got, err := numbersIn(" 1\n2.25\t-3 "); err != nil || len(got) != 3 || got[1] != 2.25 {
		t.Error(got, err)
	}
}

func numbersIn(text string) ([]float64, error) {
	r := NewReader(Fields{CRS: RD})
	if err := r.begin(&format.State{XML: []byte("<a/>")}); err != nil {
		return nil, err
	}
	r.text = []byte(text)
	err := r.parse(' ')
	return r.numbers, err
}
