package compare

import (
	"encoding/json"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"schakel/registry/contracts/contract"
	"schakel/registry/jsonpointer"
)

// reader follows references in one document and remembers those it could not follow.
type reader struct {
	root    map[string]any
	kind    contract.Kind
	release string // "3.1"
	// outside are references to other documents, or to anchors, with the place where each was first met.
	outside map[string]string
}

func newReader(d *contract.Document) *reader {
	root, _ := d.Root.(map[string]any)
	r := &reader{root: root, kind: d.Kind, outside: map[string]string{}}
	if len(d.SpecVersion) >= 3 {
		r.release = d.SpecVersion[:3]
	}
	return r
}

// maxHops is far more references in a row than anyone writes.
const maxHops = 50

// object follows references to an object and gives it with its pointer; nil when there is none.
func (r *reader) object(value any, at string) (map[string]any, string) {
	value, at = r.value(value, at)
	object, _ := value.(map[string]any)
	return object, at
}

// value follows references while what is found is one.
func (r *reader) value(value any, at string) (any, string) {
	for range maxHops {
		object, ok := value.(map[string]any)
		if !ok {
			return value, at
		}
		ref, ok := object["$ref"].(string)
		if !ok {
			return value, at
		}
		pointer, local := localPointer(ref)
		if !local {
			r.leave(ref, at)
			return nil, at
		}
		if value, ok = jsonpointer.Lookup(r.root, pointer); !ok {
			return nil, at
		}
		at = pointer
	}
	return nil, at
}

func (r *reader) leave(ref, at string) {
	if _, known := r.outside[ref]; !known {
		r.outside[ref] = at
	}
}

// withTraits merges the traits of an operation or message: in 2.6 a trait overrides, from 3.0 on it is overridden.
func (r *reader) withTraits(object map[string]any) map[string]any {
	traits := items(object, "traits")
	if len(traits) == 0 {
		return object
	}
	merged := map[string]any{}
	if r.release == "2.6" {
		merged = object
	}
	for _, value := range traits[:min(len(traits), 50)] {
		trait, _ := r.object(value, "")
		merged = contract.MergeTrait(merged, trait)
	}
	if r.release != "2.6" {
		merged = contract.MergeTrait(merged, object)
	}
	return merged
}

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
	return distinct(append(slices.Collect(maps.Keys(a)), slices.Collect(maps.Keys(b))...))
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
