package outline

import (
	"encoding/json"
	"slices"
)

const (
	maxSample      = 8_000 // bytes
	maxSamples     = 10
	maxMade        = 400 // values of a sample that is made
	maxSampleDepth = 8
)

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
		if items := p.get("items"); items.object() != nil && len(list) == 0 {
			if value := m.value(items, name, refs, depth+1); value != nil {
				list = append(list, value)
			}
		}
	}
	return list
}

// plain gives a value of a simple type.
func plain(kind, name string, parts []spot) any {
	first := func(key string) (any, bool) {
		for _, p := range parts {
			if value, ok := p.object()[key].(json.Number); ok {
				return value, true
			}
		}
		return nil, false
	}
	switch kind {
	case "integer", "number":
		if value, ok := first("minimum"); ok {
			return value
		}
		if value, ok := first("maximum"); ok {
			return value
		}
		return json.Number("1")
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
	if name != "" {
		return name
	}
	return "text"
}

func formats() map[string]string {
	return map[string]string{
		"date": "2026-09-01", "date-time": "2026-09-01T08:15:00Z", "time": "08:15:00Z", "duration": "P1D", "uuid": "6f2c1f54-4f2b-4d4e-9a31-0f1f5d1f3b01",
		"email": "name@example.org", "idn-email": "name@example.org", "uri": "https://example.org/", "url": "https://example.org/", "iri": "https://example.org/",
		"uri-reference": "/path", "hostname": "example.org", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "byte": "dGV4dA==", "binary": "…", "password": "********",
	}
}
