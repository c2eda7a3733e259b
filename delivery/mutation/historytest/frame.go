package historytest

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"schakel/delivery/mutation/format"
)

// Frame is an upright rectangle, in metres of EPSG:28992.
type Frame struct{ Left, Bottom, Right, Top float64 }

// Ring is an area between two frames, the inner one a hole. It is simple enough to be told without geometry, so that a
// filter can be held against it.
type Ring struct{ Outer, Hole Frame }

// WKT writes the area.
func (r Ring) WKT() string { return "POLYGON(" + r.Outer.corners() + "," + r.Hole.corners() + ")" }

func (f Frame) corners() string {
	return fmt.Sprintf("(%g %g,%g %g,%g %g,%g %g,%g %g)", f.Left, f.Bottom, f.Right, f.Bottom, f.Right, f.Top, f.Left, f.Top, f.Left, f.Bottom)
}

// Inside reports whether a state of a history lies in the area; touching counts, and without geometry it does not.
func (r Ring) Inside(s *format.State) bool {
	sq, ok := squareOf(s)
	if !ok || sq.Right < r.Outer.Left || sq.Left > r.Outer.Right || sq.Top < r.Outer.Bottom || sq.Bottom > r.Outer.Top {
		return false
	}
	inHole := sq.Left > r.Hole.Left && sq.Right < r.Hole.Right && sq.Bottom > r.Hole.Bottom && sq.Top < r.Hole.Top
	return !inHole
}

// squareOf reads the square of a state as it was written, to the millimetre.
func squareOf(s *format.State) (Frame, bool) {
	_, rest, found := bytes.Cut(s.XML, []byte("<gml:posList>"))
	if !found {
		return Frame{}, false
	}
	text, _, _ := bytes.Cut(rest, []byte("</gml:posList>"))
	var n [10]float64
	for i, word := range strings.Fields(string(text)) {
		n[i], _ = strconv.ParseFloat(word, 64)
	}
	return Frame{n[0], n[1], n[4], n[5]}, true
}
