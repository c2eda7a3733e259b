package area

// PointsOf gives the points of a shape, for tests.
func PointsOf(s *Shape) []Point { return s.points }

// PointShape is a shape of one point, for tests.
func PointShape(p Point) *Shape {
	return &Shape{points: []Point{p}, parts: []part{{pointPart, 0, 1}}}
}
