package datasets

import (
	"slices"
	"strings"

	"schakel/delivery/mutation/ingest"
	"schakel/store"
)

// The names that PDOK has for the forms of objects. All of them are GML; gml names any.
const (
	formatGML     = "gml"
	formatCityGML = "citygml"
	formatStUFGeo = "stufgeo"
)

// datasetFormats lists the formats in which a dataset can be asked for: gml, and what the namespaces that it declares say
// its objects are. Objects go out in the form in which they were published, whatever the request calls it (MUT-25, MUT-51).
func datasetFormats(d store.Dataset) []string {
	formats := []string{formatGML}
	declared, err := ingest.Namespaces(d.Namespaces)
	if err != nil {
		return formats // the header of its files cannot be written either, which is told there
	}
	for _, n := range declared {
		switch {
		case strings.HasPrefix(n.URI, "http://www.opengis.net/citygml/"):
			formats = append(formats, formatCityGML)
		case strings.Contains(strings.ToLower(n.URI), "stuf"):
			formats = append(formats, formatStUFGeo)
		}
	}
	slices.Sort(formats[1:])
	return slices.Compact(formats)
}
