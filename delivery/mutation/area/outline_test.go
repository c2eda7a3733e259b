package area_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"schakel/delivery/mutation/area"
)

// TestOutline draws areas: north up, one scale for all, holes as paths of their own.
//
// Rules: MUT-41.
func TestOutline(t *testing.T) {
	t.Parallel()
	a := parse(t, withHole)
	f := area.NewFrame(500, 250, a)
	if got := f.Path(a); got != "M145 230L355 230L355 20L145 20zM229 146L229 104L271 104L271 146z" {
		t.Error(got)
	}
	if metres, pixels := f.ScaleBar(); metres != 500 || pixels != 105 {
		t.Errorf("%v m is %v pixels", metres, pixels)
	}
	around := parse(t, "POLYGON((154000 462000,158000 462000,158000 465000,154000 465000,154000 462000))")
	f = area.NewFrame(500, 250, a, around)
	if got := f.Path(a); !strings.HasPrefix(got, "M180 160L250 160L250 90L180 90z") {
		t.Errorf("in a frame with another: %s", got)
	}
	tiny := parse(t, "POLYGON((154000 462000,154001 462000,154001 462001,154000 462000))")
	if got := f.Path(tiny); !strings.HasSuffix(got, "h1v1h-1z") {
		t.Errorf("too small to see: %s", got)
	}
	keys, err := area.NewKeys([]string{"a"})
	if err != nil || area.NewFrame(100, 100, keys).Path(keys) != "" || area.NewFrame(100, 100).Path(a) == "" {
		t.Error("keys, or nothing to frame")
	}
}

// TestOutlineOfDegrees: an area in degrees looks as the same one in RD does, and far away it still is drawn.
//
// Rules: MUT-41.
func TestOutlineOfDegrees(t *testing.T) {
	t.Parallel()
	text := "SRID=4326;POLYGON((5 52,6 52,6 53,5 53,5 52))"
	degrees, err := area.Parse(text, area.Options{Dataset: area.WGS84})
	must(t, err)
	if one, other := area.NewFrame(300, 300, degrees).Path(degrees), area.NewFrame(300, 300, parse(t, text)); one != other.Path(parse(t, text)) {
		t.Errorf("%s, %s", one, other.Path(parse(t, text)))
	}
	bonaire, err := area.Parse("POLYGON((-68.4 12,-68.2 12,-68.2 12.3,-68.4 12.3,-68.4 12))", area.Options{Dataset: area.WGS84})
	must(t, err)
	f := area.NewFrame(300, 300, bonaire)
	if got := f.Path(bonaire); got != "M67.8 276L232.2 276L232.2 24L67.8 24z" {
		t.Error(got)
	}
	if metres, pixels := f.ScaleBar(); metres != 5000 || math.Abs(pixels-37.7) > 0.1 {
		t.Errorf("%v m is %v pixels", metres, pixels)
	}
}

// TestOutlineIsSmall: no more points than one can see.
func TestOutlineIsSmall(t *testing.T) {
	t.Parallel()
	a := parse(t, circle(20_000, 155000, 463000, 30_000))
	path := area.NewFrame(400, 400, a).Path(a)
	if n := strings.Count(path, "L"); n > 200 || n < 20 {
		t.Errorf("%d points", n)
	}
}

// circle is a wavy round polygon of so many corners.
func circle(corners int, x, y, radius float64) string {
	var out strings.Builder
	out.WriteString("POLYGON((")
	for i := range corners + 1 {
		angle := 2 * math.Pi * float64(i%corners) / float64(corners)
		r := radius * (1 + 0.1*math.Sin(9*angle) + 0.0005*math.Sin(300*angle))
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, "%.3f %.3f", x+r*math.Cos(angle), y+r*math.Sin(angle))
	}
	return out.String() + "))"
}
