package area

import (
	"math"
	"slices"

	"schakel/delivery/mutation/format/xmlscan"
)

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
