package compare

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// localPointer gives the JSON Pointer of a reference inside the document.
func localPointer(ref string) (string, bool) {
	fragment, ok := strings.CutPrefix(ref, "#")
	if !ok || fragment != "" && fragment[0] != '/' {
		return "", false
	}
	if decoded, err := url.PathUnescape(fragment); err == nil {
		fragment = decoded
	}
	return fragment, true
}

func sortedKeys[V any](object map[string]V) []string {
	return slices.Sorted(maps.Keys(object))
}

// unionKeys gives the keys of both, sorted.
func unionKeys[A, B any](a map[string]A, b map[string]B) []string {
	return sorted(append(slices.Collect(maps.Keys(a)), slices.Collect(maps.Keys(b))...))
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

// text gives a member that is a text, else an empty one.
func text(object map[string]any, key string) string {
	value, _ := object[key].(string)
	return value
}

// written gives a value as JSON with sorted members, to hold values against each other.
func written(value any) string {
	content, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(content)
}

func same(a, b any) bool { return written(a) == written(b) }

func itoa(i int) string { return strconv.Itoa(i) }
