package area_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"schakel/delivery/mutation/area"
)

// TestMadeToBeSlow: a comb of long slanting teeth has nothing wrong with it but that every side is beside all others.
// It is refused before it has taken long.
func TestMadeToBeSlow(t *testing.T) {
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
	if err != nil {
		t.Fatal(err)
	}
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
