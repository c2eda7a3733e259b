package area

import "math"

// mostPairs bounds the work of looking for crossings; only figures made to be slow need as much.
const mostPairs = 200_000_000

// crossings looks for sides that meet where they may not, and names the first such pair it finds. Rings may touch each
// other in single points; what that makes of the polygon is judged elsewhere.
func (ps Polygons) crossings() error {
	edges := ps.edges()
	b := ps.allBox()
	cols, rows := squares(b, 2*len(edges))
	g := newGrid(edges, b, cols, rows)
	pairs := 0
	for n := range g.cols * g.rows {
		list := g.cell(n)
		if pairs += len(list) * (len(list) - 1) / 2; pairs > mostPairs {
			return refuse("simplify it to fewer vertices", "the sides run too close together to be checked")
		}
		for i, one := range list {
			for _, other := range list[i+1:] {
				if err := edges[one].against(&edges[other]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// allBox holds the holes too: nothing is known yet about where they are.
func (ps Polygons) allBox() box {
	b := noBox()
	for _, p := range ps {
		for _, r := range p {
			for _, q := range r {
				b.take(q)
			}
		}
	}
	return b
}

// against judges a pair of sides.
func (e *edge) against(f *edge) error {
	if !meet(e.a, e.b, f.a, f.b) {
		return nil
	}
	if e.polygon != f.polygon || e.ring != f.ring {
		return e.foreign(f)
	}
	if e.vertex > f.vertex {
		e, f = f, e
	}
	if f.vertex == e.vertex+1 || e.vertex == 0 && f.vertex == f.vertices-1 {
		return nil // neighbours, which share a corner
	}
	return e.fault("remove the loop, or make it a polygon of its own",
		"the side from here meets the side from vertex %d of the same ring, near %v %v", f.vertex+1, f.a.X, f.a.Y)
}

// foreign judges sides of two rings, which meet: they may touch in a point.
func (e *edge) foreign(f *edge) error {
	a, b := orient(e.a, e.b, f.a), orient(e.a, e.b, f.b)
	what := "crosses"
	if a == 0 && b == 0 {
		if !overlap(e, f) {
			return nil
		}
		what = "runs along"
	} else if a*b >= 0 || orient(f.a, f.b, e.a)*orient(f.a, f.b, e.b) >= 0 {
		return nil
	}
	remedy := "put the hole inside the outer ring, or merge holes that meet"
	if e.polygon != f.polygon {
		remedy = "merge the two polygons into one"
	}
	return e.fault(remedy, "the side from here %s the side from vertex %d of polygon %d, ring %d, near %v %v",
		what, f.vertex+1, f.polygon+1, f.ring+1, f.a.X, f.a.Y)
}

func (e *edge) fault(remedy, what string, args ...any) error {
	return refuse(remedy, what, args...).at(int(e.polygon), int(e.ring), int(e.vertex))
}

// spike reports whether a line comes back from b the way it went.
func spike(a, b, c Point) bool {
	return orient(a, b, c) == 0 && ((a.X-b.X)*(c.X-b.X) > 0 || (a.Y-b.Y)*(c.Y-b.Y) > 0)
}

// overlap reports whether two segments on one line share more than a point.
func overlap(e, f *edge) bool {
	lowX, highX := max(min(e.a.X, e.b.X), min(f.a.X, f.b.X)), min(max(e.a.X, e.b.X), max(f.a.X, f.b.X))
	lowY, highY := max(min(e.a.Y, e.b.Y), min(f.a.Y, f.b.Y)), min(max(e.a.Y, e.b.Y), max(f.a.Y, f.b.Y))
	return lowX < highX || lowY < highY
}

// sides holds every side against all rings together: with outer rings anticlockwise and holes clockwise, what is to the
// left of a side must be inside and what is to the right outside. That tells holes that lie outside, holes and polygons
// in one another, and rings that cross in a corner. It comes after crossings.
func (ps Polygons) sides() error {
	edges := ps.canonicalWay().edges()
	slabs := newGrid(edges, ps.allBox(), 1, slabRows(edges))
	work := 0
	for i, e := range edges {
		if e.a.Y == e.b.Y {
			continue // the half line to the right tells nothing of these; each ring has others
		}
		odd, seen := crossed(slabs, edges, i)
		if work += seen; work > mostPairs {
			return refuse("simplify it to fewer vertices", "the sides run too close together to be checked")
		}
		if up := e.b.Y > e.a.Y; odd == up {
			return e.misplaced()
		}
	}
	return nil
}

// crossed reports whether the half line to the right from a side crosses an odd number of others. It starts at a point of
// the side where no other ring touches; the first one tried is nearly always good.
func crossed(slabs *grid, edges []edge, i int) (odd bool, work int) {
	e := &edges[i]
	for _, part := range []float64{0.41421356, 0.5, 0.7320508} {
		m := Point{e.a.X + part*(e.b.X-e.a.X), e.a.Y + part*(e.b.Y-e.a.Y)}
		list := slabs.cell(slabs.row(m.Y))
		work += len(list)
		odd = false
		touched := false
		for _, n := range list {
			if int(n) != i {
				crosses, touches := ray(m, edges[n].a, edges[n].b)
				odd, touched = odd != crosses, touched || touches
			}
		}
		if !touched {
			break
		}
	}
	return odd, work
}

func (e *edge) misplaced() error {
	if e.ring > 0 {
		return refuse("put holes inside the outer ring and apart from each other", "the hole does not lie inside the polygon, or lies in another hole").
			at(int(e.polygon), int(e.ring), -1)
	}
	return refuse("merge polygons that overlap into one, and put holes inside", "the polygon lies in another, or meets one of its own holes wrongly").
		at(int(e.polygon), int(e.ring), -1)
}

// canonicalWay turns outer rings anticlockwise and holes clockwise, and leaves all else as it is.
func (ps Polygons) canonicalWay() Polygons {
	out := make(Polygons, len(ps))
	for i, p := range ps {
		for n, r := range p {
			out[i] = append(out[i], r.turned(n == 0))
		}
	}
	return out
}

func slabRows(edges []edge) int { return max(16, min(len(edges), 1<<16)) }

// orient tells on which side of the line from a to b a point c is: 1 left, -1 right, 0 on it. It is exact for
// plausible coordinates: where rounding could decide, the sum is done without any.
func orient(a, b, c Point) int {
	left := (a.X - c.X) * (b.Y - c.Y)
	right := (a.Y - c.Y) * (b.X - c.X)
	det := left - right
	if left > 0 && right <= 0 || left < 0 && right >= 0 || left == 0 {
		return signOf(det) // each product has the right sign, so their difference has too
	}
	// The bound of J.R. Shewchuk's adaptive predicates: (3 + 16e)e for e = 2^-53.
	if bound := 3.3306690738754716e-16 * math.Abs(left+right); det > bound || -det > bound {
		return signOf(det)
	}
	return orientExactly(a, b, c)
}

func signOf(v float64) int {
	switch {
	case v > 0:
		return 1
	case v < 0:
		return -1
	}
	return 0
}

// orientExactly adds up the six products of the determinant as an expansion: a list of numbers that do not overlap,
// whose exact sum is the outcome, so that the last one has its sign.
func orientExactly(a, b, c Point) int {
	var e expansion
	e.product(a.X, b.Y)
	e.product(-a.X, c.Y)
	e.product(-c.X, b.Y)
	e.product(-a.Y, b.X)
	e.product(a.Y, c.X)
	e.product(c.Y, b.X)
	for i := e.n - 1; i >= 0; i-- {
		if e.parts[i] != 0 {
			return signOf(e.parts[i])
		}
	}
	return 0
}

type expansion struct {
	parts [12]float64
	n     int
}

// product adds x*y: the rounded product, and what rounding it left off.
func (e *expansion) product(x, y float64) {
	p := x * y
	e.add(math.FMA(x, y, -p))
	e.add(p)
}

func (e *expansion) add(v float64) {
	for i := range e.n {
		v, e.parts[i] = twoSum(v, e.parts[i])
	}
	e.parts[e.n] = v
	e.n++
}

// twoSum gives the rounded sum and what rounding left off.
func twoSum(a, b float64) (total, rest float64) {
	total = a + b
	bigger := total - a
	rest = (a - (total - bigger)) + (b - bigger)
	return total, rest
}

// between reports whether a point on the line through a and b lies between them, ends included.
func between(a, b, p Point) bool {
	return min(a.X, b.X) <= p.X && p.X <= max(a.X, b.X) && min(a.Y, b.Y) <= p.Y && p.Y <= max(a.Y, b.Y)
}

// meet reports whether two segments share a point, ends included. A segment may be a single point.
func meet(a, b, c, d Point) bool {
	if max(a.X, b.X) < min(c.X, d.X) || max(c.X, d.X) < min(a.X, b.X) ||
		max(a.Y, b.Y) < min(c.Y, d.Y) || max(c.Y, d.Y) < min(a.Y, b.Y) {
		return false
	}
	c1, d1 := orient(a, b, c), orient(a, b, d)
	if c1*d1 > 0 {
		return false
	}
	a1, b1 := orient(c, d, a), orient(c, d, b)
	if c1*d1 < 0 && a1*b1 < 0 {
		return true
	}
	return c1 == 0 && between(a, b, c) || d1 == 0 && between(a, b, d) ||
		a1 == 0 && between(c, d, a) || b1 == 0 && between(c, d, b)
}
