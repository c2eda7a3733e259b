package area_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/peterstace/simplefeatures/geom"

	"schakel/delivery/mutation/area"
	"schakel/store/needs"
)

// TestTouching is the truth table of the predicate.
//
// Rules: MUT-42, MUT-48.
func TestTouching(t *testing.T) {
	t.Parallel()
	a := parse(t, withHole)
	line := func(list string) string {
		return "<gml:LineString><gml:posList>" + list + "</gml:posList></gml:LineString>"
	}
	for name, c := range map[string]struct {
		gml  string
		want bool
	}{
		"point inside":                 {pointGML("155100 463100"), true},
		"point on a side":              {pointGML("155500 463000"), true},
		"point on a corner":            {pointGML("156000 464000"), true},
		"point just outside":           {pointGML("156000.001 463500"), false},
		"point in the hole":            {pointGML("155500 463500"), false},
		"point on the hole's side":     {pointGML("155400 463500"), true},
		"point on the hole's corner":   {pointGML("155400 463400"), true},
		"point beside, as high as one": {pointGML("154000 463400"), false},
		"line in the hole":             {line("155450 463450 155550 463550"), false},
		"line in the hole to its side": {line("155450 463450 155600 463500"), true},
		"line along a side":            {line("154000 463000 157000 463000"), true},
		"line by a corner":             {line("155000 465000 157000 463000"), true},
		"line past a corner":           {line("155000 465000.001 157000 463000.001"), false},
		"line through everything":      {line("154000 463500 157000 463500"), true},
		"line wholly inside":           {line("155100 463100 155200 463200"), true},
		"polygon in the hole":          {polygonGML("155450 463450,155550 463450,155550 463550,155450 463450"), false},
		"polygon that fills the hole":  {polygonGML("155400 463400,155600 463400,155600 463600,155400 463600,155400 463400"), true},
		"polygon around everything":    {polygonGML("150000 460000,160000 460000,160000 470000,150000 470000,150000 460000"), true},
		"the area is in its hole":      {polygonGML("150000 460000,160000 460000,160000 470000,150000 470000,150000 460000", "154000 462000,157000 462000,157000 465000,154000 465000,154000 462000"), false},
		"the area fills its hole":      {polygonGML("150000 460000,160000 460000,160000 470000,150000 470000,150000 460000", "155000 463000,156000 463000,156000 464000,155000 464000,155000 463000"), true},
		"polygon shares a side":        {polygonGML("156000 463000,157000 463000,157000 464000,156000 464000,156000 463000"), true},
		"polygon shares a corner":      {polygonGML("156000 464000,157000 464000,157000 465000,156000 464000"), true},
		"polygon a millimetre away":    {polygonGML("156000.001 463000,157000 463000,157000 464000,156000.001 464000,156000.001 463000"), false},
		"the area itself":              {polygonGML("155000 463000,156000 463000,156000 464000,155000 464000,155000 463000", "155400 463400,155400 463600,155600 463600,155600 463400,155400 463400"), true},
		"far away":                     {polygonGML("100000 400000,100001 400000,100001 400001,100000 400000"), false},
	} {
		if got, err := holds(t, a, state(t, c.gml)); err != nil || got != c.want {
			t.Errorf("%s: %v %v", name, got, err)
		}
	}
}

// TestMeetsAsTheLibrary holds the predicate against a geometry library, over figures on a coarse raster, where sides
// and corners are shared all the time and the library's arithmetic is exact too.
//
// Rules: MUT-42, MUT-48.
func TestMeetsAsTheLibrary(t *testing.T) {
	needs.Unraced(t)
	t.Parallel()
	seen := map[bool]int{}
	for seed := range uint64(150) {
		random := rand.New(rand.NewPCG(seed, 1))
		size := []int{4, 8, 30}[seed%3]
		wkt := randomArea(random, size)
		a := parse(t, wkt)
		oracle, err := geom.UnmarshalWKT(wkt)
		must(t, err)
		for range 60 {
			other, gml := randomShape(random, size)
			got, err := holds(t, a, state(t, gml))
			must(t, err)
			if want := geom.Intersects(oracle, other); got != want {
				t.Fatalf("%s and %s: %v, the library says %v", wkt, other.AsText(), got, want)
			}
			seen[got]++
		}
	}
	if seen[true] < 1000 || seen[false] < 1000 {
		t.Errorf("not much of a test: %v", seen)
	}
}

// position is a point of the raster, in metres.
func position(x, y int) string { return fmt.Sprintf("%d %d", 150000+x, 450000+y) }

