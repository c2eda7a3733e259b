package payload

import (
	"maps"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// stepFormat is the format that every schema gets, so that looking at it can be counted: of all keywords that call us,
// format is the one that comes before anything is looked at below.
const stepFormat = "schakel-step"

// outOfSteps ends a check that takes too much.
type outOfSteps struct{}

func (i *instance) formats() []*jsonschema.Format {
	return []*jsonschema.Format{{Name: stepFormat, Validate: func(v any) error {
		if i.steps -= cost(v); i.steps < 0 {
			panic(outOfSteps{}) // the library has no other way to be stopped; check recovers
		}
		return nil
	}}}
}

// cost estimates the steps to look at a value.
func cost(value any) int {
	switch v := value.(type) {
	case string:
		return 1 + len(v)/64
	case map[string]any:
		return 1 + len(v)
	case []any:
		return 1 + len(v)
	}
	return 1
}

// known reports whether the library checks a format. It runs regular expressions for format regex too, which is left out:
// it would compile what an event says.
func known(format string) bool {
	switch format {
	case "json-pointer", "relative-json-pointer", "uuid", "duration", "period", "ipv4", "ipv6", "hostname", "email", "date", "time",
		"date-time", "uri", "iri", "uri-reference", "iri-reference", "uri-template", "semver":
		return true
	}
	return false
}

// maxSchemaDepth bounds how deep schemas are followed; the parser of contracts has a smaller one.
const maxSchemaDepth = 2_000

// countSteps copies a schema with a step in each schema in it.
func countSteps(value any, depth int) any {
	object, ok := value.(map[string]any)
	if !ok || depth > maxSchemaDepth {
		return value
	}
	copied := maps.Clone(object)
	for key, v := range object {
		switch key {
		case "items", "additionalItems", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames",
			"unevaluatedItems", "unevaluatedProperties", "contentSchema", "allOf", "anyOf", "oneOf", "prefixItems":
			copied[key] = countOneOrAll(v, depth+1)
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies":
			copied[key] = countEach(v, depth+1)
		}
	}
	if format, ok := object["format"].(string); ok && known(format) {
		all, _ := copied["allOf"].([]any)
		copied["allOf"] = append(all[:len(all):len(all)], map[string]any{"format": format})
	}
	copied["format"] = stepFormat
	return copied
}

func countOneOrAll(value any, depth int) any {
	list, ok := value.([]any)
	if !ok {
		return countSteps(value, depth)
	}
	copied := make([]any, len(list))
	for i, item := range list {
		copied[i] = countSteps(item, depth)
	}
	return copied
}

func countEach(value any, depth int) any {
	object, ok := value.(map[string]any)
	if !ok {
		return value
	}
	copied := make(map[string]any, len(object))
	for name, item := range object {
		copied[name] = countSteps(item, depth)
	}
	return copied
}
