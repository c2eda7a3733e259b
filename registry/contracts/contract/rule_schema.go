package contract

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// schemaRules are the rules on schemas, the same in both specifications.
type schemaRules struct {
	*report
	fit    *fitter
	arrays bool // items must be there, as OpenAPI 3.0 wants
}

func (s *schemaRules) check(schema map[string]any, at *place) {
	if _, isReference := schema["$ref"]; isReference && s.fit.refAlone {
		return
	}
	s.samples(schema, at)
	s.enum(schema, at)
	s.required(schema, at)
	s.readWrite(schema, at)
	s.discriminator(schema, at)
	if _, has := schema["items"]; s.arrays && schema["type"] == "array" && !has {
		s.error("array-items", at, "The schema is of type array and does not say what its items are.", "Add items; OpenAPI 3.0 wants it. Write items: {} for anything.")
	}
}

// samples holds the default and the examples of a schema against it.
func (s *schemaRules) samples(schema map[string]any, at *place) {
	for _, key := range []string{"default", "example"} {
		if value, ok := schema[key]; ok {
			s.sample(value, schema, at.to(key))
		}
	}
	for i, value := range items(schema, "examples") {
		if i < 20 {
			s.sample(value, schema, at.to("examples", strconv.Itoa(i)))
		}
	}
}

// sample reports an example or default that its schema does not allow.
func (s *schemaRules) sample(value any, schema any, at *place) {
	m := s.fit.fits(value, schema, 0)
	if m == nil {
		return
	}
	s.warn("example-mismatch", m.at(at), fmt.Sprintf("The value shown here does not fit its own schema: %s.", m.text),
		"Correct the value, or the schema: readers try what they see.")
}

// enum reports values that the rest of the schema never allows.
func (s *schemaRules) enum(schema map[string]any, at *place) {
	list := items(schema, "enum")
	if len(list) == 0 || len(texts(schema["type"])) == 0 || len(list) > 1000 {
		return
	}
	for i, value := range list {
		if s.fit.nullable && value == nil && schema["nullable"] == true {
			continue
		}
		if m := s.fit.ofType(value, schema); m != nil {
			s.warn("enum-mismatch", at.to("enum", strconv.Itoa(i)), fmt.Sprintf("The value %s is listed, but %s.", quoteValue(value), m.text),
				"Correct the value or the type, for nothing is both.")
		}
	}
}

// required reports names that properties does not have. A schema that is composed may have them from elsewhere.
func (s *schemaRules) required(schema map[string]any, at *place) {
	properties := child(schema, "properties")
	if properties == nil || partOfAnother(at) {
		return
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf", "$ref", "$dynamicRef", "if", "patternProperties", "not"} {
		if _, ok := schema[key]; ok {
			return
		}
	}
	for i, name := range texts(schema["required"]) {
		if _, ok := properties[name]; !ok {
			s.warn("required-undeclared", at.to("required", strconv.Itoa(i)), fmt.Sprintf("The member %q is required, but properties does not describe it.", shorten(name, 80)),
				"Add it to properties, or correct the name.")
		}
	}
}

// partOfAnother reports whether a schema is a part of an allOf or its like.
func partOfAnother(at *place) bool {
	for _, p := range []*place{at, at.up()} {
		if p != nil && slices.Contains([]string{"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"}, p.token) {
			return true
		}
	}
	return false
}

func (s *schemaRules) readWrite(schema map[string]any, at *place) {
	if schema["readOnly"] == true && schema["writeOnly"] == true {
		s.warn("read-write-only", at, "The schema is readOnly and writeOnly at once, so that the value is never there.", "Keep one of the two.")
	}
}

// discriminator checks that the forms have the property that distinguishes them.
func (s *schemaRules) discriminator(schema map[string]any, at *place) {
	name := member(child(schema, "discriminator"), "propertyName")
	if name == "" {
		return
	}
	forms := append(slices.Clone(items(schema, "oneOf")), items(schema, "anyOf")...)
	if len(forms) == 0 {
		forms = []any{schema}
	}
	for _, form := range forms[:min(len(forms), 200)] {
		if has, sure := s.declares(form, name, 0); sure && !has {
			s.warn("discriminator-property", at.to("discriminator", "propertyName"), fmt.Sprintf("The property %q is not described by each of the schemas that it tells apart.", shorten(name, 80)),
				"Add the property to each of them and make it required.")
			return
		}
	}
}

// declares reports whether a schema describes a property; not sure when it could come from elsewhere.
func (s *schemaRules) declares(value any, name string, depth int) (has, sure bool) {
	object, _ := s.refs.object(value, nil)
	if s.fit.budget--; object == nil || depth > 10 || s.fit.budget < 0 {
		return false, false
	}
	if _, ok := child(object, "properties")[name]; ok {
		return true, true
	}
	sure = true
	for _, key := range []string{"allOf", "oneOf", "anyOf"} {
		for _, part := range items(object, key) {
			partHas, partSure := s.declares(part, name, depth+1)
			if partHas {
				return true, true
			}
			sure = sure && partSure
		}
	}
	return false, sure
}

// checkMapping holds the plain names of a discriminator mapping against the schemas.
func checkMapping(r *report, schemas, schema map[string]any, at *place) {
	mapping := child(child(schema, "discriminator"), "mapping")
	for _, value := range sortedKeys(mapping) {
		name, ok := mapping[value].(string)
		if !ok || strings.ContainsAny(name, "#/:") || strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml") {
			continue // a reference
		}
		if _, known := schemas[name]; !known {
			r.error("discriminator-mapping", at.to("discriminator", "mapping", value), fmt.Sprintf("The schema %q is not under components/schemas.", shorten(name, 80)),
				"Correct the name, or add the schema.")
		}
	}
}
