// Package area bounds a delivery to what lies in an area of the receiver's own choosing.
//
// An [Area] is a polygon or multipolygon, with holes, in RD (EPSG:28992) or in longitude and latitude (EPSG:4326), or
// else a set of keys for data without geometry (MUT-40). A polygon that comes in the other system than the dataset's
// is converted once, vertex by vertex; the outcome is the boundary that counts, is shown and stands in the files
// (MUT-41).
//
// A [Filter] keeps each mutation of which the WAS, the WORDT or both lie in the area, whole and byte for byte (MUT-42,
// MUT-43). A state lies in an area when its geometry and the area share a point: touching the boundary counts, the
// boundary of a hole included, lying wholly inside a hole does not (MUT-48). The answer is exact for the coordinates
// as they stand: no rounding decides which side of a line a point is on.
//
// Three things are a matter of choice, and chosen so that nobody silently loses data:
//   - A state whose geometry cannot be read counts as inside. It is counted.
//   - A state without any geometry, or without any key, is outside unless [Fields] says otherwise.
//   - With two areas, a state must lie in both to count.
package area

import (
	"errors"
	"fmt"
	"strings"
	"sync"
)

// Kind tells areas apart.
type Kind string

// The kinds of areas (MUT-40).
const (
	Geometry Kind = "geometry"
	Keys     Kind = "keys"
)

// Area bounds a delivery, by polygons or by keys. It is immutable and safe for concurrent use.
type Area struct {
	kind  Kind
	crs   CRS
	shape Polygons
	wkt   string
	keys  []string

	once  sync.Once
	built *index
}

// Options sets the reading of the text of an area.
type Options struct {
	// Dataset is the system of the dataset, in which the area is stored. It is required.
	Dataset CRS
	// Given is the system of WKT that does not name one; by default that of the dataset.
	Given CRS
	// Vertices limits the points of an area; default 100,000.
	Vertices int
}

// mostVertices and mostText bound what an area may ask. A vertex takes up to about 50 bytes.
const (
	mostVertices = 100_000
	mostText     = 8 << 20
)

// Parse reads a POLYGON or MULTIPOLYGON in WKT, with or without SRID=28992; or SRID=4326; before it, as PDOK has it for
// a geofilter; or GeoJSON: a Polygon, a MultiPolygon or a Feature of one, in longitude and latitude unless an old crs
// member names EPSG:28992. WKT in EPSG:4326 has longitude first. The area is checked, and converted to the dataset's
// system when it is in another. Errors are *[Error], but for a dataset without geometry.
func Parse(text string, o Options) (*Area, error) {
	if err := o.Dataset.known(); err != nil {
		return nil, err
	}
	if o.Vertices <= 0 {
		o.Vertices = mostVertices
	}
	if len(text) > mostText {
		return nil, refuse("simplify it to fewer vertices or fewer digits", "the text has more than %d bytes", mostText)
	}
	text = strings.TrimPrefix(text, "\ufeff") // some editors put it there
	parse := parseWKT
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		parse = parseGeoJSON
	}
	ps, crs, err := parse(text, o.Vertices)
	if err != nil {
		return nil, err
	}
	if crs == None {
		crs = o.Given
	}
	if crs == None {
		crs = o.Dataset
	}
	return newGeometry(ps, crs, o.Dataset)
}

// newGeometry checks polygons, converts them, and checks again: rounding may have made corners meet.
func newGeometry(ps Polygons, crs, to CRS) (*Area, error) {
	if err := crs.known(); err != nil {
		return nil, refuse("give EPSG:28992 or EPSG:4326", "%s", err)
	}
	ps, err := ps.check(crs)
	if err != nil {
		return nil, err
	}
	if crs != to {
		if ps, err = ps.moved(crs, to); err != nil {
			return nil, err
		}
	}
	ps = ps.canonical()
	return &Area{kind: Geometry, crs: to, shape: ps, wkt: writeWKT(ps)}, nil
}

func (ps Polygons) moved(from, to CRS) (Polygons, error) {
	for i, p := range ps {
		for n, r := range p {
			for k, q := range r {
				if !convertible(q, from) {
					return nil, refuse("give the area in the dataset's own system, "+to.String(),
						"%v %v is too far from the Netherlands to be converted from %s", q.X, q.Y, from).at(i, n, k)
				}
			}
		}
	}
	ps, err := ps.converted(from, to).check(to)
	var wrong *Error
	if errors.As(err, &wrong) {
		wrong.What = "after conversion to " + to.String() + ": " + wrong.What
	}
	return ps, err
}

