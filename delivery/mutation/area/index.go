package area

import (
	"math"
	"slices"
)

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

// edge is a side of a ring.
type edge struct {
	a, b             Point
	polygon, ring    int32
	vertex, vertices int32 // of the ring: where it starts, and how many sides there are
}

func (ps Polygons) edges() []edge {
	out := make([]edge, 0, ps.points())
	for i, p := range ps {
		for n, r := range p {
			for k := 1; k < len(r); k++ {
				out = append(out, edge{r[k-1], r[k], int32(i), int32(n), int32(k - 1), int32(len(r) - 1)})
			}
		}
	}
	return out
}

// grid divides a box in cells and knows which edges may come through each. A point always falls in the cell whose
// list holds every edge it lies on: cells are found by the same rounding for both.
type grid struct {
	box
	cols, rows     int
	perX, perY     float64 // cells per unit
	slackX, slackY float64
	start          []int32 // of each cell's list, and the end of the last
	list           []int32 // numbers of edges
}

// newGrid makes about so many cells, or fewer when edges that run through many would make the lists too long.
func newGrid(edges []edge, b box, cols, rows int) *grid {
	for {
		g := &grid{box: b, cols: cols, rows: rows}
		g.perX, g.slackX = scale(b.minX, b.maxX, cols)
		g.perY, g.slackY = scale(b.minY, b.maxY, rows)
		if g.count(edges, 12*len(edges)+4*(cols+rows)+1000) {
			g.fill(edges)
			return g
		}
		cols, rows = max(1, cols/2), max(1, rows/2)
	}
}

// squares chooses rows and columns for cells that are about square.
func squares(b box, cells int) (cols, rows int) {
	width, height := b.maxX-b.minX, b.maxY-b.minY
	cols = 1
	if width > 0 {
		cols = 1024
		if height > 0 {
			cols = int(min(1024, max(1, math.Sqrt(float64(cells)*width/height))))
		}
	}
	return cols, max(1, min(1024, cells/cols))
}

// scale gives cells per unit, and how far rounding may be off, generously.
func scale(low, high float64, cells int) (per, slack float64) {
	slack = 1e-14 * max(math.Abs(low), math.Abs(high))
	if high <= low {
		return 0, slack
	}
	return float64(cells) / (high - low), slack + 1e-3*(high-low)/float64(cells)
}

func (g *grid) col(x float64) int { return max(0, min(g.cols-1, int((x-g.minX)*g.perX))) }
func (g *grid) row(y float64) int { return max(0, min(g.rows-1, int((y-g.minY)*g.perY))) }

// rowsOf calls visit with the cells of each row that a segment may come through, until it gives false.
func (g *grid) rowsOf(a, b Point, visit func(row, from, to int) bool) bool {
	if b.Y < a.Y {
		a, b = b, a
	}
	low, high := min(a.X, b.X), max(a.X, b.X)
	first, last := g.row(a.Y), g.row(b.Y)
	if first == last {
		return visit(first, g.col(low), g.col(high))
	}
	slope := (b.X - a.X) / (b.Y - a.Y)
	for r := first; r <= last; r++ {
		under := max(a.Y, g.minY+float64(r)/g.perY-g.slackY)
		over := min(b.Y, g.minY+float64(r+1)/g.perY+g.slackY)
		if r == first {
			under = a.Y
		}
		if r == last {
			over = b.Y
		}
		x1, x2 := a.X+(under-a.Y)*slope, a.X+(over-a.Y)*slope
		from, to := max(low, min(x1, x2)-g.slackX), min(high, max(x1, x2)+g.slackX)
		if !visit(r, g.col(from), g.col(to)) {
			return false
		}
	}
	return true
}

// count fills start with how many edges come through each cell, and gives up when there are too many.
func (g *grid) count(edges []edge, most int) bool {
	g.start = make([]int32, g.cols*g.rows+1)
	total := 0
	for i := range edges {
		fits := g.rowsOf(edges[i].a, edges[i].b, func(row, from, to int) bool {
			for c := from; c <= to; c++ {
				g.start[row*g.cols+c+1]++
			}
			total += to - from + 1
			return total <= most
		})
		if !fits && g.cols*g.rows > 1 {
			return false
		}
	}
	for i := 1; i < len(g.start); i++ {
		g.start[i] += g.start[i-1]
	}
	return true
}

func (g *grid) fill(edges []edge) {
	g.list = make([]int32, g.start[len(g.start)-1])
	next := append([]int32(nil), g.start...)
	for i := range edges {
		g.rowsOf(edges[i].a, edges[i].b, func(row, from, to int) bool {
			for c := row*g.cols + from; c <= row*g.cols+to; c++ {
				g.list[next[c]] = int32(i)
				next[c]++
			}
			return true
		})
	}
}

// cell gives the edges that may come through a cell.
func (g *grid) cell(n int) []int32 { return g.list[g.start[n]:g.start[n+1]] }
