package area

import "math"

// orient tells on which side of the line from a to b a point c is: 1 left, -1 right, 0 on it. It is exact for
// plausible coordinates: where rounding could decide, the sum is done without any.
func orient(a, b, c Point) int {
	left := (a.X - c.X) * (b.Y - c.Y)
	right := (a.Y - c.Y) * (b.X - c.X)
	det := left - right
	if left > 0 && right <= 0 || left < 0 && right >= 0 || left == 0 {
		return signOf(det) // each product has the right sign, so their difference has too
	}
	// The bound of J.R. Shewchuk's adaptive predicates: (3 + 16e)e for e = 2^-53.
	if bound := 3.3306690738754716e-16 * math.Abs(left+right); det > bound || -det > bound {
		return signOf(det)
	}
	return orientExactly(a, b, c)
}

func signOf(v float64) int {
	switch {
	case v > 0:
		return 1
	case v < 0:
		return -1
	}
	return 0
}

// orientExactly adds up the six products of the determinant as an expansion: a list of numbers that do not overlap,
// whose exact sum is the outcome, so that the last one has its sign.
func orientExactly(a, b, c Point) int {
	var e expansion
	e.product(a.X, b.Y)
	e.product(-a.X, c.Y)
	e.product(-c.X, b.Y)
	e.product(-a.Y, b.X)
	e.product(a.Y, c.X)
	e.product(c.Y, b.X)
	for i := e.n - 1; i >= 0; i-- {
		if e.parts[i] != 0 {
			return signOf(e.parts[i])
		}
	}
	return 0
}

type expansion struct {
	parts [12]float64
	n     int
}

// product adds x*y: the rounded product, and what rounding it left off.
func (e *expansion) product(x, y float64) {
	p := x * y
	e.add(math.FMA(x, y, -p))
	e.add(p)
}

func (e *expansion) add(v float64) {
	for i := range e.n {
		v, e.parts[i] = twoSum(v, e.parts[i])
	}
	e.parts[e.n] = v
	e.n++
}

// twoSum gives the rounded sum and what rounding left off.
func twoSum(a, b float64) (total, rest float64) {
	total = a + b
	bigger := total - a
	rest = (a - (total - bigger)) + (b - bigger)
	return total, rest
}

// between reports whether a point on the line through a and b lies between them, ends included.
func between(a, b, p Point) bool {
	return min(a.X, b.X) <= p.X && p.X <= max(a.X, b.X) && min(a.Y, b.Y) <= p.Y && p.Y <= max(a.Y, b.Y)
}

// meet reports whether two segments share a point, ends included. A segment may be a single point.
func meet(a, b, c, d Point) bool {
	if max(a.X, b.X) < min(c.X, d.X) || max(c.X, d.X) < min(a.X, b.X) ||
		max(a.Y, b.Y) < min(c.Y, d.Y) || max(c.Y, d.Y) < min(a.Y, b.Y) {
		return false
	}
	c1, d1 := orient(a, b, c), orient(a, b, d)
	if c1*d1 > 0 {
		return false
	}
	a1, b1 := orient(c, d, a), orient(c, d, b)
	if c1*d1 < 0 && a1*b1 < 0 {
		return true
	}
	return c1 == 0 && between(a, b, c) || d1 == 0 && between(a, b, d) ||
		a1 == 0 && between(c, d, a) || b1 == 0 && between(c, d, b)
}
