package area

import "slices"

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
