package token

import (
	"slices"
	"strconv"
)

// ClaimTexts returns what a claim says: its text, the texts of its list, or the names in its object; nothing when there is none. A name
// may be the way to a claim in objects; a claim that has the name as it stands, with points and all, goes before that.
func ClaimTexts(claims map[string]any, name string) []string {
	if value, ok := claims[name]; ok {
		return textsOf(value)
	}
	for i, r := range name {
		if r != '.' {
			continue
		}
		if inner, ok := claims[name[:i]].(map[string]any); ok {
			return ClaimTexts(inner, name[i+1:])
		}
	}
	return nil
}

func textsOf(value any) (texts []string) {
	switch v := value.(type) {
	case string:
		return []string{v}
	case bool:
		return []string{strconv.FormatBool(v)}
	case float64:
		return []string{strconv.FormatFloat(v, 'f', -1, 64)}
	case []any:
		for _, item := range v {
			texts = append(texts, textsOf(item)...)
		}
	case map[string]any:
		for key := range v {
			texts = append(texts, key)
		}
		slices.Sort(texts)
	}
	return texts
}
