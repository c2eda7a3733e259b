package area

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"schakel/delivery/mutation/format"
)

// several begins the text of more than one area.
const several = "INTERSECTION("

// Join gives the text of areas that all hold for files and manifests: one as it is used, more as their intersection (MUT-41). It is
// empty for none.
func Join(areas []*Area) string {
	if len(areas) == 1 {
		return areas[0].Text()
	}
	texts := make([]string, len(areas))
	for i, a := range areas {
		texts[i] = a.Text()
	}
	if len(texts) == 0 {
		return ""
	}
	return several + strings.Join(texts, ", ") + ")"
}

// Split reads what Join wrote, and whatever Parse reads. Errors are *Error.
func Split(text string, o Options) ([]*Area, error) {
	text = strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
	rest, joined := strings.CutPrefix(text, several)
	if !joined {
		a, err := one(text, o)
		return []*Area{a}, err
	}
	var list []*Area
	for _, part := range parts(strings.TrimSuffix(rest, ")")) {
		a, err := one(part, o)
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, nil
}

// one reads a polygon, or a JSON array of keys.
func one(text string, o Options) (*Area, error) {
	var keys []string
	if strings.HasPrefix(strings.TrimSpace(text), "[") && json.Unmarshal([]byte(text), &keys) == nil {
		return NewKeys(keys)
	}
	return Parse(text, o)
}

// parts cuts at commas outside of parentheses.
func parts(text string) (list []string) {
	depth, start := 0, 0
	for i, c := range text {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			list = append(list, text[start:i])
			start = i + 1
		}
	}
	return append(list, text[start:])
}

// Bounds of a set of keys.
const (
	mostKeys   = 10_000
	mostKeyLen = 200 // bytes
)

// NewKeys makes an area of keys, such as the codes of municipalities or schools (MUT-40): exact texts, of which case
// counts and space around does not. They are sorted, and what is there twice counts once. There are from 1 to 10,000
// of up to 200 bytes. Errors are *[Error].
func NewKeys(keys []string) (*Area, error) {
	out := make([]string, 0, min(len(keys), mostKeys))
	for i, key := range keys {
		key = strings.TrimSpace(key)
		switch {
		case key == "":
			return nil, refuse("leave it out", "key %d is empty", i+1)
		case len(key) > mostKeyLen:
			return nil, refuse("shorten it", "key %d has more than %d bytes", i+1, mostKeyLen)
		case !utf8.ValidString(key) || strings.ContainsFunc(key, unicode.IsControl):
			return nil, refuse("write it as text on one line", "key %d holds what is no text", i+1)
		}
		out = append(out, key)
	}
	slices.Sort(out)
	out = slices.Compact(out)
	switch {
	case len(out) == 0:
		return nil, refuse("give at least one", "there are no keys")
	case len(out) > mostKeys:
		return nil, refuse("give fewer", "there are more than %d keys", mostKeys)
	}
	return &Area{kind: Keys, keys: out}, nil
}

// Holds reports whether a key is one of the area's.
func (a *Area) Holds(key string) bool {
	_, found := slices.BinarySearch(a.keys, key)
	return found
}

func keysText(keys []string) string {
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(keys) // texts always encode
	return strings.TrimSuffix(out.String(), "\n")
}

// Canonical gives the one text for a filter, whatever the order in which its areas and object types were given: a line for
// each area, then the object types. It is empty for a filter that lets everything through.
func Canonical(areas []*Area, objectTypes []string) string {
	var lines []string
	for _, a := range areas {
		lines = append(lines, "area "+a.canonical())
	}
	slices.Sort(lines)
	lines = slices.Compact(lines)
	if types := typeSet(objectTypes); len(types) > 0 {
		lines = append(lines, "types "+keysText(types))
	}
	return strings.Join(lines, "\n")
}

// Lineage gives the lineage of what a filter leaves of a dataset: the UUIDv5 of the canonical text under the dataset's
// lineage, so that the same filter keeps it and another area begins a new one (MUT-38, MUT-49). Without a filter it is
// the dataset's own.
func Lineage(dataset uuid.UUID, areas []*Area, objectTypes []string) uuid.UUID {
	text := Canonical(areas, objectTypes)
	if text == "" {
		return dataset
	}
	return uuid.NewSHA1(dataset, []byte(text))
}

// typeSet sorts object types as they are compared.
func typeSet(objectTypes []string) []string {
	out := make([]string, len(objectTypes))
	for i, t := range objectTypes {
		out[i] = format.FoldType(t)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
