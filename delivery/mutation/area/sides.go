package area

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
