package area

import "math"

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
