package payload

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"schakel/registry/jsonpointer"
)

// Bounds of a sample: how deep it nests, and how many values it has.
const (
	maxSampleDepth  = 8
	maxSampleValues = 500
)

// Sample makes data that is shaped as a JSON Schema asks: its first example, default, const or enum where it has one, else a value of
// its type with all properties. What a pattern asks for it does not know, so it may not fit; null when the schema says nothing.
func Sample(source string) json.RawMessage {
	var root any
	if json.Unmarshal([]byte(source), &root) != nil {
		return json.RawMessage("null")
	}
	s := sampler{root: root, left: maxSampleValues}
	made, err := json.Marshal(s.value(root, 0))
	if err != nil {
		return json.RawMessage("null")
	}
	return made
}

type sampler struct {
	root any
	left int // values that may still be made
}

func (s *sampler) value(schema any, depth int) any {
	object := s.followed(schema)
	s.left--
	if object == nil || depth > maxSampleDepth || s.left < 0 {
		return nil
	}
	if given, ok := given(object); ok {
		return given
	}
	for _, key := range []string{"oneOf", "anyOf"} {
		if list, _ := object[key].([]any); len(list) > 0 {
			return s.value(merged(object, s.followed(list[0]), key), depth+1)
		}
	}
	if list, _ := object["allOf"].([]any); len(list) > 0 {
		whole := object
		for _, part := range list {
			whole = merged(whole, s.followed(part), "allOf")
		}
		return s.value(whole, depth+1)
	}
	switch kindOf(object) {
	case "object":
		return s.object(object, depth)
	case "array":
		return s.array(object, depth)
	case "string":
		return text(object)
	case "integer", "number":
		return number(object)
	case "boolean":
		return true
	}
	return nil
}

// given finds a value that the schema itself shows.
func given(object map[string]any) (any, bool) {
	for _, key := range []string{"const", "default", "example"} {
		if value, ok := object[key]; ok {
			return value, true
		}
	}
	for _, key := range []string{"examples", "enum"} {
		if list, _ := object[key].([]any); len(list) > 0 {
			return list[0], true
		}
	}
	return nil, false
}

func (s *sampler) object(object map[string]any, depth int) any {
	made := map[string]any{}
	properties, _ := object["properties"].(map[string]any)
	required, _ := object["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		must := slices.Contains(required, any(name))
		if value := s.value(properties[name], depth+1); value != nil || must {
			made[name] = value
		}
	}
	return made
}

func (s *sampler) array(object map[string]any, depth int) any {
	least, _ := object["minItems"].(float64)
	list := []any{}
	for range min(max(int(least), 1), 20) {
		if value := s.value(object["items"], depth+1); value != nil {
			list = append(list, value)
		}
	}
	return list
}

// followed is the object that a schema is, wherever in the document a reference leads.
func (s *sampler) followed(schema any) map[string]any {
	for range 10 {
		object, _ := schema.(map[string]any)
		ref, ok := object["$ref"].(string)
		if !ok {
			return object
		}
		pointer, local := strings.CutPrefix(ref, "#")
		if !local {
			return nil
		}
		schema, _ = jsonpointer.Lookup(s.root, pointer)
	}
	return nil
}

// merged is a schema with those of a part of it, without the list that the part stands in.
func merged(whole, part map[string]any, without string) map[string]any {
	made := maps.Clone(whole)
	delete(made, without)
	for key, value := range part {
		old, both := made[key].(map[string]any)
		added, isMap := value.(map[string]any)
		oldList, bothLists := made[key].([]any)
		addedList, isList := value.([]any)
		switch {
		case both && isMap && key == "properties":
			old = maps.Clone(old)
			maps.Copy(old, added)
			made[key] = old
		case bothLists && isList && key == "required":
			made[key] = append(slices.Clone(oldList), addedList...)
		default:
			made[key] = value
		}
	}
	return made
}

func kindOf(object map[string]any) string {
	kinds, _ := object["type"].([]any)
	for _, kind := range kinds {
		if kind, _ := kind.(string); kind != "null" {
			return kind
		}
	}
	kind, _ := object["type"].(string)
	if kind == "" && object["properties"] != nil {
		return "object"
	}
	return kind
}

func text(object map[string]any) string {
	format, _ := object["format"].(string)
	if known, ok := map[string]string{
		"date": "2026-01-31", "date-time": "2026-01-31T12:00:00Z", "time": "12:00:00Z", "duration": "PT1H", "uuid": "0d9a6c5e-2b1f-4c43-9a52-6a2f0c6f1b7e",
		"uri": "https://example.nl/1", "uri-reference": "https://example.nl/1", "email": "someone@example.nl", "hostname": "example.nl", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1",
	}[format]; ok {
		return known
	}
	made := "text"
	if least, _ := object["minLength"].(float64); int(least) > len(made) {
		made = strings.Repeat("x", min(int(least), 1000))
	}
	if most, ok := object["maxLength"].(float64); ok && int(most) < len(made) {
		made = made[:max(int(most), 0)]
	}
	return made
}

func number(object map[string]any) any {
	if least, ok := object["minimum"].(float64); ok {
		return least
	}
	if above, ok := object["exclusiveMinimum"].(float64); ok {
		return above + 1
	}
	if most, ok := object["maximum"].(float64); ok && most < 1 {
		return most
	}
	return 1
}
