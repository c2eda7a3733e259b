package contract

import (
	"encoding/json"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"
)

// fitter checks a value that the author gives, an example or default, against the schema beside it. It knows the keywords
// that people use; what it does not know, it takes to fit, so that it never reports a value that is right. The jsonschema
// package does not serve here: it compiles a schema for 2 to 6 ms each, more in a larger document, and a document of 13 MB
// has 9,000 schemas with an example (a minute, where this takes 0.1 s); it does not know nullable either.
type fitter struct {
	refs     *resolver
	nullable bool // OpenAPI 3.0: nullable is a keyword
	refAlone bool // what stands beside a reference does not count
	budget   int
	patterns map[string]*regexp.Regexp
}

// fitWork bounds what one document may cost, in schemas looked at; maxFitDepth how deep a value is followed.
const (
	fitWork     = 300_000
	maxFitDepth = 50
)

func newFitter(refs *resolver, kind Kind, release string) *fitter {
	return &fitter{
		refs: refs, nullable: kind == OpenAPI && release == "3.0", refAlone: kind == AsyncAPI || release == "3.0",
		budget: fitWork, patterns: map[string]*regexp.Regexp{},
	}
}

func (f *fitter) fits(value, schema any, depth int) *misfit {
	f.budget--
	if f.budget < 0 || depth > maxFitDepth {
		return nil
	}
	if never, ok := schema.(bool); ok && !never {
		return wrongValue("findings.misfit-nothing")
	}
	object, ok := schema.(map[string]any)
	if !ok || f.nullable && value == nil && object["nullable"] == true {
		return nil
	}
	if ref, ok := object["$ref"].(string); ok {
		if target, _, how := f.refs.follow(map[string]any{"$ref": ref}, ""); how == found {
			if m := f.fits(value, target, depth+1); m != nil {
				return m
			}
		}
		if f.refAlone {
			return nil
		}
	}
	for _, check := range []func(any, map[string]any) *misfit{f.ofType, f.ofList, f.ofNumber, f.ofText} {
		if m := check(value, object); m != nil {
			return m
		}
	}
	if m := f.structure(value, object, depth); m != nil {
		return m
	}
	return f.composed(value, object, depth)
}

func (f *fitter) ofType(value any, schema map[string]any) *misfit {
	types := texts(schema["type"])
	if len(types) == 0 || slices.ContainsFunc(types, func(t string) bool { return isOfType(value, t) }) {
		return nil
	}
	return wrongValue("findings.misfit-type", jsonType(value), shownTypes(types))
}

func isOfType(value any, name string) bool {
	switch name {
	case "object", "array", "string", "boolean", "null":
		return jsonType(value) == name
	case "number":
		_, ok := value.(json.Number)
		return ok
	case "integer":
		n, ok := exact(value)
		return ok && n.IsInt()
	}
	return true // a type of another language
}

func jsonType(value any) string {
	switch value.(type) {
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case string:
		return "string"
	case bool:
		return "boolean"
	case nil:
		return "null"
	}
	return "number"
}

// exact reads a number; the parser bounds its digits.
func exact(value any) (*big.Rat, bool) {
	number, ok := value.(json.Number)
	if !ok {
		return nil, false
	}
	return new(big.Rat).SetString(number.String())
}

// ofList checks const and enum.
func (f *fitter) ofList(value any, schema map[string]any) *misfit {
	// OpenAPI 3.0 has no const.
	if fixed, ok := schema["const"]; ok && !equal(value, fixed) && !f.nullable {
		return wrongValue("findings.misfit-const", shownValue{fixed})
	}
	list, ok := schema["enum"].([]any)
	if !ok || len(list) > 1000 || slices.ContainsFunc(list, func(allowed any) bool { return equal(value, allowed) }) {
		return nil
	}
	return wrongValue("findings.misfit-enum", shownValue{value})
}

