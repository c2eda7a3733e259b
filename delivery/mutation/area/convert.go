package area

import "math"

// The conversion between RD and WGS84 is the approximation of F.H. Schreutelkamp and G.L. Strang van Hees
// ("Benaderingsformules voor de transformatie tussen RD- en WGS84-kaartcoördinaten", 2001): polynomials around
// Amersfoort that stay within about 0.25 m of the official transformation on land in the Netherlands, and get worse
// quickly at sea. ETRS89 and WGS84 are taken for the same, which they are within a metre.

const (
	originX, originY     = 155000.0, 463000.0
	originLat, originLon = 52.15517440, 5.38720621
)

// term is factor * a^p * b^q.
type term struct {
	p, q   int
	factor float64
}

func sum(terms []term, a, b float64) float64 {
	total := 0.0
	for _, t := range terms {
		total += t.factor * power(a, t.p) * power(b, t.q)
	}
	return total
}

func power(x float64, n int) float64 {
	out := 1.0
	for range n {
		out *= x
	}
	return out
}

// toWGS84 gives longitude and latitude of a point in RD.
func toWGS84(p Point) Point {
	x, y := (p.X-originX)*1e-5, (p.Y-originY)*1e-5
	lat := sum([]term{
		{0, 1, 3235.65389},
		{2, 0, -32.58297},
		{0, 2, -0.24750},
		{2, 1, -0.84978},
		{0, 3, -0.06550},
		{2, 2, -0.01709},
		{1, 0, -0.00738},
		{4, 0, 0.00530},
		{2, 3, -0.00039},
		{4, 1, 0.00033},
		{1, 1, -0.00012},
	}, x, y)
	lon := sum([]term{
		{1, 0, 5260.52916},
		{1, 1, 105.94684},
		{1, 2, 2.45656},
		{3, 0, -0.81885},
		{1, 3, 0.05594},
		{3, 1, -0.05607},
		{0, 1, 0.01199},
		{3, 2, -0.00256},
		{1, 4, 0.00128},
		{0, 2, 0.00022},
		{2, 0, -0.00022},
		{5, 0, 0.00026},
	}, x, y)
	return Point{originLon + lon/3600, originLat + lat/3600}
}

// toRD gives the point in RD of a longitude and latitude.
func toRD(p Point) Point {
	lat, lon := 0.36*(p.Y-originLat), 0.36*(p.X-originLon)
	x := sum([]term{
		{0, 1, 190094.945},
		{1, 1, -11832.228},
		{2, 1, -114.221},
		{0, 3, -32.391},
		{1, 0, -0.705},
		{3, 1, -2.340},
		{1, 3, -0.608},
		{0, 2, -0.008},
		{2, 3, 0.148},
	}, lat, lon)
	y := sum([]term{
		{1, 0, 309056.544},
		{0, 2, 3638.893},
		{2, 0, 73.077},
		{1, 2, -157.984},
		{3, 0, 59.788},
		{0, 1, 0.433},
		{2, 2, -6.439},
		{1, 1, -0.032},
		{0, 4, 0.092},
		{1, 4, -0.054},
	}, lat, lon)
	return Point{originX + x, originY + y}
}

// convertible reports whether a point lies where the approximation is of use: the Netherlands, its coast and borders.
func convertible(p Point, from CRS) bool {
	if from == RD {
		return p.X >= -50000 && p.X <= 350000 && p.Y >= 250000 && p.Y <= 700000
	}
	return p.X >= 2.5 && p.X <= 8.2 && p.Y >= 50.2 && p.Y <= 54.3
}

// convert takes a point to another system, rounded to a millimetre in RD and to a tenth of that in degrees, so that
// it is written with few digits.
func convert(p Point, from, to CRS) Point {
	switch {
	case from == to:
		return p
	case to == RD:
		return rounded(toRD(p), 1e3)
	}
	return rounded(toWGS84(p), 1e9)
}

func rounded(p Point, scale float64) Point {
	return Point{math.Round(p.X*scale) / scale, math.Round(p.Y*scale) / scale}
}
