package outline_test

import (
	"testing"

	"schakel/registry/contracts/outline"
	"schakel/registry/contracts/payload"
)

func TestSampleFitsItsSchema(t *testing.T) {
	t.Parallel()
	for name, schema := range map[string]string{
		"object":     `{"type":"object","required":["id","on","n"],"properties":{"id":{"type":"string","format":"uuid"},"on":{"type":"string","format":"date"},"n":{"type":"integer","minimum":5},"list":{"type":"array","minItems":2,"items":{"type":"string","minLength":9}}}}`,
		"references": `{"$ref":"#/definitions/a","definitions":{"a":{"allOf":[{"type":"object","required":["x"],"properties":{"x":{"enum":["p","q"]}}},{"required":["y"],"properties":{"y":{"type":["null","boolean"]}}}]}}}`,
		"choice":     `{"oneOf":[{"type":"object","required":["a"],"properties":{"a":{"const":3}}},{"type":"string"}]}`,
		"loop":       `{"type":"object","properties":{"self":{"$ref":"#"}}}`,
		"bounds":     `{"type":"object","properties":{"a":{"type":"string","maxLength":2},"b":{"type":"number","exclusiveMinimum":4},"c":{"type":"number","maximum":-3}}}`,
	} {
		compiled, err := payload.Compile(schema)
		if err != nil {
			t.Fatal(name, err)
		}
		made := outline.MakeSample(schema)
		found, err := compiled.Check(made)
		if err != nil || len(found) > 0 {
			t.Errorf("%s: %s does not fit: %v, %v", name, made, found, err)
		}
		if string(made) == "null" {
			t.Errorf("%s: nothing was made", name)
		}
	}
	if got := outline.MakeSample("no JSON"); string(got) != "null" {
		t.Errorf("made %s of nothing", got)
	}
}
