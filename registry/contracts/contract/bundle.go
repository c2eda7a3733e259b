package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"schakel/registry/jsonpointer"
	"schakel/registry/sorted"
)

// bundler writes a schema with all that it refers to, so that it can be used apart from the document.
type bundler struct {
	refs    *resolver
	dialect string
	work    *int // nodes that may still be written

	names map[string]string // pointer of what is referred to, to its name here
	taken map[string]int    // how often a name was asked for
	queue []pending
}

type pending struct {
	name  string
	value any
}

// bundle gives one schema that allows what any of the forms allows; nil when there is too much to write.
func (b *bundler) bundle(forms []any) json.RawMessage {
	b.names, b.taken = map[string]string{}, map[string]int{}
	root := b.root(forms)
	definitions := map[string]any{}
	for len(b.queue) > 0 {
		next := b.queue[0]
		b.queue = b.queue[1:]
		definitions[next.name] = b.schema(next.value)
	}
	if *b.work < 0 {
		return nil
	}
	root["$schema"] = b.dialect
	if len(definitions) > 0 {
		root[b.section()] = definitions
	}
	return encode(root)
}

// section names the member that holds definitions in this dialect.
func (b *bundler) section() string {
	if b.dialect == draft07 {
		return "definitions"
	}
	return "$defs"
}

func (b *bundler) root(forms []any) map[string]any {
	if len(forms) == 1 {
		if target, _, how := b.refs.follow(forms[0], ""); how == found {
			object, isObject := b.schema(target).(map[string]any)
			_, clash := object[b.section()]
			if isObject && !clash {
				return object
			}
			return map[string]any{"allOf": []any{b.schema(target)}}
		}
	}
	var list []any
	for _, form := range forms {
		list = append(list, b.schema(form))
	}
	return map[string]any{"anyOf": list}
}

// schema copies a schema with its references turned to the definitions. Identifiers are left out: the schema stands
// under another address now.
func (b *bundler) schema(value any) any {
	if *b.work--; *b.work < 0 {
		return true
	}
	switch v := value.(type) {
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = b.schema(item)
		}
		return list
	case map[string]any:
		return b.object(v)
	}
	return value
}

func (b *bundler) object(object map[string]any) any {
	if ref, ok := object["$ref"].(string); ok && b.dialect == draft07 {
		return b.reference(ref) // draft-07 ignores what stands beside a reference
	}
	copied := make(map[string]any, len(object))
	for _, key := range sortedKeys(object) {
		value := object[key]
		switch {
		case key == "$ref":
			if ref, ok := value.(string); ok {
				if target, ok := b.reference(ref).(map[string]any); ok {
					copied[key] = target["$ref"]
				}
				continue
			}
			copied[key] = value
		case key == "$id" || key == "$schema" || key == "$anchor":
		case isData(key, value):
			*b.work -= size(value)
			copied[key] = value
		case isSchemaMap(key):
			copied[key] = b.named(value)
		default:
			copied[key] = b.schema(value)
		}
	}
	return copied
}

// isSchemaMap reports whether a member maps names of the author's choice to schemas.
func isSchemaMap(key string) bool {
	switch key {
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies":
		return true
	}
	return false
}

func (b *bundler) named(value any) any {
	object, ok := value.(map[string]any)
	if !ok {
		return value
	}
	copied := make(map[string]any, len(object))
	for _, name := range sortedKeys(object) {
		copied[name] = b.schema(object[name])
	}
	return copied
}

// reference gives the reference to a definition; what cannot be resolved allows anything.
func (b *bundler) reference(ref string) any {
	value, at, how := b.refs.resolve(ref)
	if how == found {
		_, _, how = b.refs.follow(value, at)
	}
	if how != found {
		return map[string]any{}
	}
	name, known := b.names[at]
	if !known {
		name = b.free(at)
		b.names[at] = name
		b.queue = append(b.queue, pending{name, value})
	}
	return map[string]any{"$ref": "#" + jsonpointer.Join(b.section(), name)}
}

// free gives a name that is not taken, after the last part of the pointer.
func (b *bundler) free(at string) string {
	base := "root"
	if list, _ := jsonpointer.Tokens(at); len(list) > 0 {
		base = plainName(list[len(list)-1])
	}
	if b.taken[base]++; b.taken[base] == 1 {
		return base
	}
	return fmt.Sprintf("%s+%d", base, b.taken[base]) // no plain name has a plus
}

// plainName keeps letters, digits, dot, dash and underscore, so that a reference needs no escapes.
func plainName(name string) string {
	kept := []rune{}
	for _, r := range shorten(name, 80) {
		if r < '0' && r != '-' && r != '.' || r > '9' && r < 'A' || r > 'Z' && r < 'a' && r != '_' || r > 'z' {
			r = '_'
		}
		kept = append(kept, r)
	}
	return string(kept)
}

// size counts the nodes of a value.
func size(value any) int {
	total := 1
	switch v := value.(type) {
	case map[string]any:
		for _, item := range v {
			total += size(item)
		}
	case []any:
		for _, item := range v {
			total += size(item)
		}
	}
	return total
}

// writeOrdered writes a document as JSON, the same values always as the same bytes: first what a reader looks for first,
// then the rest by name.
func writeOrdered(root any) []byte {
	w := &orderedWriter{rank: map[string]int{}}
	for i, key := range []string{
		"openapi", "asyncapi", "$self", "id", "info", "jsonSchemaDialect", "servers", "defaultContentType", "tags", "paths", "webhooks",
		"channels", "operations", "$ref", "$id", "$schema", "name", "title", "summary", "description", "type", "format",
		"required", "properties",
	} {
		w.rank[key] = i - 100
	}
	w.rank["components"], w.rank["security"] = 2, 1
	w.value(root, 0)
	w.WriteByte('\n')
	return w.Bytes()
}

type orderedWriter struct {
	bytes.Buffer
	rank map[string]int
}

func (w *orderedWriter) value(value any, depth int) {
	switch v := value.(type) {
	case map[string]any:
		keys := sortedKeys(v)
		sorted.Stable(keys, func(a, b string) int { return w.rank[a] - w.rank[b] })
		w.WriteByte('{')
		for i, key := range keys {
			w.separate(i, depth+1)
			w.scalar(key)
			w.WriteString(": ")
			w.value(v[key], depth+1)
		}
		w.end('}', len(keys), depth)
	case []any:
		w.WriteByte('[')
		for i, item := range v {
			w.separate(i, depth+1)
			w.value(item, depth+1)
		}
		w.end(']', len(v), depth)
	default:
		w.scalar(value)
	}
}

func (w *orderedWriter) separate(i, depth int) {
	if i > 0 {
		w.WriteByte(',')
	}
	w.WriteString("\n" + strings.Repeat(" ", 2*depth))
}

func (w *orderedWriter) end(bracket byte, members, depth int) {
	if members > 0 {
		w.WriteString("\n" + strings.Repeat(" ", 2*depth))
	}
	w.WriteByte(bracket)
}

// scalar writes a text as it is, with no signs escaped for HTML.
func (w *orderedWriter) scalar(value any) {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil { // no value of a document fails
		w.WriteString("null")
		return
	}
	w.Truncate(w.Len() - 1)
}
