package area

import "bytes"

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
