package compare

import (
	"strings"
	"testing"
)

// What a keyword does to the values that a schema allows, from the first schema of a row to the second.
const (
	narrows = "narrows" // the way back widens
	differs = "differs" // other values, either way
	unsure  = "unsure"  // it cannot be told
	opens   = "limits"  // as narrows, but readers are only warned of the way back
	idle    = "idle"    // the values stay the same
)

// keywords has a row for each keyword of a schema that matters to what is sent, and for each way it can change.
func keywords() [][4]string {
	const a, b = `{"$ref":"#/components/schemas/A"}`, `{"$ref":"#/components/schemas/B"}`
	return [][4]string{
		{"type added", narrows, `{}`, `{"type":"object"}`},
		{"one type less", narrows, `{"type":["object","array"]}`, `{"type":"object"}`},
		{"another type", differs, `{"type":"object"}`, `{"type":"array"}`},
		{"number to integer", narrows, `{"type":"number"}`, `{"type":"integer"}`},
		{"format", narrows, `{"type":"string"}`, `{"type":"string","format":"uuid"}`},
		{"another format", differs, `{"type":"string","format":"date-time"}`, `{"type":"string","format":"date"}`},
		{"smaller format", narrows, `{"type":"integer","format":"int64"}`, `{"type":"integer","format":"int32"}`},
		{"enum introduced", narrows, `{"type":"string"}`, `{"type":"string","enum":["x"]}`},
		{"enum value", narrows, `{"type":"string","enum":["x","y"]}`, `{"type":"string","enum":["x"]}`},
		{"const", narrows, `{"type":"string"}`, `{"type":"string","const":"x"}`},
		{"another const", differs, `{"type":"string","const":"y"}`, `{"type":"string","const":"x"}`},
		{"enum to const", narrows, `{"type":"string","enum":["x","y"]}`, `{"type":"string","const":"x"}`},
		{"pattern", narrows, `{"type":"string"}`, `{"type":"string","pattern":"^a$"}`},
		{"another pattern", unsure, `{"type":"string","pattern":"^b$"}`, `{"type":"string","pattern":"^a$"}`},
		{"minLength", narrows, `{"type":"string"}`, `{"type":"string","minLength":2}`},
		{"minLength raised", narrows, `{"type":"string","minLength":1}`, `{"type":"string","minLength":2}`},
		{"maxLength", narrows, `{"type":"string"}`, `{"type":"string","maxLength":2}`},
		{"maxLength lowered", narrows, `{"type":"string","maxLength":3}`, `{"type":"string","maxLength":2}`},
		{"minimum", narrows, `{"type":"integer"}`, `{"type":"integer","minimum":2}`},
		{"minimum raised", narrows, `{"type":"number","minimum":1.5}`, `{"type":"number","minimum":1.75}`},
		{"maximum", narrows, `{"type":"integer"}`, `{"type":"integer","maximum":2}`},
		{"maximum lowered", narrows, `{"type":"integer","maximum":3}`, `{"type":"integer","maximum":2}`},
		{"exclusiveMinimum", narrows, `{"type":"number"}`, `{"type":"number","exclusiveMinimum":2}`},
		{"minimum to exclusiveMinimum", narrows, `{"type":"number","minimum":2}`, `{"type":"number","exclusiveMinimum":2}`},
		{"exclusiveMaximum lowered", narrows, `{"type":"number","exclusiveMaximum":3}`, `{"type":"number","exclusiveMaximum":2}`},
		{"multipleOf", narrows, `{"type":"integer"}`, `{"type":"integer","multipleOf":2}`},
		{"multipleOf coarser", narrows, `{"type":"integer","multipleOf":2}`, `{"type":"integer","multipleOf":4}`},
		{"multipleOf apart", differs, `{"type":"integer","multipleOf":2}`, `{"type":"integer","multipleOf":3}`},
		{"limit of another type", idle, `{"type":"integer"}`, `{"type":"integer","maxLength":2}`},
		{"minItems", narrows, `{"type":"array","items":{}}`, `{"type":"array","items":{},"minItems":1}`},
		{"maxItems lowered", narrows, `{"type":"array","items":{},"maxItems":2}`, `{"type":"array","items":{},"maxItems":1}`},
		{"uniqueItems", narrows, `{"type":"array","items":{}}`, `{"type":"array","items":{},"uniqueItems":true}`},
		{"items", narrows, `{"type":"array"}`, `{"type":"array","items":{"type":"object"}}`},
		{"items enum", narrows, `{"type":"array","items":{"type":"string"}}`, `{"type":"array","items":{"type":"string","enum":["x"]}}`},
		{"prefixItems", narrows, `{"type":"array"}`, `{"type":"array","prefixItems":[{"type":"object"}]}`},
		{"prefixItems narrower", narrows, `{"type":"array","prefixItems":[{"type":"string"}]}`, `{"type":"array","prefixItems":[{"type":"string","maxLength":3}]}`},
		{"items after prefixItems", narrows, `{"type":"array","prefixItems":[{}]}`, `{"type":"array","prefixItems":[{}],"items":false}`},
		{"unevaluatedItems", narrows, `{"type":"array","prefixItems":[{}]}`, `{"type":"array","prefixItems":[{}],"unevaluatedItems":false}`},
		{"contains", narrows, `{"type":"array"}`, `{"type":"array","contains":{"type":"string"}}`},
		{"contains narrower", narrows, `{"type":"array","contains":{"type":"string"}}`, `{"type":"array","contains":{"type":"string","maxLength":4}}`},
		{"minContains", narrows, `{"type":"array","contains":{"type":"string"}}`, `{"type":"array","contains":{"type":"string"},"minContains":2}`},
		{"maxContains", narrows, `{"type":"array","contains":{"type":"string"}}`, `{"type":"array","contains":{"type":"string"},"maxContains":2}`},
		{"minProperties", narrows, `{"type":"object"}`, `{"type":"object","minProperties":1}`},
		{"maxProperties lowered", narrows, `{"type":"object","maxProperties":2}`, `{"type":"object","maxProperties":1}`},
		{"required", narrows, `{"type":"object","properties":{"q":{}}}`, `{"type":"object","properties":{"q":{}},"required":["q"]}`},
		{"required, undeclared", narrows, `{"type":"object"}`, `{"type":"object","required":["q"]}`},
		{"required of a base", narrows, `{"allOf":[` + a + `]}`, `{"allOf":[` + a + `],"required":["k"]}`},
		{"patternProperties", narrows, `{"type":"object"}`, `{"type":"object","patternProperties":{"^a":{"type":"string"}}}`},
		{"patternProperties narrower", narrows, `{"type":"object","patternProperties":{"^a":{"type":"string"}}}`, `{"type":"object","patternProperties":{"^a":{"type":"string","maxLength":3}}}`},
		{"propertyNames", narrows, `{"type":"object"}`, `{"type":"object","propertyNames":{"maxLength":3}}`},
		{"additionalProperties", opens, `{"type":"object"}`, `{"type":"object","additionalProperties":false}`},
		{"additionalProperties of a type", opens, `{"type":"object"}`, `{"type":"object","additionalProperties":{"type":"string"}}`},
		{"additionalProperties narrower", narrows, `{"type":"object","additionalProperties":{"type":"string"}}`, `{"type":"object","additionalProperties":{"type":"string","maxLength":3}}`},
		{"unevaluatedProperties", opens, `{"type":"object"}`, `{"type":"object","unevaluatedProperties":false}`},
		{"unevaluatedProperties narrower", narrows, `{"type":"object","unevaluatedProperties":{"type":"string"}}`, `{"type":"object","unevaluatedProperties":{"type":"string","maxLength":3}}`},
		{"dependentRequired", narrows, `{"type":"object"}`, `{"type":"object","dependentRequired":{"a":["b"]}}`},
		{"dependentRequired of more", narrows, `{"type":"object","dependentRequired":{"a":["b"]}}`, `{"type":"object","dependentRequired":{"a":["b","c"]}}`},
		{"dependentSchemas", narrows, `{"type":"object"}`, `{"type":"object","dependentSchemas":{"a":{"required":["b"]}}}`},
		{"dependencies", narrows, `{"type":"object"}`, `{"type":"object","dependencies":{"a":["b"]}}`},
		{"if and then", narrows, `{"type":"object"}`, `{"type":"object","if":{"required":["a"]},"then":{"required":["b"]}}`},
		{"then narrower", narrows, `{"type":"object","if":{"required":["a"]},"then":{"properties":{"z":{"type":"string"}}}}`, `{"type":"object","if":{"required":["a"]},"then":{"properties":{"z":{"type":"string","maxLength":2}}}}`},
		{"else narrower", narrows, `{"type":"object","if":{"required":["a"]},"else":{"properties":{"z":{"type":"string"}}}}`, `{"type":"object","if":{"required":["a"]},"else":{"properties":{"z":{"type":"string","maxLength":2}}}}`},
		{"another if", unsure, `{"type":"object","if":{"required":["a"]},"then":{"required":["c"]}}`, `{"type":"object","if":{"required":["b"]},"then":{"required":["c"]}}`},
		{"not", narrows, `{"type":"string"}`, `{"type":"string","not":{"enum":["x"]}}`},
		{"not wider", narrows, `{"type":"string","not":{"enum":["x"]}}`, `{"type":"string","not":{"enum":["x","y"]}}`},
		{"oneOf branch", narrows, `{"oneOf":[{"type":"object"},{"type":"array"}]}`, `{"oneOf":[{"type":"object"}]}`},
		{"oneOf shared branch", narrows, `{"oneOf":[` + a + `,` + b + `,{"type":"array"}]}`, `{"oneOf":[` + a + `,{"type":"array"}]}`},
		{"oneOf branch narrower", narrows, `{"oneOf":[{"type":"string"},{"type":"object"}]}`, `{"oneOf":[{"type":"string","maxLength":2},{"type":"object"}]}`},
		{"oneOf introduced", narrows, `{}`, `{"oneOf":[{"type":"object"},{"type":"array"}]}`},
		{"one of several instead of one", narrows, `{"oneOf":[{"type":"object","properties":{"x":{"type":"string"}}},{"type":"array"}]}`, `{"type":"object","properties":{"x":{"type":"string"}}}`},
		{"anyOf branch", narrows, `{"anyOf":[{"type":"object"},{"type":"array"}]}`, `{"anyOf":[{"type":"object"}]}`},
		{"anyOf branch narrower", narrows, `{"anyOf":[{"type":"string"},{"type":"object"}]}`, `{"anyOf":[{"type":"string","maxLength":2},{"type":"object"}]}`},
		{"allOf", narrows, `{"allOf":[{"type":"string"}]}`, `{"allOf":[{"type":"string"},{"maxLength":3}]}`},
		{"allOf narrower", narrows, `{"allOf":[{"type":"string"},{"maxLength":4}]}`, `{"allOf":[{"type":"string"},{"maxLength":3}]}`},
		{"contentEncoding", differs, `{"type":"string"}`, `{"type":"string","contentEncoding":"base64"}`},
		{"contentMediaType", narrows, `{"type":"string"}`, `{"type":"string","contentMediaType":"application/json"}`},
		{"contentSchema", narrows, `{"type":"string","contentSchema":{"type":"object","properties":{"x":{"type":"string"}}}}`, `{"type":"string","contentSchema":{"type":"object","properties":{"x":{"type":"string","maxLength":3}}}}`},
		{"another $dynamicRef", unsure, `{"$dynamicRef":"#a"}`, `{"$dynamicRef":"#b"}`},
		{"reference outside", unsure, `{"$ref":"https://one.example/s.json"}`, `{"$ref":"https://two.example/s.json"}`},
		{"discriminator", narrows, `{"oneOf":[` + a + `,` + b + `]}`, `{"oneOf":[` + a + `,` + b + `],"discriminator":{"propertyName":"k"}}`},
		{"another discriminator", differs, `{"oneOf":[` + a + `,` + b + `],"discriminator":{"propertyName":"l"}}`, `{"oneOf":[` + a + `,` + b + `],"discriminator":{"propertyName":"k"}}`},
		{"discriminator mapped elsewhere", differs, `{"oneOf":[` + a + `,` + b + `],"discriminator":{"propertyName":"k","mapping":{"x":"#/components/schemas/A"}}}`, `{"oneOf":[` + a + `,` + b + `],"discriminator":{"propertyName":"k","mapping":{"x":"#/components/schemas/B"}}}`},
		{"nothing allowed", narrows, `{}`, `false`},
		{"deprecated", idle, `{"type":"object"}`, `{"type":"object","deprecated":true}`},
		{"xml", idle, `{"type":"object"}`, `{"type":"object","xml":{"name":"q"}}`},
	}
}

