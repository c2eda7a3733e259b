package area

import (
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

// pointElement reads a Point.
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

// take makes points of the numbers.
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
