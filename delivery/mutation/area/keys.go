package area

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

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
