package area

import (
	"cmp"
	"math"
	"slices"
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

// points counts all points of the rings.
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
		slices.SortFunc(rings[1:], compareRings)
		out[i] = rings
	}
	slices.SortFunc(out, func(a, b Polygon) int { return slices.CompareFunc(a, b, compareRings) })
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
