package area

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// object is any GeoJSON object, as far as an area needs it.
type object struct {
	Type        string          `json:"type"`
	Coordinates json.RawMessage `json:"coordinates"`
	Geometry    json.RawMessage `json:"geometry"`
	Features    json.RawMessage `json:"features"`
	CRS         json.RawMessage `json:"crs"`
}

const geoJSONRemedy = "give a Polygon or MultiPolygon, or a Feature of one"

// parseGeoJSON reads a Polygon, a MultiPolygon, a Feature of one or a FeatureCollection of one. Coordinates are
// longitude, latitude (RFC 7946) unless a crs member of the older GeoJSON names EPSG:28992.
func parseGeoJSON(text string, most int) (Polygons, CRS, error) {
	crs, raw := WGS84, json.RawMessage(text)
	for range 3 {
		var o object
		if err := decodeOne(raw, &o); err != nil {
			return nil, None, refuse(geoJSONRemedy, "this is no GeoJSON: %.100s", err.Error())
		}
		if err := o.system(&crs); err != nil {
			return nil, None, err
		}
		switch o.Type {
		case "Polygon", "MultiPolygon":
			ps, err := o.polygons(most)
			return ps, crs, err
		case "Feature":
			raw = o.Geometry
		case "FeatureCollection":
			var list []json.RawMessage
			if err := json.Unmarshal(o.Features, &list); err != nil || len(list) != 1 {
				return nil, None, refuse("give one feature; several polygons go into one MultiPolygon", "a collection of %d features", len(list))
			}
			raw = list[0]
		default:
			return nil, None, refuse(geoJSONRemedy, "the type %.40q is no area", o.Type)
		}
	}
	return nil, None, refuse(geoJSONRemedy, "a Feature in a Feature")
}

func decodeOne(raw []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	if err := d.Decode(to); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more text behind it")
	}
	return nil
}

// system takes over the system that a crs member names.
func (o *object) system(crs *CRS) error {
	if len(o.CRS) == 0 || string(o.CRS) == "null" {
		return nil
	}
	var named struct {
		Properties struct{ Name string }
	}
	if err := json.Unmarshal(o.CRS, &named); err != nil {
		return refuse("leave it out, or name EPSG:28992 in it", "the crs member cannot be read")
	}
	ref, err := parseReference(named.Properties.Name)
	if err != nil {
		return refuse("give RD (EPSG:28992) or longitude and latitude", "%s", err)
	}
	*crs = ref.crs // GeoJSON has longitude first under any name
	return nil
}

func (o *object) polygons(most int) (Polygons, error) {
	var list [][][][]float64
	target, raw := any(&list), o.Coordinates
	if o.Type == "Polygon" {
		list = make([][][][]float64, 1)
		target = &list[0]
	}
	if err := json.Unmarshal(raw, target); err != nil {
		return nil, refuse("give lists of positions", "the coordinates of the %s: %.100s", o.Type, strings.TrimPrefix(err.Error(), "json: "))
	}
	out, seen := make(Polygons, len(list)), 0
	for i, p := range list {
		out[i] = make(Polygon, len(p))
		for n, r := range p {
			if seen += len(r); seen > most {
				return nil, tooMany(most)
			}
			for k, v := range r {
				if len(v) < 2 || !plausible(v[0]) || !plausible(v[1]) {
					return nil, refuse("give longitude and latitude", "this is no position").at(i, n, k)
				}
				out[i][n] = append(out[i][n], Point{v[0], v[1]})
			}
		}
	}
	return out, nil
}

// GeoJSON is a Feature in longitude and latitude (RFC 7946), the same bytes each time. From RD it is converted, within
// about 0.25 m. It is nil for a set of keys.
func (a *Area) GeoJSON() []byte {
	if a.kind != Geometry {
		return nil
	}
	ps := a.shape.converted(a.crs, WGS84)
	out := []byte(`{"type":"Feature","properties":null,"geometry":{"type":"Polygon","coordinates":`)
	if len(ps) > 1 {
		out = []byte(`{"type":"Feature","properties":null,"geometry":{"type":"MultiPolygon","coordinates":`)
	}
	body := writeWKT(ps)
	body = body[strings.IndexByte(body, '('):]
	return append(appendPositions(out, body), "}}"...)
}

// appendPositions turns the body of a WKT text into nested lists of positions.
func appendPositions(out []byte, body string) []byte {
	for i := range len(body) {
		switch c := body[i]; c {
		case '(':
			out = append(out, '[')
			if body[i+1] != '(' {
				out = append(out, '[')
			}
		case ')':
			if body[i-1] != ')' {
				out = append(out, ']')
			}
			out = append(out, ']')
		case ' ':
			out = append(out, ',')
		case ',':
			out = append(out, separator(body[i-1])...)
		default:
			out = append(out, c)
		}
	}
	return out
}

// separator stands between two lists or between two positions.
func separator(before byte) string {
	if before == ')' {
		return ","
	}
	return "],["
}