// WKT is the boundary as the filter uses it, in the dataset's system without SRID: the same text for the same area
// wherever its rings start and whichever way they go, and [Parse] makes an equal area of it (MUT-41). It is empty for
// keys.
func (a *Area) WKT() string { return a.wkt }

// Bounds is the rectangle around the polygons.
func (a *Area) Bounds() (minX, minY, maxX, maxY float64) {
	b := a.shape.box()
	return b.minX, b.minY, b.maxX, b.maxY
}

// Vertices counts the points of all rings; first and last count as two.
func (a *Area) Vertices() int { return a.shape.points() }

// index is made at first use.
func (a *Area) index() *index {
	a.once.Do(func() { a.built = newIndex(a.shape) })
	return a.built
}

// Text gives the area for the header of a file: the WKT, or the keys as a JSON array.
func (a *Area) Text() string {
	if a.kind == Keys {
		return keysText(a.keys)
	}
	return a.wkt
}

func (a *Area) canonical() string {
	if a.kind == Keys {
		return "keys " + a.Text()
	}
	return a.crs.String() + " " + a.wkt
}

// Boundary reads the text of an area given in one system, or that names its own, and gives the WKT of its boundary in
// another, by their EPSG numbers. It answers the errors of Parse.
func Boundary(given string, crs, target int) (wkt string, err error) {
	a, err := Parse(given, Options{Dataset: CRS(target), Given: CRS(crs)})
	if err != nil {
		return "", err
	}
	return a.WKT(), nil
}

var (
	// ErrArea is met when what is given is no area that can be used. It always comes as an *[Error].
	ErrArea = errors.New("this cannot be used as an area")
	// ErrGeometry is met when the geometry of a state cannot be read. It always comes as a *[GeometryError].
	ErrGeometry = errors.New("the geometry cannot be read")
)

// Error describes a problem of an area, with its place and its remedy. Numbers count from 1; 0 is not of any.
type Error struct {
	Polygon int
	Ring    int // of the polygon; 1 is its outer ring
	Vertex  int // of the ring, points that repeat the one before not counted
	What    string
	Remedy  string
}

// Error names the place first.
func (e *Error) Error() string {
	text := e.What
	if place := e.Place(); place != "" {
		text = place + ": " + text
	}
	if e.Remedy != "" {
		text += "; " + e.Remedy
	}
	return text
}

// Place is such as "polygon 1, ring 2 (a hole), vertex 14", or empty.
func (e *Error) Place() string {
	var parts []string
	if e.Polygon > 0 {
		parts = append(parts, fmt.Sprintf("polygon %d", e.Polygon))
	}
	switch {
	case e.Ring == 1:
		parts = append(parts, "ring 1 (the outer one)")
	case e.Ring > 1:
		parts = append(parts, fmt.Sprintf("ring %d (a hole)", e.Ring))
	}
	if e.Vertex > 0 {
		parts = append(parts, fmt.Sprintf("vertex %d", e.Vertex))
	}
	return strings.Join(parts, ", ")
}

// Unwrap is ErrArea.
func (e *Error) Unwrap() error { return ErrArea }

func refuse(remedy, what string, args ...any) *Error {
	return &Error{What: fmt.Sprintf(what, args...), Remedy: remedy}
}

// at fills in where an error happened, counted from 0.
func (e *Error) at(polygon, ring, vertex int) *Error {
	e.Polygon, e.Ring, e.Vertex = polygon+1, ring+1, vertex+1
	return e
}

// GeometryError gives the place of a problem in the geometry of a state.
type GeometryError struct {
	Element string // the element it happened in, such as "posList"
	Line    int    // in the file the state came from, from 1
	What    string
}

// Error names the place first.
func (e *GeometryError) Error() string {
	return fmt.Sprintf("line %d, element %.60s: %s", e.Line, e.Element, e.What)
}

// Unwrap is ErrGeometry.
func (e *GeometryError) Unwrap() error { return ErrGeometry }
