package area

import (
	"strconv"
	"strings"
)

// wktReader reads POLYGON and MULTIPOLYGON as text, counting where it is.
type wktReader struct {
	text                  string
	at                    int
	most, seen            int
	polygon, ring, vertex int // from 0
	out                   Polygons
}

// parseWKT reads the text, which may begin with SRID=n;. The system is None when the text does not say.
func parseWKT(text string, most int) (Polygons, CRS, error) {
	crs, text, err := cutSRID(strings.TrimSpace(text))
	if err != nil {
		return nil, None, err
	}
	r := &wktReader{text: text, most: most}
	word := strings.ToUpper(r.word())
	if strings.HasSuffix(strings.ToUpper(text), "EMPTY") {
		return nil, None, refuse("give a polygon", "the area is empty")
	}
	if mark := strings.ToUpper(r.word()); mark != "" && mark != "Z" && mark != "M" && mark != "ZM" {
		return nil, None, r.problem("%q behind %s", mark, word)
	}
	switch word = strings.TrimRight(word, "ZM"); word {
	case "POLYGON":
		err = r.rings()
	case "MULTIPOLYGON":
		err = r.list(func(n int) error { r.polygon = n; return r.rings() })
	default:
		return nil, None, refuse("give a POLYGON or a MULTIPOLYGON", "the text begins with %.40q", text)
	}
	if err != nil {
		return nil, None, err
	}
	if r.space(); r.at < len(r.text) {
		return nil, None, refuse("remove it", "there is more text behind the geometry: %.40q", r.text[r.at:])
	}
	return r.out, crs, nil
}

func cutSRID(text string) (CRS, string, error) {
	if len(text) < 5 || !strings.EqualFold(text[:5], "SRID=") {
		return None, text, nil
	}
	number, rest, _ := strings.Cut(text[5:], ";")
	n, err := strconv.Atoi(strings.TrimSpace(number))
	if err == nil {
		err = CRS(n).known()
	}
	if err != nil {
		return None, "", refuse("give SRID=28992; or SRID=4326;", "the coordinate system %.40q", "SRID="+number)
	}
	return CRS(n), strings.TrimSpace(rest), nil
}

func (r *wktReader) rings() error {
	r.out = append(r.out, nil)
	own := &r.out[len(r.out)-1]
	return r.list(func(n int) error {
		r.ring = n
		var ring Ring
		err := r.list(func(n int) error {
			r.vertex = n
			p, err := r.point()
			ring = append(ring, p)
			return err
		})
		*own = append(*own, ring)
		return err
	})
}

// list reads ( one , one , … ).
func (r *wktReader) list(one func(n int) error) error {
	if !r.take('(') {
		return r.problem("a ( is missing")
	}
	for n := 0; ; n++ {
		if err := one(n); err != nil {
			return err
		}
		if r.take(')') {
			return nil
		}
		if !r.take(',') {
			return r.problem("a comma or ) is missing")
		}
	}
}

// point reads two numbers; a third and a fourth, height and measure, are left out.
func (r *wktReader) point() (Point, error) {
	if r.seen++; r.seen > r.most {
		return Point{}, tooMany(r.most)
	}
	var v [4]float64
	for n := range v {
		if r.space(); n >= 2 && (r.at >= len(r.text) || r.text[r.at] == ',' || r.text[r.at] == ')') {
			break
		}
		from := r.at
		for r.at < len(r.text) && strings.IndexByte("0123456789+-.eE", r.text[r.at]) >= 0 {
			r.at++
		}
		var err error
		if v[n], err = strconv.ParseFloat(r.text[from:r.at], 64); err != nil || !plausible(v[n]) {
			return Point{}, r.problem("number %d is no coordinate", n+1)
		}
	}
	return Point{v[0], v[1]}, nil
}

func (r *wktReader) take(c byte) bool {
	if r.space(); r.at < len(r.text) && r.text[r.at] == c {
		r.at++
		return true
	}
	return false
}

func (r *wktReader) word() string {
	r.space()
	from := r.at
	for r.at < len(r.text) && (r.text[r.at]|0x20 >= 'a' && r.text[r.at]|0x20 <= 'z') {
		r.at++
	}
	return r.text[from:r.at]
}

func (r *wktReader) space() {
	for r.at < len(r.text) && strings.IndexByte(" \t\r\n", r.text[r.at]) >= 0 {
		r.at++
	}
}

func (r *wktReader) problem(what string, args ...any) *Error {
	rest := r.text[min(r.at, len(r.text)):]
	e := refuse("write the text as POLYGON((x y, x y, …),(…))", what+" at %.20q", append(args, rest)...)
	return e.at(r.polygon, r.ring, r.vertex)
}

func tooMany(most int) *Error {
	return refuse("simplify it to fewer vertices", "the area has more than %d vertices", most)
}

// writeWKT writes a POLYGON, or a MULTIPOLYGON when there are more, with as few digits as give the same numbers.
func writeWKT(ps Polygons) string {
	out := make([]byte, 0, 24*ps.points())
	if len(ps) == 1 {
		return string(appendRings(append(out, "POLYGON"...), ps[0]))
	}
	out = append(out, "MULTIPOLYGON"...)
	for i, p := range ps {
		out = appendRings(append(out, opener(i)), p)
	}
	return string(append(out, ')'))
}

func opener(i int) byte {
	if i == 0 {
		return '('
	}
	return ','
}

func appendRings(out []byte, p Polygon) []byte {
	for i, r := range p {
		out = append(out, opener(i))
		for n, q := range r {
			out = strconv.AppendFloat(append(out, opener(n)), q.X, 'f', -1, 64)
			out = strconv.AppendFloat(append(out, ' '), q.Y, 'f', -1, 64)
		}
		out = append(out, ')')
	}
	return append(out, ')')
}