type place struct {
	name, prefix, suffix string
	read, text           bool
}

func places() []place {
	const shared = `"components":{"schemas":{"A":{"type":"object","properties":{"k":{"type":"string"},"l":{"type":"string"},"a":{"type":"string"}}},"B":{"type":"object","properties":{"k":{"type":"string"},"l":{"type":"string"},"b":{"type":"integer"}}}}}}`
	const head, async = `{"openapi":"3.1.0","info":{"title":"T","version":"1"},"paths":{"/a":`, `{"asyncapi":"3.0.0","info":{"title":"T","version":"1"},"channels":{"c":{"address":"a","messages":{"m":{"payload":`
	const body, answer = `{"post":{"requestBody":{"content":{"application/json":{"schema":`, `{"get":{"responses":{"200":{"description":"","content":{"application/json":{"schema":`
	const property = `{"type":"object","properties":{"deep":{"type":"array","items":{"type":"object","properties":{"a":`
	operation := func(action string) string {
		return `}}}},"operations":{"o":{"action":"` + action + `","channel":{"$ref":"#/channels/c"}}},` + shared
	}
	return []place{
		{"body of a request", head + body, `}}},"responses":{}}}},` + shared, false, false},
		{"property in a request", head + body + property, `}}}}}` + `}}},"responses":{}}}},` + shared, false, false},
		{"body of an answer", head + answer, `}}}}}}},` + shared, true, false},
		{"property in an answer", head + answer + property, `}}}}}` + `}}}}}}},` + shared, true, false},
		{"parameter", head + `{"get":{"parameters":[{"name":"p","in":"query","schema":`, `}],"responses":{}}}},` + shared, false, true},
		{"header of an answer", head + `{"get":{"responses":{"200":{"description":"","headers":{"X-H":{"schema":`, `}}}}}}},` + shared, true, true},
		{"body of a callback", head + `{"post":{"responses":{},"callbacks":{"c":{"{$url}":` + body, `}}},"responses":{}}}}}}}},` + shared, true, false},
		{"payload that is sent", async, operation("send"), true, false},
		{"payload that is received", async, operation("receive"), false, false},
	}
}

