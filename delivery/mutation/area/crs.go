package area

import (
	"fmt"
	"strconv"
	"strings"
)

// CRS is a coordinate reference system, by its EPSG number.
type CRS int

// The systems that areas and datasets are in.
const (
	None  CRS = 0     // a dataset without geometry
	RD    CRS = 28992 // Amersfoort / RD New: x and y in metres
	WGS84 CRS = 4326  // here always longitude, latitude in degrees; ETRS89 counts as the same
)

// String is such as "EPSG:28992".
func (c CRS) String() string {
	if c == None {
		return "no coordinate system"
	}
	return "EPSG:" + strconv.Itoa(int(c))
}

func (c CRS) known() error {
	if c == RD || c == WGS84 {
		return nil
	}
	return fmt.Errorf("%s: only %s and %s are supported", c, RD, WGS84)
}

// millimetre is about one millimetre on the ground in units of the system.
func (c CRS) millimetre() float64 {
	if c == WGS84 {
		return 1e-8
	}
	return 1e-3
}

// reference holds the system that a name in GML stands for, and how its positions are written.
type reference struct {
	crs     CRS
	swapped bool // latitude comes first
	dim     int  // numbers of a position, unless said otherwise
	given   bool // the text names the number of dimensions
}

// parseReference reads an srsName in any of its spellings. As is the custom of GML, latitude comes first when the name
// is a URN or a definition's URL, and longitude when it is EPSG:4326 or one of the old epsg.xml URLs. ETRS89 is taken
// for WGS84, and heights are left out.
func parseReference(name string) (reference, error) {
	text := strings.TrimSpace(name)
	lower, high := cutHeight(strings.ToLower(text))
	long := strings.HasPrefix(lower, "urn:") || strings.Contains(lower, "/def/crs")
	switch code := codeOf(lower); code {
	case "28992":
		return reference{crs: RD, dim: 2 + high}, nil
	case "7415":
		return reference{crs: RD, dim: 3}, nil
	case "4326", "4258":
		return reference{crs: WGS84, swapped: long, dim: 2 + high}, nil
	case "4979", "4937":
		return reference{crs: WGS84, swapped: long, dim: 3}, nil
	case "crs84":
		return reference{crs: WGS84, dim: 2}, nil
	case "crs84h":
		return reference{crs: WGS84, dim: 3}, nil
	}
	return reference{}, fmt.Errorf("the coordinate system %.80q is not supported", text)
}

// cutHeight gives the first part of the lower-case name of a compound, and 1 when there is another part, which is that of
// the height. Compounds are written as "urn:ogc:def:crs,crs:epsg::28992,crs:epsg::5709", as
// "http://www.opengis.net/def/crs-compound?1=…/28992&2=…/5709" and as "epsg:28992+5709".
func cutHeight(name string) (first string, high int) {
	rest, isURN := strings.CutPrefix(name, "urn:ogc:def:crs,")
	query, isURL := "", false
	if !isURN {
		_, query, isURL = strings.Cut(name, "/def/crs-compound?1=")
	}
	more := false
	switch {
	case isURN:
		first, _, more = strings.Cut(rest, ",")
		first = "urn:ogc:def:" + first
	case isURL:
		first, _, more = strings.Cut(query, "&2=")
	default:
		first, _, more = strings.Cut(name, "+")
	}
	if more {
		high = 1
	}
	return first, high
}

// codeOf is the code in a lower-case name.
func codeOf(name string) string {
	if !strings.Contains(name, "epsg") && !strings.Contains(name, "crs84") {
		return ""
	}
	return name[strings.LastIndexAny(name, ":/#")+1:]
}