// star is a ring around a middle, or what fails to be one.
func star(random *rand.Rand, size, x, y, radius int) []string {
	type corner struct{ x, y int }
	var corners []corner
	for n := 3 + random.IntN(8); n > 0 || len(corners) == 0; n-- {
		c := corner{x + random.IntN(2*radius+1) - radius, y + random.IntN(2*radius+1) - radius}
		c.x, c.y = max(0, min(size, c.x)), max(0, min(size, c.y))
		if (c.x != x || c.y != y) && !slices.Contains(corners, c) {
			corners = append(corners, c)
		}
	}
	slices.SortFunc(corners, func(a, b corner) int {
		if one, two := math.Atan2(float64(a.y-y), float64(a.x-x)), math.Atan2(float64(b.y-y), float64(b.x-x)); one != two {
			return int(math.Copysign(1, one-two))
		}
		return 0
	})
	var out []string
	for _, c := range corners {
		out = append(out, position(c.x, c.y))
	}
	return append(out, out[0])
}

// randomArea tries until there is a valid area: one or two polygons, often with a hole.
func randomArea(random *rand.Rand, size int) string {
	for {
		var polygons []string
		for range 1 + random.IntN(2) {
			x, y := random.IntN(size), random.IntN(size)
			rings := []string{"(" + strings.Join(star(random, size, x, y, size), ",") + ")"}
			if random.IntN(2) == 0 {
				rings = append(rings, "("+strings.Join(star(random, size, x, y, max(1, size/4)), ",")+")")
			}
			polygons = append(polygons, "("+strings.Join(rings, ",")+")")
		}
		wkt := "MULTIPOLYGON(" + strings.Join(polygons, ",") + ")"
		_, library := geom.UnmarshalWKT(wkt)
		if _, err := area.Parse(wkt, area.Options{Dataset: area.RD}); err == nil && library == nil {
			return wkt
		}
	}
}

// randomShape gives a point, line or polygon, in the raster or around it.
func randomShape(random *rand.Rand, size int) (geom.Geometry, string) {
	for {
		var wkt, gml string
		x, y := random.IntN(size+4)-2, random.IntN(size+4)-2
		switch random.IntN(4) {
		case 0:
			wkt, gml = "POINT("+position(x, y)+")", pointGML(position(x, y))
		case 1:
			list := []string{position(x, y), position(x+1+random.IntN(3), y), position(random.IntN(size), random.IntN(size))}
			wkt = "LINESTRING(" + strings.Join(list, ",") + ")"
			gml = "<gml:LineString><gml:posList>" + strings.Join(list, " ") + "</gml:posList></gml:LineString>"
		default:
			x, y = max(0, min(size, x)), max(0, min(size, y))
			ring := strings.Join(star(random, size, x, y, 1+random.IntN(size)), ",")
			wkt, gml = "POLYGON(("+ring+"))", polygonGML(ring)
			if random.IntN(2) == 0 {
				hole := strings.Join(star(random, size, x, y, 1+random.IntN(max(1, size/3))), ",")
				wkt, gml = "POLYGON(("+ring+"),("+hole+"))", polygonGML(ring, hole)
			}
		}
		g, err := geom.UnmarshalWKT(wkt)
		if err == nil && strings.HasPrefix(wkt, "POLYGON") {
			_, err = area.Parse(wkt, area.Options{Dataset: area.RD})
		}
		if err == nil {
			return g, gml
		}
	}
}

// TestValidAsTheLibrary: nothing is accepted that the library refuses, and next to nothing the other way around.
//
// Rules: MUT-40.
func TestValidAsTheLibrary(t *testing.T) {
	t.Parallel()
	random, seen := rand.New(rand.NewPCG(5, 6)), map[bool]int{}
	for range 4000 {
		size := 3 + random.IntN(6)
		rings := []string{"(" + strings.Join(star(random, size, size/2, size/2, size), ",") + ")"}
		for range random.IntN(3) {
			rings = append(rings, "("+strings.Join(star(random, size, random.IntN(size), random.IntN(size), 1), ",")+")")
		}
		wkt := "POLYGON(" + strings.Join(rings, ",") + ")"
		_, library := geom.UnmarshalWKT(wkt)
		_, err := area.Parse(wkt, area.Options{Dataset: area.RD})
		if library != nil && err == nil {
			t.Fatalf("%s: %v; the library says %v", wkt, err, library)
		}
		if library == nil && err != nil && !strings.Contains(err.Error(), "the hole does not lie inside the polygon") {
			t.Fatalf("%s: %v; the library accepts it", wkt, err) // it takes holes outside that touch the ring with their first point
		}
		seen[err == nil]++
	}
	if seen[true] < 300 || seen[false] < 300 {
		t.Errorf("not much of a test: %v", seen)
	}
}
