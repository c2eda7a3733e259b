package area

import (
	"cmp"
	"math"
	"slices"

	"schakel/registry/sorted"
)

// Point is a position: x and y in RD, longitude and latitude in WGS84.
type Point struct{ X, Y float64 }

// Ring is a closed line: its last point is its first.
type Ring []Point

// Polygon is an outer ring and any holes.
type Polygon []Ring

// Polygons is a number of polygons that do not overlap.
type Polygons []Polygon

// box is a rectangle; an empty one has its minimum above its maximum.
type box struct{ minX, minY, maxX, maxY float64 }

func noBox() box { return box{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)} }

// take widens a box to a point. It compares by hand: min and max take several times as long, for NaN, which no
// coordinate is.
func (b *box) take(p Point) {
	if p.X < b.minX {
		b.minX = p.X
	}
	if p.X > b.maxX {
		b.maxX = p.X
	}
	if p.Y < b.minY {
		b.minY = p.Y
	}
	if p.Y > b.maxY {
		b.maxY = p.Y
	}
}

func boxOf(points []Point) box {
	b := noBox()
	for _, p := range points {
		b.take(p)
	}
	return b
}

func (b box) meets(c box) bool {
	return b.minX <= c.maxX && c.minX <= b.maxX && b.minY <= c.maxY && c.minY <= b.maxY
}

// plausible reports whether a number can be a coordinate. What is beyond would spoil the exact arithmetic.
func plausible(v float64) bool {
	abs := math.Abs(v)
	return abs <= 1e12 && (abs >= 1e-60 || v == 0)
}

func (ps Polygons) points() int {
	n := 0
	for _, p := range ps {
		for _, r := range p {
			n += len(r)
		}
	}
	return n
}

func (ps Polygons) box() box {
	b := noBox()
	for _, p := range ps {
		for _, q := range p[0] {
			b.take(q)
		}
	}
	return b
}

func comparePoints(a, b Point) int {
	return cmp.Or(cmp.Compare(a.X, b.X), cmp.Compare(a.Y, b.Y))
}

// canonical gives the one way in which the same polygons are written: each ring starts at its leftmost, lowest point,
// outer rings go anticlockwise and holes clockwise, and holes and polygons stand in order.
func (ps Polygons) canonical() Polygons {
	out := make(Polygons, len(ps))
	for i, p := range ps {
		rings := make(Polygon, len(p))
		for n, r := range p {
			rings[n] = r.canonical(n == 0)
		}
		sorted.By(rings[1:], compareRings)
		out[i] = rings
	}
	sorted.By(out, func(a, b Polygon) int { return slices.CompareFunc(a, b, compareRings) })
	return out
}

func compareRings(a, b Ring) int { return slices.CompareFunc(a, b, comparePoints) }

// canonical starts a ring at its least point and turns it.
func (r Ring) canonical(anticlockwise bool) Ring {
	r = r.turned(anticlockwise)
	open, least := r[:len(r)-1], r.least()
	out := append(append(make(Ring, 0, len(r)), open[least:]...), open[:least]...)
	return append(out, out[0])
}

// least finds the leftmost, lowest point.
func (r Ring) least() int {
	least := 0
	for i, p := range r {
		if comparePoints(p, r[least]) < 0 {
			least = i
		}
	}
	return least
}

// turned makes a ring go one way around. Which way it goes shows at its least point, which no rounding can spoil.
func (r Ring) turned(anticlockwise bool) Ring {
	open, least := r[:len(r)-1], r.least()
	before, after := open[(least+len(open)-1)%len(open)], open[(least+1)%len(open)]
	if orient(before, open[least], after) > 0 == anticlockwise {
		return r
	}
	out := slices.Clone(r)
	slices.Reverse(out)
	return out
}

// Shape is the geometry of a state: any number of points, lines and polygons, in the dataset's system. It serves to be
// held against an area, and is good until its [Reader] reads again.
type Shape struct {
	points []Point
	parts  []part
}

// part is a run of points. The holes of a polygon follow its outer ring.
type part struct {
	kind     partKind
	from, to int
}

type partKind uint8

const (
	pointPart partKind = iota + 1
	linePart
	outerPart
	holePart
)

// Empty tells that a state has no geometry.
func (s *Shape) Empty() bool { return len(s.parts) == 0 }

func (s *Shape) reset() { s.points, s.parts = s.points[:0], s.parts[:0] }

func (s *Shape) of(p part) []Point { return s.points[p.from:p.to] }

// meets reports whether any part shares a point with the area.
func (x *index) meets(s *Shape) bool {
	for i := 0; i < len(s.parts); {
		next := i + 1
		for next < len(s.parts) && s.parts[next].kind == holePart {
			next++
		}
		if x.meetsPart(s, s.parts[i:next]) {
			return true
		}
		i = next
	}
	return false
}

// meetsPart judges a point, a line, or a polygon with its holes.
func (x *index) meetsPart(s *Shape, parts []part) bool {
	points := s.of(parts[0])
	if parts[0].kind == pointPart {
		for _, p := range points {
			if x.covers(p) {
				return true
			}
		}
		return false
	}
	bounds := boxOf(points)
	switch x.block(bounds) {
	case cellIn:
		return true
	case cellOut:
		return false
	}
	for _, p := range parts {
		if x.touchedBy(s.of(p)) {
			return true
		}
	}
	// Nothing crosses: the whole is in or out of the area, or an outer ring goes around some of it.
	return x.covers(points[0]) || parts[0].kind == outerPart && x.inside(s, parts, bounds)
}

func (x *index) touchedBy(line []Point) bool {
	for i := 1; i < len(line); i++ {
		if x.touched(line[i-1], line[i]) {
			return true
		}
	}
	return false
}

// inside reports whether a polygon of the area lies in the polygon, given that their boundaries do not meet.
func (x *index) inside(s *Shape, parts []part, bounds box) bool {
	from, _ := slices.BinarySearchFunc(x.outer, Point{bounds.minX, bounds.minY}, comparePoints)
	for _, corner := range x.outer[from:] {
		if corner.X > bounds.maxX {
			return false
		}
		if corner.Y < bounds.minY || corner.Y > bounds.maxY {
			continue
		}
		in := false
		for _, p := range parts {
			ring := s.of(p)
			for i := 1; i < len(ring); i++ {
				crosses, _ := ray(corner, ring[i-1], ring[i])
				in = in != crosses
			}
		}
		if in {
			return true
		}
	}
	return false
}