// TestKeywords changes each keyword of a schema in each place that a schema can stand in, both ways: what may harm those
// who are bound is found, what cannot is not called breaking, and nothing goes unnoticed.
func TestKeywords(t *testing.T) {
	t.Parallel()
	for _, row := range keywords() {
		for _, at := range places() {
			forth := Worst(compared(t, at.prefix+row[2]+at.suffix, at.prefix+row[3]+at.suffix))
			back := Worst(compared(t, at.prefix+row[3]+at.suffix, at.prefix+row[2]+at.suffix))
			wantForth, wantBack := Breaking, Info
			if at.read {
				wantForth, wantBack = Info, Breaking
			}
			switch row[1] {
			case differs:
				wantForth, wantBack = Breaking, Breaking
			case unsure:
				wantForth, wantBack = Warning, Warning
			case idle:
				wantForth, wantBack = Info, Info
			case opens:
				if at.read {
					wantBack = Warning
				}
			}
			if forth != wantForth || back != wantBack {
				t.Errorf("%s, in the %s: forth %q, want %q; back %q, want %q", row[0], at.name, forth, wantForth, back, wantBack)
			}
		}
	}
}

// TestKeywordsSame writes each schema of the table in other ways that say the same: as a reference, as the only part of
// allOf or oneOf, with its members in another order, in YAML.
func TestKeywordsSame(t *testing.T) {
	t.Parallel()
	for _, row := range keywords() {
		for _, at := range places() {
			for _, schema := range row[2:] {
				plain := at.prefix + schema + at.suffix
				if strings.Contains(schema, "#a") || strings.Contains(schema, "#b") {
					continue // where a dynamic reference leads depends on where it stands
				}
				for name, other := range map[string]string{
					"reference": strings.Replace(at.prefix+`{"$ref":"#/components/schemas/Moved"}`+at.suffix, `"schemas":{`, `"schemas":{"Moved":`+schema+`,`, 1),
					"allOf":     at.prefix + `{"allOf":[` + schema + `]}` + at.suffix,
					"oneOf":     at.prefix + `{"oneOf":[` + schema + `]}` + at.suffix,
				} {
					if name == "oneOf" && strings.Contains(at.name, "payload") && schema == "false" {
						continue
					}
					if changes := compared(t, plain, other); len(changes) > 0 {
						t.Errorf("%s, in the %s, as %s: %v", row[0], at.name, name, brief(changes))
					}
				}
			}
		}
	}
}
