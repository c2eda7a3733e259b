package area

import (
	"encoding/json"
	"strings"
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
