package area

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"schakel/delivery/mutation/format/xmlscan"
)

// mostPoints bounds the geometry of one state.
const mostPoints = 1_000_000

func (r *Reader) next() (*xmlscan.Token, error) {
	tok, err := r.scan.Next()
	if err != nil {
		err = r.located("state", err)
		r.scan = nil
	}
	return tok, err
}

// located puts an error of the scanner at its line in the file.
func (r *Reader) located(element string, err error) error {
	line := r.first
	var syntax *xmlscan.SyntaxError
	if errors.As(err, &syntax) {
		line += max(0, syntax.Line-r.begun)
		err = syntax.Bare()
	}
	return &GeometryError{Element: element, Line: line, What: err.Error()}
}

// fault is an error at the current token.
func (r *Reader) fault(what string, args ...any) error {
	line, _ := r.scan.Place()
	element := string(xmlscan.Local(r.scan.Token().Name))
	return &GeometryError{Element: element, Line: r.first + line - r.begun, What: fmt.Sprintf(what, args...)}
}

// geometry reads any geometry, of which the start is the current token, up to its end.
func (r *Reader) geometry(kind gmlKind, tok *xmlscan.Token, ref reference) error {
	switch kind {
	case container, property, outerRing, innerRing: // a solid has an exterior of surfaces
		return r.container(tok, ref)
	case polygon:
		return r.polygon(tok, ref)
	case point:
		from := len(r.shape.points)
		if err := r.pointElement(tok, ref); err != nil {
			return err
		}
		r.shape.parts = append(r.shape.parts, part{pointPart, from, len(r.shape.points)})
		return nil
	}
	from := len(r.shape.points)
	if err := r.line(kind, tok, ref, from); err != nil {
		return err
	}
	if len(r.shape.points)-from < 2 {
		return r.fault("a line of %d points", len(r.shape.points)-from)
	}
	r.shape.parts = append(r.shape.parts, part{linePart, from, len(r.shape.points)})
	return nil
}

// children calls visit for each element in the current one but for metadata, which has to read up to its end.
func (r *Reader) children(visit func(kind gmlKind, tok *xmlscan.Token) error) error {
	for {
		tok, err := r.next()
		if err != nil {
			return err
		}
		switch tok.Kind {
		case xmlscan.End:
			return nil
		case xmlscan.Start:
			kind := within(xmlscan.Local(tok.Name))
			if kind == metadata || kind == envelope {
				err = r.skip()
			} else {
				err = visit(kind, tok)
			}
			if err != nil {
				return err
			}
		}
	}
}

// skip goes to the end of the current element.
func (r *Reader) skip() error {
	depth := r.scan.Depth()
	for {
		tok, err := r.next()
		if err != nil {
			return err
		}
		if tok.Kind == xmlscan.End && r.scan.Depth() == depth {
			return nil
		}
	}
}

func (r *Reader) container(tok *xmlscan.Token, ref reference) error {
	ref, err := r.reference(tok, ref)
	if err != nil {
		return err
	}
	if err := r.link(tok); err != nil {
		return err
	}
	return r.children(func(kind gmlKind, tok *xmlscan.Token) error {
		if kind == notGML {
			return r.fault("this is not supported in geometry")
		}
		return r.geometry(kind, tok, ref)
	})
}

// link refuses a reference to geometry elsewhere, which would be lost.
func (r *Reader) link(tok *xmlscan.Token) error {
	for _, a := range tok.Attrs {
		if tok.Empty && string(xmlscan.Local(a.Name)) == "href" {
			return r.fault("geometry elsewhere (%.60s) is not looked up", a.Value)
		}
	}
	return nil
}

// polygon reads an outer ring and its holes.
func (r *Reader) polygon(tok *xmlscan.Token, ref reference) error {
	ref, err := r.reference(tok, ref)
	if err != nil {
		return err
	}
	outer := false
	return r.children(func(kind gmlKind, tok *xmlscan.Token) error {
		switch {
		case kind == outerRing && !outer:
			outer = true
			return r.ring(outerPart, tok, ref)
		case kind == innerRing && outer:
			return r.ring(holePart, tok, ref)
		}
		return r.fault("this is not expected in a polygon")
	})
}

