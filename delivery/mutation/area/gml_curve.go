package area

import (
	"math"
	"slices"
	"strconv"

	"schakel/delivery/mutation/format/xmlscan"
)

// line reads a line and appends its points. What was read since start is the line so far, on which it goes on.
func (r *Reader) line(kind gmlKind, tok *xmlscan.Token, ref reference, start int) error {
	ref, err := r.reference(tok, ref)
	if err != nil {
		return err
	}
	mark := len(r.shape.points)
	switch kind {
	case straight:
		err = r.positions(ref)
	case arcs, circle:
		err = r.arcs(kind, ref)
	case byCentre:
		err = r.byCentre(ref)
	case turned:
		return r.turned(tok, ref, start)
	case chain, property:
		if err := r.link(tok); err != nil {
			return err
		}
		return r.children(func(kind gmlKind, tok *xmlscan.Token) error { return r.line(kind, tok, ref, start) })
	default:
		return r.fault("this is not supported in a line")
	}
	if err != nil {
		return err
	}
	if err := r.place(mark, ref); err != nil {
		return err
	}
	return r.join(start, mark)
}

// turned reads a line that is to be followed from its end when it says so.
func (r *Reader) turned(tok *xmlscan.Token, ref reference, start int) error {
	back := false
	for _, a := range tok.Attrs {
		back = back || string(a.Name) == "orientation" && string(a.Value) == "-"
	}
	mark := len(r.shape.points)
	err := r.children(func(kind gmlKind, tok *xmlscan.Token) error { return r.line(kind, tok, ref, mark) })
	if err != nil {
		return err
	}
	if back {
		slices.Reverse(r.shape.points[mark:])
	}
	return r.join(start, mark)
}

// join takes the points from mark on to go on where those since start end.
func (r *Reader) join(start, mark int) error {
	points := r.shape.points
	if mark == start || mark == len(points) {
		return nil
	}
	if !r.joined(points[mark-1], points[mark]) {
		return r.fault("the line does not begin where the one before it ends")
	}
	r.shape.points = slices.Delete(points, mark, mark+1)
	return nil
}

// place brings the points from mark on into the dataset's system.
func (r *Reader) place(mark int, ref reference) error {
	points := r.shape.points[mark:]
	if ref.swapped {
		for i, p := range points {
			points[i] = Point{p.Y, p.X}
		}
	}
	if ref.crs == r.crs {
		return nil
	}
	for i, p := range points {
		if !convertible(p, ref.crs) {
			return r.fault("%v %v is too far from the Netherlands to be converted to %s", p.X, p.Y, r.crs)
		}
		points[i] = convert(p, ref.crs, r.crs)
	}
	return nil
}

func (r *Reader) pointElement(tok *xmlscan.Token, ref reference) error {
	ref, err := r.reference(tok, ref)
	if err != nil {
		return err
	}
	mark := len(r.shape.points)
	if err := r.positions(ref); err != nil {
		return err
	}
	if n := len(r.shape.points) - mark; n != 1 {
		return r.fault("a point of %d positions", n)
	}
	return r.place(mark, ref)
}

// positions reads the pos, posList, coordinates and pointProperty elements in the current one, as they stand.
func (r *Reader) positions(ref reference) error {
	return r.children(func(_ gmlKind, tok *xmlscan.Token) error { return r.position(tok, ref) })
}

func (r *Reader) position(tok *xmlscan.Token, ref reference) error {
	own, err := r.reference(tok, ref)
	if err != nil {
		return err
	}
	if own.crs != ref.crs || own.swapped != ref.swapped {
		return r.fault("a system of its own inside a line")
	}
	switch string(xmlscan.Local(tok.Name)) {
	case "pos":
		if err := r.content(); err != nil {
			return err
		}
		if n := len(r.numbers); n != 2 && n != 3 {
			return r.fault("a position of %d numbers", n)
		}
		return r.take(len(r.numbers))
	case "posList":
		count := countOf(tok)
		if err := r.content(); err != nil {
			return err
		}
		return r.take(r.dimension(own, count))
	case "coordinates":
		return r.coordinates(tok)
	case "pointProperty", "pointRep":
		if err := r.link(tok); err != nil {
			return err
		}
		return r.positions(own)
	case "Point":
		return r.positions(own)
	}
	return r.fault("this is not supported in a line")
}

