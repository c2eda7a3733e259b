package area

// PointsOf gives the points of a shape, for tests.
func PointsOf(s *Shape) []Point { return s.points }
