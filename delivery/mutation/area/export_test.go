package area

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/google/uuid"
)

// What follows only tests ask.

// PointsOf gives the points of a shape, for tests.
func PointsOf(s *Shape) []Point { return s.points }

// PointShape is a shape of one point, for tests.
func PointShape(p Point) *Shape {
	return &Shape{points: []Point{p}, parts: []part{{pointPart, 0, 1}}}
}

// Kind tells polygons from keys.
func (a *Area) Kind() Kind { return a.kind }

// CRS is the system of the polygons, the dataset's.
func (a *Area) CRS() CRS { return a.crs }

// Polygons gives a copy of the polygons.
func (a *Area) Polygons() Polygons {
	out := make(Polygons, len(a.shape))
	for i, p := range a.shape {
		for _, r := range p {
			out[i] = append(out[i], slices.Clone(r))
		}
	}
	return out
}

// Meets reports whether a shape and the area share a point. Keys share none.
func (a *Area) Meets(s *Shape) bool { return a.kind == Geometry && a.index().meets(s) }

// Digest is a SHA-256 in hexadecimal, the same for equal areas only.
func (a *Area) Digest() string {
	hash := sha256.Sum256([]byte(a.canonical()))
	return hex.EncodeToString(hash[:])
}

// Equal reports whether two areas are the same.
func (a *Area) Equal(b *Area) bool { return a.canonical() == b.canonical() }

// Keys gives the keys in their order, none for polygons.
func (a *Area) Keys() []string { return slices.Clone(a.keys) }

// Lineage is that of what passes; see [Lineage].
func (f *Filter) Lineage(dataset uuid.UUID) uuid.UUID {
	return Lineage(dataset, f.config.Areas, f.config.ObjectTypes)
}
