package compare

import (
	"encoding/json"
	"maps"
	"net/url"
	"regexp"
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

// source is a document while it is compared: its references followed, its schemas brought together.
type source struct {
	*reader
	bundles map[string]*bundle // by the places that were asked for
	same    map[string]*bundle // by the schemas in it
	// patterns compiles patternProperties; nil for what Go cannot read.
	patterns map[string]*regexp.Regexp
	// secured are the security schemes, once they were asked for.
	secured map[string]located
}

func newSource(r *reader) *source {
	return &source{reader: r, bundles: map[string]*bundle{}, same: map[string]*bundle{}, patterns: map[string]*regexp.Regexp{}}
}

// schemaAt is a schema with its pointer; the value is nil where a document says nothing.
type schemaAt struct {
	value any
	at    string
}

// located is an object with its pointer.
type located struct {
	object map[string]any
	at     string
}

// pair holds both documents while they are compared.
type pair struct {
	old, new *source
	changes  []Change
	asked    []asked
	// types are the event types of both documents.
	types map[string]bool
}

func (p *pair) add(changes ...Change) { p.changes = append(p.changes, changes...) }
