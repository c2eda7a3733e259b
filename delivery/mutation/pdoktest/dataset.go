package pdoktest

import "slices"

// Dataset sets where the API of one dataset differs from that of another.
type Dataset struct {
	Base          string   // path of the API
	DeltaFormats  []string // of custom downloads of deltas
	FullFormats   []string // of custom downloads of the full state
	DeltaTypes    []string // feature types in deltas
	FullTypes     []string // feature types of GET /dataset and in the full state
	DeltaZip      string   // name of the predefined download of deltas
	FullZip       string   // name of the predefined download of the full state
	Described     bool     // the API document is served beside the API
	PlainRefusals bool     // a refusal does not list the allowed values
}

// BGT is the large-scale topography: deltas as CityGML, the full state in three formats.
func BGT() Dataset {
	types := []string{"pand", "plaatsbepalingspunt", "waterdeel", "wegdeel"}
	return Dataset{
		Base: "/lv/bgt/download/v1_0", DeltaFormats: []string{"citygml"}, FullFormats: []string{"citygml", "gmllight", "stufgeo"},
		DeltaTypes: types, FullTypes: types, DeltaZip: "bgt-citygml-nl-delta.zip", FullZip: "bgt-citygml-nl-nopbp.zip",
	}
}

// DKK is the cadastral map: GML, with feature types in the full state that deltas do not have.
func DKK() Dataset {
	return Dataset{
		Base: "/kadaster/kadastralekaart/download/v5_0", DeltaFormats: []string{"gml"}, FullFormats: []string{"gml"},
		DeltaTypes: []string{"kadastralegrens", "perceel"}, FullTypes: []string{"kadastralegrens", "openbareruimtelabel", "pand", "perceel"},
		DeltaZip: "kadastralekaart-gml-nl.zip", FullZip: "kadastralekaart-gml-nl-nohist.zip", Described: true,
	}
}

// Only gives deltas in one format, with nothing that tells which one that is but the refusal of others.
func (d Dataset) Only(format string) Dataset {
	d.DeltaFormats, d.Described, d.DeltaTypes = []string{format}, false, d.FullTypes
	return d
}

// document is the API document, as far as a client can learn from it what it may ask for.
func (d Dataset) document() map[string]any {
	body := func(schema string) map[string]any {
		return map[string]any{"post": map[string]any{"requestBody": map[string]any{"content": map[string]any{
			"application/json": map[string]any{"schema": map[string]any{"$ref": "#/components/schemas/" + schema}},
		}}}}
	}
	request := func(formats, types []string) map[string]any {
		return map[string]any{"type": "object", "required": []string{"format", "featuretypes"}, "properties": map[string]any{
			"format":       map[string]any{"type": "string", "enum": formats},
			"featuretypes": map[string]any{"type": "array", "minItems": 1, "items": map[string]any{"type": "string", "enum": types}},
			"geofilter":    map[string]any{"type": "string"},
		}}
	}
	return map[string]any{
		"openapi": "3.0.0",
		"paths":   map[string]any{"/delta/custom": body("Delta"), "/full/custom": body("Full")},
		"components": map[string]any{"schemas": map[string]any{
			"Delta": request(d.DeltaFormats, d.DeltaTypes), "Full": request(d.FullFormats, d.FullTypes),
		}},
	}
}

// allowed finds what a request may not ask for; field is empty when it may ask for all of it.
func allowed(r Request, formats, types []string) (field string, values []string) {
	if !slices.Contains(formats, r.Format) {
		return "format", formats
	}
	for _, t := range r.FeatureTypes {
		if !slices.Contains(types, t) {
			return "featuretypes", types
		}
	}
	return "", nil
}