// countOf gives the number of positions that a list declares; 0 when it declares none.
func countOf(tok *xmlscan.Token) int {
	for _, a := range tok.Attrs {
		if string(a.Name) == "count" {
			n, _ := strconv.Atoi(string(a.Value)) // what is no number tells nothing
			return n
		}
	}
	return 0
}

// dimension gives the number of coordinates of a position. Where that is not said, and the name of the system often differs from
// is there, the count of a list tells, or in RD which way all numbers lie in the Netherlands.
func (r *Reader) dimension(ref reference, count int) int {
	n, other := len(r.numbers), 5-ref.dim
	fits := func(dim int) bool { return n%dim == 0 && r.likely(dim) }
	switch {
	case ref.given:
		return ref.dim
	case count > 0 && (n == 2*count || n == 3*count):
		return n / count
	case ref.crs == RD && !fits(ref.dim) && fits(other):
		return other
	}
	return ref.dim
}

// likely reports whether all numbers are positions in RD when so many make one.
func (r *Reader) likely(dim int) bool {
	for i := 0; i+1 < len(r.numbers); i += dim {
		if extent(Point{r.numbers[i], r.numbers[i+1]}, RD) != nil {
			return false
		}
	}
	return true
}

func (r *Reader) take(dim int) error {
	if len(r.numbers)%dim != 0 {
		return r.fault("%d numbers are no whole positions of %d", len(r.numbers), dim)
	}
	if len(r.shape.points)+len(r.numbers)/dim > mostPoints {
		return r.fault("the geometry has more than %d points", mostPoints)
	}
	for i := 0; i < len(r.numbers); i += dim {
		r.shape.points = append(r.shape.points, Point{r.numbers[i], r.numbers[i+1]})
	}
	return nil
}

// mostSteps bounds into how many lines one arc is cut.
const mostSteps = 50_000

// arcs reads an Arc, ArcString or Circle. Arcs are cut into lines that stay within a millimetre of them, in the plane of
// their own system; their ends and the points they go through stay exactly as given.
func (r *Reader) arcs(kind gmlKind, ref reference) error {
	mark := len(r.shape.points)
	if err := r.positions(ref); err != nil {
		return err
	}
	given := slices.Clone(r.shape.points[mark:])
	if len(given) < 3 || len(given)%2 == 0 || kind == circle && len(given) != 3 {
		return r.fault("%d positions make no arc", len(given))
	}
	r.shape.points = append(r.shape.points[:mark], given[0])
	if kind == circle {
		c, _, ok := centre(given[0], given[1], given[2])
		if !ok {
			return r.fault("the three positions make no circle")
		}
		turn := 2 * math.Pi * float64(orient(given[0], given[1], given[2]))
		return r.sweep(c, given[0], given[0], turn, ref)
	}
	for i := 2; i < len(given); i += 2 {
		if err := r.arc(given[i-2], given[i-1], given[i], ref); err != nil {
			return err
		}
	}
	return nil
}

// arc goes from a by b to c, a being there already.
func (r *Reader) arc(a, b, c Point, ref reference) error {
	if a == c && a != b { // a whole circle, of which b is the other side
		middle := Point{(a.X + b.X) / 2, (a.Y + b.Y) / 2}
		if err := r.sweep(middle, a, b, math.Pi, ref); err != nil {
			return err
		}
		return r.sweep(middle, b, c, math.Pi, ref)
	}
	m, side, ok := centre(a, b, c)
	if !ok {
		r.shape.points = append(r.shape.points, b, c)
		return nil
	}
	if err := r.sweep(m, a, b, turnOf(m, a, b, side), ref); err != nil {
		return err
	}
	return r.sweep(m, b, c, turnOf(m, b, c, side), ref)
}

