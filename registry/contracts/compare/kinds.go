package compare

import (
	"strings"

	"schakel/registry/contracts/contract"
	"schakel/templates/i18n"
)

// maxUnion bounds how deep unions are followed for the types that they allow.
const maxUnion = 5

// kinds finds the types that a bundle allows; where none is given, those that its keywords are about.
func (b *bundle) kinds(v *view) {
	v.types = b.types(0)
	v.implied = b.untyped(0)
	for _, part := range b.parts {
		if part.object["type"] != nil && v.typesAt == "" {
			v.typesAt = part.at + "/type"
		}
	}
	v.null, v.unsure = v.types&kindNull != 0, v.implied
	if v.enum == nil {
		return
	}
	listed := v.enum["null"]
	delete(v.enum, "null")
	if v.null && !listed {
		v.null, v.unsure = b.null, v.unsure || b.nullableSaid() && !b.null
	}
	if len(v.enum) == 2 && v.types&^kindNull == kindBoolean {
		v.enum = nil // both of the two values
	}
}

func (b *bundle) types(depth int) kinds {
	if b.never != "" {
		return 0
	}
	allowed, null := kindAny, b.null
	for _, part := range b.parts {
		said, typed := b.from.typesOf(part.object)
		if !typed && part.object["nullable"] == true && !b.from.newer() {
			null = true
		}
		allowed &= said
		if depth < maxUnion {
			allowed &= b.unionTypes(part, depth)
		}
	}
	if allowed == kindAny && b.untyped(depth) {
		allowed = b.implied()
	}
	if null {
		allowed |= kindNull
	}
	return allowed
}

// untyped reports whether no schema of the bundle gives a type.
func (b *bundle) untyped(depth int) bool {
	for _, part := range b.parts {
		if _, typed := b.from.typesOf(part.object); typed {
			return false
		}
		if depth < maxUnion && b.unionTypes(part, depth) != kindAny {
			return false
		}
	}
	return b.never == "" && b.implied() != kindAny
}

func (b *bundle) unionTypes(part located, depth int) kinds {
	allowed := kindAny
	for _, keyword := range []string{"oneOf", "anyOf"} {
		branches, null := b.from.branches(part.object, keyword, part.at)
		if len(branches) < 2 || len(branches) > 50 {
			continue
		}
		var some kinds
		for _, branch := range branches {
			some |= b.from.bundle(branch).types(depth + 1)
		}
		if null {
			some |= kindNull
		}
		allowed &= some
	}
	return allowed
}

// typesOf reads the keyword type; typed is false without one.
func (s *source) typesOf(object map[string]any) (allowed kinds, typed bool) {
	switch said := object["type"].(type) {
	case string:
		allowed = kindOf(said)
	case []any:
		for _, item := range said {
			name, _ := item.(string)
			allowed |= kindOf(name)
		}
	}
	if allowed == 0 {
		return kindAny, false
	}
	if object["nullable"] == true && !s.newer() {
		allowed |= kindNull
	}
	return allowed, true
}

// newer reports whether null is a type, and nullable no keyword: from OpenAPI 3.1 on.
func (s *source) newer() bool { return s.kind == contract.OpenAPI && s.release != "3.0" }

func (b *bundle) nullableSaid() bool {
	if b.from.newer() {
		return false
	}
	for _, part := range b.parts {
		if part.object["nullable"] == true {
			return true
		}
	}
	return false
}

// implied gives the types that the keywords of a schema without a type are about.
func (b *bundle) implied() kinds {
	var about kinds
	for _, part := range b.parts {
		for key, value := range part.object {
			switch key {
			case "properties", "required", "additionalProperties", "patternProperties", "minProperties", "maxProperties", "propertyNames":
				about |= kindObject
			case "items", "prefixItems", "minItems", "maxItems", "uniqueItems":
				about |= kindArray
			case "pattern", "minLength", "maxLength", "contentEncoding", "contentMediaType":
				about |= kindString
			case "minimum", "maximum", "multipleOf", "exclusiveMinimum", "exclusiveMaximum":
				about |= kindNumber
			case "enum":
				list, _ := value.([]any)
				for _, item := range list {
					about |= kindOfValue(item)
				}
			case "const":
				about |= kindOfValue(value)
			}
		}
	}
	if about == 0 || b.never != "" {
		return kindAny
	}
	return about
}

func kindOf(name string) kinds {
	return map[string]kinds{
		"null": kindNull, "boolean": kindBoolean, "integer": kindInteger, "number": kindNumber, "string": kindString, "array": kindArray, "object": kindObject,
	}[name]
}

func kindOfValue(value any) kinds {
	switch v := value.(type) {
	case nil:
		return kindNull
	case bool:
		return kindBoolean
	case string:
		return kindString
	case []any:
		return kindArray
	case map[string]any:
		return kindObject
	default:
		if n := rational(v); n != nil && n.IsInt() {
			return kindInteger
		}
		return kindNumber
	}
}

// text names the types, as the keyword type does.
func (k kinds) text() i18n.Message {
	if k == kindAny || k == kindAny&^kindNull {
		return "changes.type-any"
	}
	var list []string
	for _, kind := range []struct {
		bits kinds
		name string
	}{{kindBoolean, "boolean"}, {kindString, "string"}, {kindArray, "array"}, {kindObject, "object"}, {kindNull, "null"}} {
		if k&kind.bits != 0 {
			list = append(list, kind.name)
		}
	}
	switch k & kindNumber {
	case kindNumber, kindFraction:
		list = append(list, "number")
	case kindInteger:
		list = append(list, "integer")
	}
	if len(list) == 0 {
		return "changes.type-none"
	}
	return i18n.Raw(strings.Join(distinct(list), ", "))
}
