package contract

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func TestFits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		schema, value, why string
	}{
		{`{}`, `5`, ""},
		{`false`, `5`, "nothing is allowed"},
		{`{"type": "integer"}`, `5.0`, ""},
		{`{"type": ["string", "null"]}`, `5`, "must be string or null"},
		{`{"enum": [1, {"a": [2.0]}]}`, `{"a": [2]}`, ""},
		{`{"const": "a"}`, `"b"`, "one value"},
		{`{"minimum": 5, "exclusiveMaximum": 6}`, `6`, "exclusiveMaximum"},
		{`{"minimum": 5}`, `4.9`, "less than the minimum"},
		{`{"minLength": 2}`, `"é"`, "shorter than 2"},
		{`{"maxLength": 1}`, `"éé"`, "longer than 1"},
		{`{"pattern": "^a+$"}`, `"b"`, "pattern"},
		{`{"pattern": "^(?!b)"}`, `"b"`, ""},
		{`{"minItems": 2}`, `[1]`, "fewer than 2"},
		{`{"maxItems": 0}`, `[1]`, "more than 0"},
		{`{"prefixItems": [{}], "items": {"type": "string"}}`, `[1, 2]`, "at /1 it is number"},
		{`{"required": ["a", "b"], "properties": {"a": {"readOnly": true}}}`, `{"b": 1}`, ""},
		{`{"required": ["a"]}`, `{"b": 1}`, `"a" is missing`},
		{`{"properties": {"a": {}}, "additionalProperties": false}`, `{"b": 1}`, "at /b the member is not known"},
		{`{"patternProperties": {"^b": {}}, "additionalProperties": false}`, `{"b": 1}`, ""},
		{`{"additionalProperties": {"type": "string"}}`, `{"b": 1}`, "at /b"},
		{`{"allOf": [{"type": "string"}]}`, `1`, "must be string"},
		{`{"anyOf": [{"type": "string"}, {"type": "null"}]}`, `1`, "none of the 2 forms"},
		{`{"oneOf": [{"type": "string"}]}`, `1`, "must be string"},
	} {
		f := newFitter(newResolver(nil), OpenAPI, "3.1")
		got := ""
		if m := f.fits(decoded(t, tt.value), decoded(t, tt.schema), 0); m != nil {
			got = described(m)
		}
		if (got == "") != (tt.why == "") || !strings.Contains(got, tt.why) {
			t.Errorf("%s against %s: got %q, want %q", tt.value, tt.schema, got, tt.why)
		}
	}
}

func described(m *misfit) string {
	if at := m.at(top()).String(); at != "" {
		return "at " + at + " " + m.text
	}
	return m.text
}

func decoded(t testing.TB, content string) any {
	t.Helper()
	value, p := readJSON([]byte(content), Limits{}.withDefaults())
	if p != nil {
		t.Fatal(p.detail)
	}
	return value
}

// FuzzFits holds the fitter against a whole validator: what it says does not fit, must not fit there either.
func FuzzFits(f *testing.F) {
	f.Add(`{"type": ["string", "null"], "enum": ["a", 1.0]}`, `1`)
	f.Add(`{"properties": {"a": {"minimum": 1}}, "required": ["a"], "additionalProperties": false}`, `{"a": 0, "b": []}`)
	f.Add(`{"prefixItems": [{}], "items": {"anyOf": [{"maxLength": 1}, {"const": null}]}, "minItems": 2}`, `[1, "ab"]`)
	f.Add(`{"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"pattern": "^x"}}}`, `"y"`)
	f.Fuzz(func(t *testing.T, schema, value string) {
		s, p := readJSON([]byte(schema), small().withDefaults())
		v, q := readJSON([]byte(value), small().withDefaults())
		object, ok := s.(map[string]any)
		if p != nil || q != nil || !ok || strings.Contains(schema, "readOnly") || strings.Contains(schema, "$id") || strings.Contains(schema, "nchor") || strings.Contains(schema, "$schema") {
			return
		}
		m := newFitter(newResolver(object), OpenAPI, "3.1").fits(v, s, 0)
		if m == nil {
			return
		}
		c := jsonschema.NewCompiler()
		c.UseRegexpEngine(ecmaRegexp)
		c.UseLoader(sealed{})
		if err := c.AddResource("https://example.nl/s", s); err != nil {
			return
		}
		compiled, err := c.Compile("https://example.nl/s")
		if err != nil {
			return // no schema at all
		}
		if err := compiled.Validate(v); err == nil {
			written, _ := json.Marshal(v)
			t.Errorf("%s fits %s, but %s", written, schema, described(m))
		}
	})
}