// centre is the middle of the circle through three points, and the side it turns to. There is none through points on
// one line.
func centre(a, b, c Point) (m Point, side int, ok bool) {
	side = orient(a, b, c)
	bx, by, cx, cy := b.X-a.X, b.Y-a.Y, c.X-a.X, c.Y-a.Y
	d := 2 * (bx*cy - by*cx)
	if side == 0 || d == 0 {
		return Point{}, 0, false
	}
	bb, cc := bx*bx+by*by, cx*cx+cy*cy
	return Point{a.X + (cy*bb-by*cc)/d, a.Y + (bx*cc-cx*bb)/d}, side, true
}

// turnOf is the angle at m from p to q, anticlockwise when side is 1 and clockwise when it is -1.
func turnOf(m, p, q Point, side int) float64 {
	turn := math.Atan2(q.Y-m.Y, q.X-m.X) - math.Atan2(p.Y-m.Y, p.X-m.X)
	for turn*float64(side) < 0 {
		turn += 2 * math.Pi * float64(side)
	}
	return math.Mod(turn, 2*math.Pi)
}

// sweep appends what lies between from and to on a circle, and to. A chord over an angle t bows out by
// r(1-cos(t/2)), which is less than rt²/8.
func (r *Reader) sweep(m, from, to Point, turn float64, ref reference) error {
	radius := math.Hypot(from.X-m.X, from.Y-m.Y)
	steps := math.Ceil(math.Abs(turn) / math.Sqrt(8*ref.crs.millimetre()/radius))
	if radius > 0 && !(steps <= mostSteps) {
		return r.fault("the arc is too large")
	}
	if len(r.shape.points)+int(steps) > mostPoints {
		return r.fault("the geometry has more than %d points", mostPoints)
	}
	begin := math.Atan2(from.Y-m.Y, from.X-m.X)
	for i := 1.0; i < steps; i++ {
		sin, cos := math.Sincos(begin + turn*i/steps)
		r.shape.points = append(r.shape.points, Point{m.X + radius*cos, m.Y + radius*sin})
	}
	r.shape.points = append(r.shape.points, to)
	return nil
}

// byCentre reads an ArcByCenterPoint or CircleByCenterPoint: a position, a radius in metres, and for an arc two angles
// in degrees, anticlockwise from the x axis as is the custom for planes.
func (r *Reader) byCentre(ref reference) error {
	mark, radius, angles := len(r.shape.points), 0.0, []float64{0, 360}
	err := r.children(func(_ gmlKind, tok *xmlscan.Token) error {
		switch local := string(xmlscan.Local(tok.Name)); local {
		case "radius":
			return r.measure(tok, &radius)
		case "startAngle":
			return r.measure(tok, &angles[0])
		case "endAngle":
			return r.measure(tok, &angles[1])
		}
		return r.position(tok, ref)
	})
	if err != nil {
		return err
	}
	if len(r.shape.points)-mark != 1 || radius <= 0 || ref.crs != RD {
		return r.fault("an arc by its centre needs one position in %s and a radius", RD)
	}
	m := r.shape.points[mark]
	on := func(degrees float64) Point {
		sin, cos := math.Sincos(degrees * math.Pi / 180)
		return Point{m.X + radius*cos, m.Y + radius*sin}
	}
	begin, end := on(angles[0]), on(angles[1])
	turn := (angles[1] - angles[0]) * math.Pi / 180
	if math.Abs(turn) >= 2*math.Pi {
		end, turn = begin, math.Copysign(2*math.Pi, turn)
	}
	r.shape.points[mark] = begin
	return r.sweep(m, begin, end, turn, ref)
}

// measure reads one number with a unit that is the expected one: metres or degrees.
func (r *Reader) measure(tok *xmlscan.Token, to *float64) error {
	for _, a := range tok.Attrs {
		if string(a.Name) == "uom" && !slices.Contains([]string{
			"m", "metre", "urn:ogc:def:uom:EPSG::9001", "deg", "degree", "urn:ogc:def:uom:EPSG::9102", "#m", "#deg",
		}, string(a.Value)) {
			return r.fault("the unit %.40q", a.Value)
		}
	}
	if err := r.content(); err != nil {
		return err
	}
	if len(r.numbers) != 1 {
		return r.fault("%d numbers for one measure", len(r.numbers))
	}
	*to = r.numbers[0]
	return nil
}
