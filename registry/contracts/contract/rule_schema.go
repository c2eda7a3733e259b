package contract

import (
	"slices"
	"strconv"
	"strings"

	"schakel/templates/i18n"
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
		s.error("array-items", at, "findings.array-items", "findings.array-items-remedy")
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
	s.warn("example-mismatch", m.at(at), i18n.M("findings.example-mismatch", m.text()),
		"findings.example-mismatch-remedy")
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
			s.warn("enum-mismatch", at.to("enum", strconv.Itoa(i)), i18n.M("findings.enum-mismatch", quoteValue(value), m.text()),
				"findings.enum-mismatch-remedy")
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
			s.warn("required-undeclared", at.to("required", strconv.Itoa(i)), i18n.M("findings.required-undeclared", shorten(name, 80)),
				"findings.required-undeclared-remedy")
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
		s.warn("read-write-only", at, "findings.read-write-only", "findings.keep-one-remedy")
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
			s.warn("discriminator-property", at.to("discriminator", "propertyName"), i18n.M("findings.discriminator-property", shorten(name, 80)),
				"findings.discriminator-property-remedy")
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
			r.error("discriminator-mapping", at.to("discriminator", "mapping", value), i18n.M("findings.discriminator-mapping", shorten(name, 80)),
				"findings.discriminator-mapping-remedy")
		}
	}
}
