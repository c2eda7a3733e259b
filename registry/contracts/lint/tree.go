package lint

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"schakel/registry/jsonpointer"
)

// tree is a decoded document in which references can be followed.
type tree struct {
	root map[string]any
	ends map[string]end
	work int // schemas that may still be looked at, so that what refers to itself in many ways comes to an end
}

// end holds the value at the end of a reference; nil when there is none.
type end struct {
	value any
	at    string
}

// maxWork is more schemas than the rules ever look at in a document that people wrote.
const maxWork = 2_000_000

// maxHops is more references in a row than anyone writes.
const maxHops = 50

// follow gives what a value is when references inside the document are followed, and where that stands: a pointer when
// it stands elsewhere, else empty. What leads to nothing is nil.
func (t *tree) follow(value any) (any, string) {
	object, ok := value.(map[string]any)
	if !ok {
		return value, ""
	}
	ref, ok := object["$ref"].(string)
	if !ok {
		return value, ""
	}
	if known, ok := t.ends[ref]; ok {
		return known.value, known.at
	}
	last := t.walk(ref)
	t.ends[ref] = last
	return last.value, last.at
}

func (t *tree) walk(ref string) end {
	for range maxHops {
		pointer, inside := strings.CutPrefix(ref, "#")
		if decoded, err := url.PathUnescape(pointer); err == nil {
			pointer = decoded
		}
		value, ok := jsonpointer.Lookup(t.root, pointer)
		if !inside || !ok {
			return end{}
		}
		object, _ := value.(map[string]any)
		next, again := object["$ref"].(string)
		if !again {
			return end{value, pointer}
		}
		ref = next
	}
	return end{}
}

// object is follow for an object that stands at a place; nil when it is none.
func (t *tree) object(value any, at string) (map[string]any, string) {
	value, moved := t.follow(value)
	if moved != "" {
		at = moved
	}
	object, _ := value.(map[string]any)
	return object, at
}

func child(object map[string]any, key string) map[string]any {
	inner, _ := object[key].(map[string]any)
	return inner
}

func text(object map[string]any, key string) string {
	s, _ := object[key].(string)
	return s
}

func items(object map[string]any, key string) []any {
	list, _ := object[key].([]any)
	return list
}

// names are the names of the members, sorted.
func names[V any](object map[string]V) []string { return slices.Sorted(maps.Keys(object)) }

// below is the pointer to a member.
func below(at string, tokens ...string) string { return at + jsonpointer.Join(tokens...) }

// short cuts text of the author's for use in a sentence.
func short(s string) string {
	const most = 80
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}
