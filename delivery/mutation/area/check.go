package area

import (
	"github.com/peterstace/simplefeatures/geom"
)

// check holds polygons against the rules of simple features: rings are closed and cross neither themselves nor each
// other, holes lie inside, polygons do not overlap. Points that repeat the one before are dropped first.
func (ps Polygons) check(crs CRS) (Polygons, error) {
	out := make(Polygons, len(ps))
	if len(ps) == 0 {
		return nil, refuse("give a polygon", "the area is empty")
	}
	for i, p := range ps {
		if len(p) == 0 {
			return nil, refuse("give it an outer ring, or leave it out", "the polygon is empty").at(i, -1, -1)
		}
		for n, r := range p {
			ring, err := r.check(crs)
			if err != nil {
				return nil, err.at(i, n, err.Vertex-1)
			}
			out[i] = append(out[i], ring)
		}
	}
	if err := out.crossings(); err != nil {
		return nil, err
	}
	if len(out) == 1 && len(out[0]) == 1 {
		return out, nil // one ring, of which all is known now
	}
	if err := out.sides(); err != nil {
		return nil, err
	}
	return out, out.valid()
}

// check judges a ring by itself.
func (r Ring) check(crs CRS) (Ring, *Error) {
	for i, p := range r {
		if err := extent(p, crs); err != nil {
			err.Vertex = i + 1
			return nil, err
		}
	}
	if len(r) < 4 {
		return nil, refuse("give three corners or more, and the first one again at the end", "the ring has %d points", len(r))
	}
	if r[0] != r[len(r)-1] {
		e := refuse("repeat the first point at the end", "the ring is not closed")
		e.Vertex = len(r)
		return nil, e
	}
	out := make(Ring, 0, len(r))
	for _, p := range r {
		if len(out) == 0 || out[len(out)-1] != p {
			out = append(out, p)
		}
	}
	if len(out) < 4 {
		return nil, refuse("give three different corners or more", "the ring encloses nothing")
	}
	return out, out.spikes()
}

// spikes looks for corners where the ring goes back along the side it came by.
func (r Ring) spikes() *Error {
	before := r[len(r)-2]
	for i := range len(r) - 1 {
		if spike(before, r[i], r[i+1]) {
			e := refuse("leave the vertex out", "the ring goes back along the side it came by at %v %v", r[i].X, r[i].Y)
			e.Vertex = i + 1
			return e
		}
		before = r[i]
	}
	return nil
}

// extent refuses positions that cannot be meant.
func extent(p Point, crs CRS) *Error {
	if crs == RD {
		if p.X >= -100000 && p.X <= 400000 && p.Y >= 200000 && p.Y <= 900000 {
			return nil
		}
		remedy := "give metres in RD, x from 0 to 300000 and y from 300000 to 625000"
		if convertible(p, WGS84) || convertible(Point{p.Y, p.X}, WGS84) {
			remedy = "say SRID=4326; before the text when these are degrees"
		}
		return refuse(remedy, "%v %v lies outside the extent of EPSG:28992", p.X, p.Y)
	}
	if p.X < -180 || p.X > 180 || p.Y < -90 || p.Y > 90 {
		remedy := "give longitude and latitude in degrees"
		if convertible(p, RD) {
			remedy = "say SRID=28992; before the text, or name EPSG:28992 as crs, when these are metres in RD"
		}
		return refuse(remedy, "%v %v is no longitude and latitude", p.X, p.Y)
	}
	if convertible(Point{p.Y, p.X}, WGS84) {
		return refuse("give longitude before latitude", "%v %v seems to have latitude first", p.X, p.Y)
	}
	return nil
}

// valid asks the library whether rings touch in single points only and leave the inside of each polygon in one piece.
func (ps Polygons) valid() error {
	polygons := make([]geom.Polygon, len(ps))
	for i, p := range ps {
		polygons[i] = p.library()
		if err := polygons[i].Validate(); err != nil {
			return refuse("make of it polygons and holes that touch in single points at most", "%s", err).at(i, -1, -1)
		}
	}
	if err := geom.NewMultiPolygon(polygons).Validate(); err != nil {
		return refuse("merge polygons that overlap or share a side into one", "%s", err)
	}
	return nil
}

// library gives the polygon as the geometry library has it.
func (p Polygon) library() geom.Polygon {
	rings := make([]geom.LineString, len(p))
	for i, r := range p {
		flat := make([]float64, 0, 2*len(r))
		for _, q := range r {
			flat = append(flat, q.X, q.Y)
		}
		rings[i] = geom.NewLineString(geom.NewSequence(flat, geom.DimXY))
	}
	return geom.NewPolygon(rings)
}

// converted takes every vertex to another system.
func (ps Polygons) converted(from, to CRS) Polygons {
	if from == to {
		return ps
	}
	out := make(Polygons, len(ps))
	for i, p := range ps {
		out[i] = make(Polygon, len(p))
		for n, r := range p {
			out[i][n] = make(Ring, len(r))
			for k, q := range r {
				out[i][n][k] = convert(q, from, to)
			}
		}
	}
	return out
}
