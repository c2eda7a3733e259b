package area

import (
	"fmt"
	"math"
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

// The conversion between RD and WGS84 is the approximation of F.H. Schreutelkamp and G.L. Strang van Hees
// ("Benaderingsformules voor de transformatie tussen RD- en WGS84-kaartcoördinaten", 2001): polynomials around
// Amersfoort that stay within about 0.25 m of the official transformation on land in the Netherlands, and get worse
// quickly at sea. ETRS89 and WGS84 are taken for the same, which they are within a metre.

const (
	originX, originY     = 155000.0, 463000.0
	originLat, originLon = 52.15517440, 5.38720621
)

// term is factor * a^p * b^q.
type term struct {
	p, q   int
	factor float64
}

func sum(terms []term, a, b float64) float64 {
	total := 0.0
	for _, t := range terms {
		total += t.factor * power(a, t.p) * power(b, t.q)
	}
	return total
}

func power(x float64, n int) float64 {
	out := 1.0
	for range n {
		out *= x
	}
	return out
}

// toWGS84 gives longitude and latitude of a point in RD.
func toWGS84(p Point) Point {
	x, y := (p.X-originX)*1e-5, (p.Y-originY)*1e-5
	lat := sum([]term{
		{0, 1, 3235.65389},
		{2, 0, -32.58297},
		{0, 2, -0.24750},
		{2, 1, -0.84978},
		{0, 3, -0.06550},
		{2, 2, -0.01709},
		{1, 0, -0.00738},
		{4, 0, 0.00530},
		{2, 3, -0.00039},
		{4, 1, 0.00033},
		{1, 1, -0.00012},
	}, x, y)
	lon := sum([]term{
		{1, 0, 5260.52916},
		{1, 1, 105.94684},
		{1, 2, 2.45656},
		{3, 0, -0.81885},
		{1, 3, 0.05594},
		{3, 1, -0.05607},
		{0, 1, 0.01199},
		{3, 2, -0.00256},
		{1, 4, 0.00128},
		{0, 2, 0.00022},
		{2, 0, -0.00022},
		{5, 0, 0.00026},
	}, x, y)
	return Point{originLon + lon/3600, originLat + lat/3600}
}

// toRD gives the point in RD of a longitude and latitude.
func toRD(p Point) Point {
	lat, lon := 0.36*(p.Y-originLat), 0.36*(p.X-originLon)
	x := sum([]term{
		{0, 1, 190094.945},
		{1, 1, -11832.228},
		{2, 1, -114.221},
		{0, 3, -32.391},
		{1, 0, -0.705},
		{3, 1, -2.340},
		{1, 3, -0.608},
		{0, 2, -0.008},
		{2, 3, 0.148},
	}, lat, lon)
	y := sum([]term{
		{1, 0, 309056.544},
		{0, 2, 3638.893},
		{2, 0, 73.077},
		{1, 2, -157.984},
		{3, 0, 59.788},
		{0, 1, 0.433},
		{2, 2, -6.439},
		{1, 1, -0.032},
		{0, 4, 0.092},
		{1, 4, -0.054},
	}, lat, lon)
	return Point{originX + x, originY + y}
}

// convertible reports whether a point lies where the approximation is of use: the Netherlands, its coast and borders.
func convertible(p Point, from CRS) bool {
	if from == RD {
		return p.X >= -50000 && p.X <= 350000 && p.Y >= 250000 && p.Y <= 700000
	}
	return p.X >= 2.5 && p.X <= 8.2 && p.Y >= 50.2 && p.Y <= 54.3
}

// convert takes a point to another system, rounded to a millimetre in RD and to a tenth of that in degrees, so that
// it is written with few digits.
func convert(p Point, from, to CRS) Point {
	switch {
	case from == to:
		return p
	case to == RD:
		return rounded(toRD(p), 1e3)
	}
	return rounded(toWGS84(p), 1e9)
}

func rounded(p Point, scale float64) Point {
	return Point{math.Round(p.X*scale) / scale, math.Round(p.Y*scale) / scale}
}
