package compare

import (
	"strings"

	"schakel/registry/jsonpointer"

	"schakel/registry/contracts/contract"
)

// bundle holds the schemas that one value has to fit together: a schema, what it refers to and the parts of its allOf. It
// makes no difference to a bundle whether a contract writes a schema out, refers to a shared one or builds on it.
type bundle struct {
	from  *source
	at    string // where the schema stands; the first of several
	parts []located
	never string // pointer of a schema that nothing fits; empty for none
	// null is set when a union with the null type wraps the schema.
	null bool
	// outside are references that lead out of the document.
	outside []string
	key     string
	seen    *view
}

// bundle brings schemas together that a value has to fit at the same time; none of them allows every value. Whatever leads
// to the same schemas gives the same bundle.
func (s *source) bundle(schemas ...schemaAt) *bundle {
	ats := make([]string, 0, len(schemas))
	for _, schema := range schemas {
		ats = append(ats, schema.at)
	}
	asked := strings.Join(ats, "\x00")
	if known := s.bundles[asked]; known != nil {
		return known
	}
	b := &bundle{from: s}
	met := map[string]bool{}
	for _, schema := range schemas {
		b.collect(schema, met)
	}
	b.identify(schemas)
	if known := s.same[b.key]; known != nil {
		b = known
	}
	s.bundles[asked], s.same[b.key] = b, b
	return b
}

// identify names the bundle by the schemas in it, and finds the place that it is told of by.
func (b *bundle) identify(schemas []schemaAt) {
	ats := make([]string, 0, len(b.parts))
	for _, part := range b.parts {
		ats = append(ats, part.at)
	}
	b.key = strings.Join(ats, "\x00") + "\x01" + b.never + "\x01" + strings.Join(b.outside, "\x00")
	if b.null {
		b.key += "\x01null"
	}
	if len(ats) == 0 { // nothing else distinguishes them
		for _, schema := range schemas {
			b.key += "\x02" + schema.at
		}
	}
	switch {
	case len(b.parts) > 0 && (len(schemas) == 0 || !contains(ats, schemas[0].at)):
		b.at = b.parts[0].at
	case len(schemas) > 0:
		b.at = schemas[0].at
	}
}

// collect adds a schema and all that it builds on.
func (b *bundle) collect(schema schemaAt, met map[string]bool) {
	if met[schema.at] {
		return
	}
	met[schema.at] = true
	if schema.value == false {
		b.never = schema.at
		return
	}
	object, ok := schema.value.(map[string]any)
	if !ok {
		return
	}
	if multi, ok := object["schema"]; ok && object["schemaFormat"] != nil && b.from.kind == contract.AsyncAPI {
		b.collect(schemaAt{multi, schema.at + "/schema"}, met)
		return
	}
	if ref, ok := object["$ref"].(string); ok {
		b.refer(ref, schema.at, met)
		if len(object) == 1 || b.from.kind == contract.AsyncAPI || b.from.release == "3.0" {
			return // what stands beside a reference does not count
		}
	}
	for i, part := range items(object, "allOf") {
		b.collect(schemaAt{part, schema.at + "/allOf/" + itoa(i)}, met)
	}
	for _, keyword := range []string{"oneOf", "anyOf"} {
		branches, null := b.from.branches(object, keyword, schema.at)
		b.null = b.null || null && object["type"] == nil
		if len(branches) == 1 {
			b.collect(branches[0], met)
		}
	}
	if says(object) {
		b.parts = append(b.parts, located{object, schema.at})
	}
}

// says reports whether a schema says anything itself that counts, beside what it refers to and builds on.
func says(object map[string]any) bool {
	for key := range object {
		switch key {
		case "$ref", "allOf":
		case "default", "readOnly", "writeOnly", "deprecated", "xml":
			return true
		default:
			if !silentKeyword(key) {
				return true
			}
		}
	}
	return false
}

func (b *bundle) refer(ref, at string, met map[string]bool) {
	pointer, local := localPointer(ref)
	if !local {
		b.from.leave(ref, at)
		b.outside = append(b.outside, ref)
		return
	}
	if value, ok := jsonpointer.Lookup(b.from.root, pointer); ok {
		b.collect(schemaAt{value, pointer}, met)
	}
}

// branches gives the schemas of oneOf or anyOf without those that only say null; null reports whether there was one.
func (s *source) branches(object map[string]any, keyword, at string) (list []schemaAt, null bool) {
	for i, value := range items(object, keyword) {
		place := at + "/" + keyword + "/" + itoa(i)
		if target, _ := s.object(value, place); onlyNull(target) {
			null = true
			continue
		}
		list = append(list, schemaAt{value, place})
	}
	return list, null
}

// onlyNull reports whether a schema allows null and nothing else.
func onlyNull(schema map[string]any) bool {
	if constant, ok := schema["const"]; ok && constant == nil {
		return true
	}
	return same(schema["type"], "null") || same(schema["type"], []any{"null"}) || same(schema["enum"], []any{nil})
}

// any reports whether a bundle allows every value.
func (b *bundle) any() bool {
	if b.never != "" || len(b.outside) > 0 {
		return false
	}
	for _, part := range b.parts {
		for key := range part.object {
			if !silentKeyword(key) {
				return false
			}
		}
	}
	return true
}

// silentKeyword reports whether a keyword says nothing of the values that are allowed.
func silentKeyword(key string) bool {
	switch key {
	case "description", "title", "example", "examples", "$comment", "externalDocs", "deprecated", "default", "readOnly", "writeOnly",
		"xml", "$id", "$schema", "$anchor", "$dynamicAnchor", "$defs", "definitions", "$vocabulary":
		return true
	}
	return strings.HasPrefix(key, "x-") && key != "x-extensible-enum"
}
