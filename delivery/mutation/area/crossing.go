package area

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
