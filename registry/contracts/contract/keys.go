package contract

import (
	"maps"
	"slices"
)

// sortedKeys gives the member names of an object in a fixed order, so that findings come in a fixed order.
func sortedKeys[V any](object map[string]V) []string {
	if len(object) == 0 {
		return nil
	}
	keys := slices.AppendSeq(make([]string, 0, len(object)), maps.Keys(object))
	slices.Sort(keys)
	return keys
}

// child gives a member that is an object, else nil.
func child(object map[string]any, key string) map[string]any {
	value, _ := object[key].(map[string]any)
	return value
}

// items gives a member that is a list, else nil.
func items(object map[string]any, key string) []any {
	list, _ := object[key].([]any)
	return list
}

// texts gives the texts of a value that is a text or a list of texts.
func texts(value any) []string {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		var list []string
		for _, item := range v {
			if text, ok := item.(string); ok {
				list = append(list, text)
			}
		}
		return list
	}
	return nil
}