// ring reads the one ring in an exterior or interior.
func (r *Reader) ring(as partKind, tok *xmlscan.Token, ref reference) error {
	if err := r.link(tok); err != nil {
		return err
	}
	from, rings := len(r.shape.points), 0
	err := r.children(func(kind gmlKind, tok *xmlscan.Token) error {
		if rings++; rings > 1 || kind != straight && kind != chain {
			return r.fault("a boundary is one ring")
		}
		return r.line(kind, tok, ref, from)
	})
	if err != nil {
		return err
	}
	points := r.shape.points[from:]
	if len(points) < 4 {
		return r.fault("a ring of %d points", len(points))
	}
	if last := len(points) - 1; points[0] != points[last] {
		if !r.joined(points[0], points[last]) {
			return r.fault("the ring is not closed")
		}
		points[last] = points[0]
	}
	r.shape.parts = append(r.shape.parts, part{as, from, len(r.shape.points)})
	return nil
}

// joined reports whether two points are within a millimetre, which counts as the same where lines are joined.
func (r *Reader) joined(p, q Point) bool {
	most := r.crs.millimetre()
	return max(p.X-q.X, q.X-p.X, p.Y-q.Y, q.Y-p.Y) <= most
}

// reference is the system of an element: its own, or else that of what is around it.
func (r *Reader) reference(tok *xmlscan.Token, ref reference) (reference, error) {
	for _, a := range tok.Attrs {
		switch string(a.Name) {
		case "srsName":
			known, ok := r.names[string(a.Value)]
			if !ok {
				var err error
				if known, err = parseReference(xmlscan.Unescape(a.Value)); err != nil {
					return ref, r.fault("%s", err)
				}
				if len(r.names) < 100 {
					r.names[strings.Clone(string(a.Value))] = known
				}
			}
			ref = known
		case "srsDimension", "dimension":
			// Read below: it outweighs what the system says.
		}
	}
	for _, a := range tok.Attrs {
		if name := string(a.Name); name == "srsDimension" || name == "dimension" {
			if len(a.Value) != 1 || a.Value[0] != '2' && a.Value[0] != '3' {
				return ref, r.fault("positions of %.20q numbers", a.Value)
			}
			ref.dim, ref.given = int(a.Value[0]-'0'), true
		}
	}
	return ref, nil
}

// gmlKind selects the treatment of an element of GML.
type gmlKind uint8

const (
	notGML    gmlKind = iota
	envelope          // a rectangle around the object, which is no geometry of it
	point             // one position
	straight          // positions joined by straight lines
	arcs              // positions joined by arcs through every second one
	circle            // a circle through three positions
	byCentre          // an arc or circle around a position
	chain             // lines that go on where the one before ends
	turned            // a line in another direction
	polygon           // an outer ring and holes
	container         // any number of geometries
	property          // what stands between a geometry and the next one in it
	outerRing
	innerRing
	metadata
)

// kindOf goes by the local name, of GML 2 to 3.2.
func kindOf(local []byte) gmlKind {
	switch string(local) {
	case "Point":
		return point
	case "LineString", "LineStringSegment", "LinearRing":
		return straight
	case "Arc", "ArcString":
		return arcs
	case "Circle":
		return circle
	case "ArcByCenterPoint", "CircleByCenterPoint":
		return byCentre
	case "Curve", "CompositeCurve", "Ring":
		return chain
	case "OrientableCurve":
		return turned
	case "Polygon", "PolygonPatch", "Triangle", "Rectangle":
		return polygon
	case "MultiPoint", "MultiCurve", "MultiSurface", "MultiLineString", "MultiPolygon", "MultiGeometry", "MultiSolid",
		"Surface", "CompositeSurface", "PolyhedralSurface", "TriangulatedSurface", "Tin", "OrientableSurface",
		"Solid", "CompositeSolid", "Shell", "GeometricComplex":
		return container
	case "Envelope":
		return envelope
	}
	return notGML
}

// unknownObject reports whether an element of GML that is no known geometry may be meant as one: GML begins the names of
// objects with a capital and those of properties without, and periods of time are no geometry.
func unknownObject(local []byte) bool {
	return len(local) > 0 && local[0] >= 'A' && local[0] <= 'Z' && !bytes.HasPrefix(local, []byte("Time"))
}

// within gives the kind of an element inside geometry.
func within(local []byte) gmlKind {
	if kind := kindOf(local); kind != notGML {
		return kind
	}
	switch string(local) {
	case "exterior", "outerBoundaryIs":
		return outerRing
	case "interior", "innerBoundaryIs":
		return innerRing
	case "surfaceMember", "surfaceMembers", "polygonMember", "curveMember", "curveMembers", "lineStringMember",
		"pointMember", "pointMembers", "geometryMember", "geometryMembers", "solidMember", "solidMembers", "element",
		"segments", "patches", "polygonPatches", "trianglePatches", "baseCurve", "baseSurface":
		return property
	case "metaDataProperty", "description", "descriptionReference", "identifier", "name", "boundedBy":
		return metadata
	}
	return notGML
}
