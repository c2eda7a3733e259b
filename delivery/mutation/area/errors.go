package area

import (
	"errors"
	"fmt"
	"strings"
)

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
