package lint

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
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

func names[V any](object map[string]V) []string { return slices.Sorted(maps.Keys(object)) }

func below(at string, tokens ...string) string { return at + jsonpointer.Join(tokens...) }

// short cuts text of the author's for use in a sentence.
func short(s string) string {
	const most = 80
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}

type property struct {
	name   string
	schema map[string]any
	// at locates the schema, own the property itself; they differ for a reference.
	at, own func() string
}

// properties visits each property of each schema, in a fixed order, but not what is data of the author's.
func (c *checker) properties(visit func(property)) {
	w := schemaWalk{tree: &c.tree, visit: visit}
	w.value(c.root, false)
}

// schemaWalk goes through the whole document once.
type schemaWalk struct {
	tree  *tree
	visit func(property)
	path  []byte
}

func (w *schemaWalk) value(value any, named bool) {
	switch v := value.(type) {
	case map[string]any:
		if !named {
			w.schema(v)
		}
		for _, key := range names(v) {
			if named || !isData(key, v[key]) {
				w.descend(key, v[key], !named && isNameMap(key))
			}
		}
	case []any:
		for i, item := range v {
			w.descend(strconv.Itoa(i), item, false)
		}
	}
}

func (w *schemaWalk) descend(key string, value any, named bool) {
	switch value.(type) {
	case map[string]any, []any:
	default:
		return
	}
	length := len(w.path)
	w.path = append(append(w.path, '/'), jsonpointer.Escape(key)...)
	w.value(value, named)
	w.path = w.path[:length]
}

func (w *schemaWalk) schema(object map[string]any) {
	list := child(object, "properties")
	for _, name := range names(list) {
		value, moved := w.tree.follow(list[name])
		schema, ok := value.(map[string]any)
		if !ok {
			continue
		}
		own := func() string { return string(w.path) + jsonpointer.Join("properties", name) }
		at := own
		if moved != "" {
			at = func() string { return moved }
		}
		w.visit(property{name, schema, at, own})
	}
}

// isNameMap reports whether a member maps names of the author's choice.
func isNameMap(key string) bool {
	switch key {
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas",
		"schemas", "responses", "parameters", "requestBodies", "headers", "securitySchemes", "links", "callbacks",
		"pathItems", "mediaTypes", "paths", "webhooks", "content", "encoding", "additionalOperations", "variables":
		return true
	}
	return false
}

// isData reports whether a member holds data of the author's.
func isData(key string, value any) bool {
	switch key {
	case "example", "default", "const", "enum", "value", "dataValue":
		return true
	case "examples":
		_, named := value.(map[string]any)
		return !named
	}
	return strings.HasPrefix(key, "x-")
}

// forms are a schema that stands at a place, and those it is made of by allOf, anyOf, oneOf and items, as far as a few levels.
func (t *tree) forms(schema map[string]any, at func() string, depth int) []form {
	list := []form{{schema, at}}
	if t.work--; depth > 4 || t.work < 0 {
		return list
	}
	more := func(value any, tokens ...string) {
		value, moved := t.follow(value)
		object, ok := value.(map[string]any)
		if !ok || len(list) > 100 {
			return
		}
		place := func() string { return below(at(), tokens...) }
		if moved != "" {
			place = fixed(moved)
		}
		list = append(list, t.forms(object, place, depth+1)...)
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		for i, part := range items(schema, key) {
			more(part, key, strconv.Itoa(i))
		}
	}
	more(schema["items"], "items")
	return list
}

type form struct {
	schema map[string]any
	at     func() string
}
