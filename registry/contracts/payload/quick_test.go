package payload

import "testing"

// What quick lets pass the library lets pass too; and quick finds that plain data fits plain schemas, or it would be of no use.
//
// Rules: CE-15.
func TestQuick(t *testing.T) {
	t.Parallel()
	const draft2020 = `"$schema":"https://json-schema.org/draft/2020-12/schema"`
	for _, tt := range []struct {
		schema string
		fits   []string // for quick
		others []string // left to the library
	}{
		{
			student,
			[]string{`{"studentId":"1234","enrolledOn":"2026-02-28","credits":30,"form":"part","address":{"street":"A","number":1},"notes":["a","b"]}`},
			[]string{
				`{"studentId":"1234"}`, `{"studentId":"x","enrolledOn":"2026-02-28"}`, `{"studentId":"1234","enrolledOn":"2026-02-30"}`, `[]`,
				`{"studentId":"1234","enrolledOn":"2026-02-28","credits":61}`, `{"studentId":"1234","enrolledOn":"2026-02-28","credits":31}`,
				`{"studentId":"1234","enrolledOn":"2026-02-28","credits":3e1}`, `{"studentId":"1234","enrolledOn":"2026-02-28","x":1}`,
				`{"studentId":"1234","enrolledOn":"2026-02-28","form":"none"}`, `{"studentId":"1234","enrolledOn":"2026-02-28","form":["full"]}`,
				`{"studentId":"1234","enrolledOn":"2026-02-28","notes":["a","a"]}`, `{"studentId":"1234","enrolledOn":"2026-02-28","address":{"street":"A"}}`,
			},
		},
		{`{` + draft2020 + `,"$ref":"#/$defs/a","minProperties":1,"$defs":{"a":{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"additionalProperties":{"type":"null"}}}}`,
			[]string{`{"a":{"b":null}}`}, []string{`{}`, `{"a":{"b":1}}`, `{"a":[]}`}},
		{`{` + draft2020 + `,"type":"array","items":{"type":["string","boolean"],"minLength":2,"maxLength":3},"minItems":1,"maxItems":2}`,
			[]string{`["éé",true]`}, []string{`[]`, `["é"]`, `["long"]`, `["ab","ab","ab"]`, `[1]`}},
		{`{"allOf":[{"exclusiveMinimum":0},{"exclusiveMaximum":1}],"type":"number"}`, []string{`0.5`}, []string{`0`, `1`, `"x"`}},
		{`{"const":null}`, []string{`null`}, []string{`0`}},
		{`{"const":1}`, nil, []string{`1`, `1.0`, `2`}},
		{`{"enum":[1,"a"]}`, nil, []string{`1`, `"a"`, `"b"`}},
		{`{"enum":["a"],"const":"b"}`, nil, []string{`"a"`, `"b"`}},
		{`{"anyOf":[{"type":"string"},{"type":"null"}]}`, nil, []string{`"a"`, `1`}},
		{`{"properties":{"a":{"not":{"type":"string"}}}}`, nil, []string{`{"a":1}`, `{"a":"x"}`}},
		{`{"properties":{"a":false}}`, nil, []string{`{"b":1}`, `{"a":1}`}},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}]}`, nil, []string{`["a",1]`, `[1]`}},
		{`{"uniqueItems":true}`, []string{`["a",null,false]`}, []string{`[1,2]`, `[{},{}]`, `["a","a"]`}},
		{`true`, []string{`1`}, nil},
		{`false`, nil, []string{`1`}},
		{`{"allOf":[{"$ref":"#"}]}`, nil, []string{`1`}}, // without an end
	} {
		s, err := Compile(tt.schema)
		if err != nil {
			t.Fatal(err)
		}
		for _, data := range tt.fits {
			if !s.quickly(t, data) {
				t.Errorf("%s: quick leaves %s to the library", tt.schema, data)
			}
		}
		for _, data := range tt.others {
			if s.quickly(t, data) {
				t.Errorf("%s: quick takes %s", tt.schema, data)
			}
		}
	}
}

// quickly reports whether quick finds that data fits, and checks that the library finds it too then.
func (s *Schema) quickly(t *testing.T, data string) bool {
	value, wrong := decode([]byte(data))
	if wrong != nil || s.quick == nil {
		return false
	}
	steps := leastSteps + stepsPerByte*len(data)
	if !s.quick.fits(value, &steps, 0) {
		return false
	}
	i, err := s.take()
	if err != nil {
		t.Fatal(err)
	}
	defer s.give(i)
	if found, err := i.check(value, leastSteps+stepsPerByte*len(data)); err != nil || len(found) > 0 && found[0].Code != "payload-too-complex" {
		t.Errorf("quick takes %s, and the library finds %v, %v", data, found, err)
	}
	return true
}
