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
