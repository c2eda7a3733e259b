package area

import "slices"

// What a cell of an index holds.
const (
	cellOut   uint8 = iota // nothing of the area
	cellIn                 // nothing but the area
	cellMixed              // the boundary may come through
)

// index answers whether geometry and an area meet. It is not changed once made.
type index struct {
	edges []edge
	cells *grid
	kinds []uint8 // of each cell
	slabs *grid   // one column of many rows, to find which side of the boundary a point is on
	outer []Point // a corner of each polygon, from left to right
}

func newIndex(ps Polygons) *index {
	x := &index{edges: ps.edges()}
	b := ps.box()
	cols, rows := squares(b, min(max(4096, 4*len(x.edges)), 1<<18))
	x.cells = newGrid(x.edges, b, cols, rows)
	x.slabs = newGrid(x.edges, b, 1, slabRows(x.edges))
	for _, p := range ps {
		x.outer = append(x.outer, p[0][0])
	}
	slices.SortFunc(x.outer, comparePoints)
	x.classify()
	return x
}

// classify finds out what each cell holds. Between neighbours without boundary nothing can change.
func (x *index) classify() {
	g := x.cells
	x.kinds = make([]uint8, g.cols*g.rows)
	for n := range x.kinds {
		row, col := n/g.cols, n%g.cols
		switch {
		case len(g.cell(n)) > 0:
			x.kinds[n] = cellMixed
		case col > 0 && x.kinds[n-1] != cellMixed:
			x.kinds[n] = x.kinds[n-1]
		case x.locate(Point{g.minX + (float64(col)+0.5)/g.perX, g.minY + (float64(row)+0.5)/g.perY}):
			x.kinds[n] = cellIn
		}
	}
}

// covers reports whether a point lies in the area or on its boundary.
func (x *index) covers(p Point) bool {
	g := x.cells
	if p.X < g.minX || p.X > g.maxX || p.Y < g.minY || p.Y > g.maxY {
		return false
	}
	if kind := x.kinds[g.row(p.Y)*g.cols+g.col(p.X)]; kind != cellMixed {
		return kind == cellIn
	}
	return x.locate(p)
}

// locate counts how often the boundary is crossed on the way to the right.
func (x *index) locate(p Point) bool {
	inside := false
	for _, n := range x.slabs.cell(x.slabs.row(p.Y)) {
		crosses, touches := ray(p, x.edges[n].a, x.edges[n].b)
		if touches {
			return true
		}
		inside = inside != crosses
	}
	return inside
}

// ray reports whether the half line from p to the right crosses a side, of which the upper end does not count, and
// whether p lies on it.
func ray(p, a, b Point) (crosses, touches bool) {
	above, other := a.Y > p.Y, b.Y > p.Y
	if above == other {
		if above || a.Y < p.Y && b.Y < p.Y {
			return false, false
		}
		return false, between(a, b, p) && orient(a, b, p) == 0
	}
	if p.X > a.X && p.X > b.X {
		return false, false
	}
	if p.X < a.X && p.X < b.X {
		return true, false
	}
	side := orient(a, b, p)
	return side > 0 == other && side != 0, side == 0
}

// block looks at all cells that a box touches. It gives cellMixed when they do not decide.
func (x *index) block(b box) uint8 {
	g := x.cells
	if !b.meets(g.box) {
		return cellOut
	}
	within := b.minX >= g.minX && b.maxX <= g.maxX && b.minY >= g.minY && b.maxY <= g.maxY
	from, to, top := g.col(b.minX), g.col(b.maxX), g.row(b.maxY)
	first := x.kinds[g.row(b.minY)*g.cols+from]
	if first == cellMixed || first == cellIn && !within {
		return cellMixed
	}
	for row := g.row(b.minY); row <= top; row++ {
		for _, kind := range x.kinds[row*g.cols+from : row*g.cols+to+1] {
			if kind != first {
				return cellMixed
			}
		}
	}
	return first
}

// touched reports whether a segment meets the boundary.
func (x *index) touched(a, b Point) bool {
	g := x.cells
	if max(a.X, b.X) < g.minX || min(a.X, b.X) > g.maxX || max(a.Y, b.Y) < g.minY || min(a.Y, b.Y) > g.maxY {
		return false
	}
	return !g.rowsOf(a, b, func(row, from, to int) bool {
		for n := row*g.cols + from; n <= row*g.cols+to; n++ {
			for _, e := range g.cell(n) {
				if meet(a, b, x.edges[e].a, x.edges[e].b) {
					return false
				}
			}
		}
		return true
	})
}
