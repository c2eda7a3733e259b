package outline

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

const (
	maxSample      = 8_000 // bytes
	maxSamples     = 10
	maxMade        = 400 // values of a sample that is made
	maxSampleDepth = 8
)

// MakeSample makes data in the shape that a JSON Schema asks for, which stands by itself: its first example, default, const or enum where it
// has one, else a value of its type with all properties. What a pattern asks for it does not know, so it may not fit; null when the
// schema says nothing, or when the data would be larger than a page shows.
func MakeSample(schema string) json.RawMessage {
	nothing := json.RawMessage("null")
	var root any
	in := json.NewDecoder(strings.NewReader(schema))
	in.UseNumber()
	if in.Decode(&root) != nil {
		return nothing
	}
	d := &document{root: spot{value: root}}
	value, ok := (&builder{doc: d}).made(d.root, readAndWritten)
	if text := json.RawMessage(d.write(value, "")); ok && json.Valid(text) {
		return text
	}
	return nothing
}

// member is a member of an object that is made, which keeps its order.
type member struct {
	name  string
	value any
}

// maker makes a value that fits a schema, as far as a reader needs it to see the shape.
type maker struct {
	b    *builder
	in   use
	left int
}

// made makes a value for a schema; ok is false for a schema that says nothing.
func (b *builder) made(at spot, in use) (value any, ok bool) {
	if b.doc.target(at).object() == nil {
		return nil, false
	}
	m := &maker{b: b, in: in, left: maxMade}
	return m.value(at, "", nil, 0), true
}

func (m *maker) value(at spot, name string, refs *chain, depth int) any {
	parts, ref := m.b.parts(at)
	if ref != "" {
		if refs.has(ref) {
			return nil
		}
		refs = &chain{ref, refs}
	}
	if m.left--; m.left < 0 || depth > maxSampleDepth {
		return nil
	}
	for _, p := range parts {
		if value, ok := given(p); ok {
			return value
		}
	}
	kind := ""
	for _, p := range parts {
		for _, key := range []string{"oneOf", "anyOf"} {
			if choices := p.get(key).items(); len(choices) > 0 && !slices.ContainsFunc(parts, func(p spot) bool { return p.get("properties").there() }) {
				return m.value(choices[0], name, refs, depth+1)
			}
		}
		if kind == "" {
			kind = firstType(p)
		}
	}
	switch kind {
	case "array":
		return m.list(parts, name, refs, depth)
	case "object":
		return m.object(parts, refs, depth)
	}
	return plain(kind, name, parts)
}

// given gives a value that the author of a schema named.
func given(p spot) (any, bool) {
	for _, key := range []string{"example", "const", "default"} {
		if value, ok := p.object()[key]; ok {
			return value, true
		}
	}
	for _, key := range []string{"examples", "enum"} {
		if list := p.get(key).items(); len(list) > 0 {
			return list[0].value, true
		}
	}
	return nil, false
}

func firstType(p spot) string {
	switch v := p.object()["type"].(type) {
	case string:
		return v
	case []any:
		for _, item := range v {
			if s, ok := item.(string); ok && s != "null" {
				return s
			}
		}
	}
	switch {
	case p.get("properties").there(), p.get("additionalProperties").object() != nil:
		return "object"
	case p.get("items").there(), p.get("prefixItems").there():
		return "array"
	}
	return ""
}

func (m *maker) object(parts []spot, refs *chain, depth int) any {
	var members []member
	for _, p := range parts {
		for _, key := range []string{"oneOf", "anyOf"} {
			if choices := p.get(key).items(); len(choices) > 0 {
				more, _ := m.b.parts(choices[0])
				parts = append(parts, more...)
			}
		}
	}
	for _, p := range parts[:min(len(parts), maxParts)] {
		properties := p.get("properties")
		for _, name := range m.b.doc.names(properties) {
			if m.left < 0 || m.b.hidden(properties.get(name), m.in) || slices.ContainsFunc(members, func(is member) bool { return is.name == name }) {
				continue
			}
			if value := m.value(properties.get(name), name, refs, depth+1); value != nil {
				members = append(members, member{name, value})
			}
		}
		if others := p.get("additionalProperties"); len(members) == 0 && len(others.object()) > 0 {
			members = append(members, member{"name", m.value(others, "", refs, depth+1)})
		}
	}
	if members == nil {
		members = []member{}
	}
	return members
}

func (m *maker) list(parts []spot, name string, refs *chain, depth int) any {
	list := []any{}
	for _, p := range parts {
		for _, item := range p.get("prefixItems").items() {
			list = append(list, m.value(item, name, refs, depth+1))
		}
		least, _ := p.number("minItems")
		if items := p.get("items"); items.object() != nil {
			for range max(1, min(int(least), maxList)) - len(list) {
				if value := m.value(items, name, refs, depth+1); value != nil {
					list = append(list, value)
				}
			}
		}
	}
	return list
}

// plain gives a value of a simple type.
func plain(kind, name string, parts []spot) any {
	switch kind {
	case "integer", "number":
		return numeral(parts)
	case "boolean":
		return true
	case "null":
		return nil
	}
	for _, p := range parts {
		if value, ok := formats()[p.text("format")]; ok {
			return value
		}
	}
	return sized(cmp.Or(name, "text"), parts)
}

// numeral gives a number within the bounds of a schema.
func numeral(parts []spot) any {
	for _, p := range parts {
		for _, key := range []string{"minimum", "maximum"} {
			if value, ok := p.object()[key].(json.Number); ok {
				return value
			}
		}
		if above, ok := p.number("exclusiveMinimum"); ok {
			return above + 1
		}
		if below, ok := p.number("exclusiveMaximum"); ok {
			return below - 1
		}
	}
	return json.Number("1")
}

// maxFill bounds what is added to a text that a schema wants longer.
const maxFill = 1000

// sized fits a text into the lengths that a schema allows, in characters.
func sized(text string, parts []spot) string {
	runes := []rune(text)
	for _, p := range parts {
		if least, ok := p.number("minLength"); ok && int(least) > len(runes) {
			runes = append(runes, []rune(strings.Repeat("x", min(int(least)-len(runes), maxFill)))...)
		}
		if most, ok := p.number("maxLength"); ok && int(most) >= 0 && int(most) < len(runes) {
			runes = runes[:int(most)]
		}
	}
	return string(runes)
}

func formats() map[string]string {
	return map[string]string{
		"date": "2026-09-01", "date-time": "2026-09-01T08:15:00Z", "time": "08:15:00Z", "duration": "P1D", "uuid": "6f2c1f54-4f2b-4d4e-9a31-0f1f5d1f3b01",
		"email": "name@example.org", "idn-email": "name@example.org", "uri": "https://example.org/", "url": "https://example.org/", "iri": "https://example.org/",
		"uri-reference": "/path", "hostname": "example.org", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "byte": "dGV4dA==", "binary": "…", "password": "********",
	}
}
