package area

import "slices"

// Clone gives a shape that stays good when its reader reads again.
func (s *Shape) Clone() *Shape {
	return &Shape{points: slices.Clone(s.points), parts: slices.Clone(s.parts)}
}

// Bounds gives the least and the greatest coordinates of a shape that is not empty.
func (s *Shape) Bounds() (minX, minY, maxX, maxY float64) {
	b := boxOf(s.points)
	return b.minX, b.minY, b.maxX, b.maxY
}

// visible is the size in pixels from which the outline of a shape is drawn.
const visible = 3.0

// Outline gives the lines and rings of a shape as data of an SVG path, as Path does for an area; nothing of what is too
// small to be seen, nor of points. The shape is in the system.
func (f *Frame) Outline(s *Shape, crs CRS) string {
	var out []byte
	for _, p := range s.parts {
		line := make([]Point, 0, p.to-p.from)
		for _, q := range s.of(p) {
			line = append(line, f.pixel(q, crs))
		}
		if b := boxOf(line); p.kind == pointPart || b.maxX-b.minX < visible && b.maxY-b.minY < visible {
			continue
		}
		if p.kind != linePart {
			out = appendPath(out, line, p.kind == outerPart)
			continue
		}
		command := byte('M')
		for _, q := range simplify(line) {
			out = appendNumber(append(out, command), q.X)
			out = appendNumber(append(out, ' '), q.Y)
			command = 'L'
		}
	}
	return string(out)
}

// Middle gives the place on the drawing of the middle of a shape that is not empty, in pixels.
func (f *Frame) Middle(s *Shape, crs CRS) (x, y float64) {
	minX, minY, maxX, maxY := s.Bounds()
	p := f.pixel(Point{(minX + maxX) / 2, (minY + maxY) / 2}, crs)
	return p.X, p.Y
}