// equal compares as JSON Schema does: 1 and 1.0 are the same.
func equal(a, b any) bool {
	if x, ok := exact(a); ok {
		y, ok := exact(b)
		return ok && x.Cmp(y) == 0
	}
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for key, value := range a {
			if other, ok := b[key]; !ok || !equal(value, other) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(a, b)
}

func (f *fitter) ofNumber(value any, schema map[string]any) *misfit {
	n, ok := exact(value)
	if !ok {
		return nil
	}
	for _, bound := range []struct {
		key, exclusive, text string
		sign                 int
	}{{"minimum", "exclusiveMinimum", "findings.misfit-minimum", -1}, {"maximum", "exclusiveMaximum", "findings.misfit-maximum", 1}} {
		limit, ok := exact(schema[bound.key])
		if ok && (n.Cmp(limit) == bound.sign || schema[bound.exclusive] == true && n.Cmp(limit) == 0) {
			return wrongValue(bound.text, shownValue{value})
		}
		limit, ok = exact(schema[bound.exclusive])
		if ok && (n.Cmp(limit) == bound.sign || n.Cmp(limit) == 0) {
			return wrongValue("findings.misfit-exclusive", quoteValue(value), bound.exclusive)
		}
	}
	return nil
}

func (f *fitter) ofText(value any, schema map[string]any) *misfit {
	text, ok := value.(string)
	if !ok {
		return nil
	}
	length := utf8.RuneCountInString(text)
	if least, ok := count(schema["minLength"]); ok && length < least {
		return wrongValue("findings.misfit-shorter", least)
	}
	if most, ok := count(schema["maxLength"]); ok && length > most {
		return wrongValue("findings.misfit-longer", most)
	}
	pattern, _ := schema["pattern"].(string)
	if matches := f.matches(pattern, text); !matches {
		return wrongValue("findings.misfit-pattern", shorten(pattern, 80))
	}
	return nil
}

// matches reports whether a pattern matches; one that cannot be read in linear time matches all.
func (f *fitter) matches(pattern, text string) bool {
	if pattern == "" || len(pattern) > 1000 || len(text) > 10_000 {
		return true
	}
	compiled, known := f.patterns[pattern]
	if !known && len(f.patterns) < 2000 {
		compiled, _ = regexp.Compile(pattern) // nil for what only ECMA-262 knows
		f.patterns[pattern] = compiled
	}
	return compiled == nil || compiled.MatchString(text)
}

// count reads a whole number that fits an int.
func count(value any) (int, bool) {
	number, ok := value.(json.Number)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(number.String())
	return n, err == nil && n >= 0
}

// structure looks at the items of a list and the members of an object.
func (f *fitter) structure(value any, schema map[string]any, depth int) *misfit {
	switch v := value.(type) {
	case []any:
		return f.array(v, schema, depth)
	case map[string]any:
		if m := f.required(v, schema); m != nil {
			return m
		}
		return f.members(v, schema, depth)
	}
	return nil
}

func (f *fitter) array(list []any, schema map[string]any, depth int) *misfit {
	if least, ok := count(schema["minItems"]); ok && len(list) < least {
		return wrongValue("findings.misfit-fewer", least)
	}
	if most, ok := count(schema["maxItems"]); ok && len(list) > most {
		return wrongValue("findings.misfit-more", most)
	}
	first := len(items(schema, "prefixItems"))
	if _, isList := schema["items"].([]any); isList || schema["items"] == nil {
		return nil
	}
	for i := first; i < len(list) && i < first+100; i++ {
		if m := f.fits(list[i], schema["items"], depth+1); m != nil {
			return m.within(strconv.Itoa(i))
		}
	}
	return nil
}

// required leaves out what is only read or only written: an example shows one of the two.
func (f *fitter) required(object, schema map[string]any) *misfit {
	for _, name := range texts(schema["required"]) {
		if _, ok := object[name]; ok {
			continue
		}
		property, _ := f.refs.object(child(schema, "properties")[name], nil)
		if property["readOnly"] != true && property["writeOnly"] != true {
			return wrongValue("findings.misfit-missing", shorten(name, 80))
		}
	}
	return nil
}

func (f *fitter) members(object, schema map[string]any, depth int) *misfit {
	properties, patterns := child(schema, "properties"), child(schema, "patternProperties")
	others, limited := schema["additionalProperties"]
	for _, name := range sortedKeys(object) {
		property, known := properties[name]
		if known {
			if m := f.fits(object[name], property, depth+1); m != nil {
				return m.within(name)
			}
		}
		if !known && limited && !f.matchesAny(patterns, name) {
			if others == false {
				return wrongValue("findings.misfit-unknown").within(name)
			}
			if m := f.fits(object[name], others, depth+1); m != nil {
				return m.within(name)
			}
		}
	}
	return nil
}

func (f *fitter) matchesAny(patterns map[string]any, name string) bool {
	for pattern := range patterns {
		if f.matches(pattern, name) {
			return true
		}
	}
	return false
}

func (f *fitter) composed(value any, schema map[string]any, depth int) *misfit {
	for _, part := range items(schema, "allOf") {
		if m := f.fits(value, part, depth+1); m != nil {
			return m
		}
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if m := f.oneOf(value, items(schema, key), depth); m != nil {
			return m
		}
	}
	return nil
}

// oneOf gives the misfit when no form fits; that of the only form where there is one.
func (f *fitter) oneOf(value any, forms []any, depth int) *misfit {
	var last *misfit
	for _, form := range forms {
		if last = f.fits(value, form, depth+1); last == nil {
			return nil
		}
	}
	if len(forms) <= 1 {
		return last
	}
	return wrongValue("findings.misfit-forms", len(forms))
}
