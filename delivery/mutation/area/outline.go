package area

import (
	"math"
	"strconv"
)

// Frame places areas on a drawing of so many pixels, north up, at one scale in both directions. Several areas in one
// frame lie over each other as they do on the ground.
type Frame struct {
	Width, Height float64
	crs           CRS     // of the plane: RD, or WGS84 for what lies too far from the Netherlands
	middle        Point   // of what is drawn, in the plane's metres
	scale         float64 // pixels to a metre
	degree        float64 // metres to a degree of longitude, when the plane is WGS84
}

// metresPerDegree is the length of a degree of latitude.
const metresPerDegree = 111_320.0

// leastAround is the least length across the shapes in a frame, in metres: a single point has no size.
const leastAround = 40.0

// NewFrame makes a frame that holds all of the areas with a margin of eight percent, in which coordinates can be read. Areas
// of keys do not count.
func NewFrame(width, height int, areas ...*Area) *Frame {
	return NewFrameOf(width, height, None, areas, nil)
}

// NewFrameOf makes a frame that also holds shapes, which are in a system.
func NewFrameOf(width, height int, crs CRS, areas []*Area, shapes []*Shape) *Frame {
	f := &Frame{Width: float64(width), Height: float64(height), crs: RD, scale: 1}
	type run struct {
		points []Point
		crs    CRS
	}
	var runs []run
	for _, a := range areas {
		for _, p := range a.shape {
			runs = append(runs, run{p[0], a.crs})
		}
	}
	for _, s := range shapes {
		runs = append(runs, run{s.points, crs})
	}
	for _, r := range runs {
		for _, q := range r.points {
			if r.crs == WGS84 {
				if !convertible(q, WGS84) {
					f.crs = WGS84
				}
				f.degree = max(f.degree, metresPerDegree*math.Cos(q.Y*math.Pi/180))
			}
		}
	}
	b, least := noBox(), 1e-6
	for _, r := range runs {
		for _, q := range r.points {
			b.take(f.plane(q, r.crs))
		}
	}
	if len(shapes) > 0 {
		least = leastAround
	}
	if b.minX <= b.maxX {
		f.middle = Point{(b.minX + b.maxX) / 2, (b.minY + b.maxY) / 2}
		f.scale = 0.84 * min(f.Width/max(b.maxX-b.minX, least), f.Height/max(b.maxY-b.minY, least))
	}
	return f
}

// plane gives metres: RD, or degrees stretched to metres at the latitude of the drawing nearest to the equator.
func (f *Frame) plane(p Point, crs CRS) Point {
	switch {
	case f.crs == RD && crs == WGS84:
		return toRD(p)
	case f.crs == RD:
		return p
	case crs == RD:
		p = toWGS84(p)
	}
	return Point{p.X * f.degree, p.Y * metresPerDegree}
}

func (f *Frame) pixel(p Point, crs CRS) Point {
	p = f.plane(p, crs)
	return Point{f.Width/2 + (p.X-f.middle.X)*f.scale, f.Height/2 - (p.Y-f.middle.Y)*f.scale}
}

// Path is the area as data of an SVG path with fill-rule evenodd, in tenths of pixels. Vertices that one could not see
// are left out; an outer ring smaller than that becomes a square of a pixel. It is empty for keys.
func (f *Frame) Path(a *Area) string {
	var out []byte
	for _, p := range a.shape {
		for n, r := range p {
			line := make([]Point, len(r))
			for i, q := range r {
				line[i] = f.pixel(q, a.crs)
			}
			out = appendPath(out, line, n == 0)
		}
	}
	return string(out)
}

func appendPath(out []byte, ring []Point, outer bool) []byte {
	b := boxOf(ring)
	if b.maxX-b.minX < 1 && b.maxY-b.minY < 1 {
		if !outer {
			return out
		}
		out = appendNumber(append(out, 'M'), (b.minX+b.maxX-1)/2)
		out = appendNumber(append(out, ' '), (b.minY+b.maxY-1)/2)
		return append(out, "h1v1h-1z"...)
	}
	command := byte('M')
	for _, p := range simplify(ring[:len(ring)-1]) {
		out = appendNumber(append(out, command), p.X)
		out = appendNumber(append(out, ' '), p.Y)
		command = 'L'
	}
	return append(out, 'z')
}

func appendNumber(out []byte, v float64) []byte {
	return strconv.AppendFloat(out, math.Round(v*10)/10+0, 'f', -1, 64)
}

// ScaleBar gives a round number of metres, 1, 2 or 5 with noughts, and its length on the drawing in pixels, which is
// up to a quarter of the width.
func (f *Frame) ScaleBar() (metres, pixels float64) {
	most := f.Width / 4 / f.scale
	metres = math.Pow(10, math.Floor(math.Log10(most)))
	for _, times := range []float64{5, 2} {
		if metres*times <= most {
			metres *= times
			break
		}
	}
	return metres, metres * f.scale
}

// tolerance limits the distance of a simplified line from the true one, in pixels.
const tolerance = 0.35

// simplify leaves out points of an open line of pixels that lie near the line without them: first those close to the
// one before, then by Douglas and Peucker's method. First and last stay.
func simplify(line []Point) []Point {
	thin := line[:0:0]
	for i, p := range line {
		if last := len(thin) - 1; i > 0 && i < len(line)-1 && near(p, thin[last]) {
			continue
		}
		thin = append(thin, p)
	}
	keep := make([]bool, len(thin))
	keep[0], keep[len(thin)-1] = true, true
	for todo := [][2]int{{0, len(thin) - 1}}; len(todo) > 0; {
		from, to := todo[len(todo)-1][0], todo[len(todo)-1][1]
		todo = todo[:len(todo)-1]
		if at := farthest(thin, from, to); at > 0 {
			keep[at] = true
			todo = append(todo, [2]int{from, at}, [2]int{at, to})
		}
	}
	out := thin[:0]
	for i, p := range thin {
		if keep[i] {
			out = append(out, p)
		}
	}
	return out
}

func near(p, q Point) bool {
	dx, dy := p.X-q.X, p.Y-q.Y
	return dx*dx+dy*dy < tolerance*tolerance/4
}

// farthest finds the point between two others that is farthest from their segment, or 0 when all are near.
func farthest(line []Point, from, to int) int {
	found, most := 0, tolerance*tolerance
	for i := from + 1; i < to; i++ {
		if d := distance(line[i], line[from], line[to]); d > most {
			found, most = i, d
		}
	}
	return found
}

// distance is the square of that of a point to a segment.
func distance(p, a, b Point) float64 {
	dx, dy := b.X-a.X, b.Y-a.Y
	if length := dx*dx + dy*dy; length > 0 {
		t := max(0, min(1, ((p.X-a.X)*dx+(p.Y-a.Y)*dy)/length))
		a = Point{a.X + t*dx, a.Y + t*dy}
	}
	return (p.X-a.X)*(p.X-a.X) + (p.Y-a.Y)*(p.Y-a.Y)
}
