package payload

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
)

const student = `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","additionalProperties":false,
	"required":["studentId","enrolledOn"],"properties":{
		"studentId":{"type":"string","pattern":"^[0-9]{4}$"},"enrolledOn":{"type":"string","format":"date"},
		"form":{"enum":["full","part"]},"credits":{"type":"integer","minimum":0,"maximum":60,"multipleOf":5},
		"address":{"$ref":"#/definitions/address"},"notes":{"type":"array","uniqueItems":true,"items":{"type":"string","maxLength":5}}},
	"definitions":{"address":{"type":"object","required":["street","number"]}}}`

// Rules: CE-15.
func TestCheck(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		schema, data string
		want         []string // pointer and code
	}{
		"fits":             {student, `{"studentId":"1234","enrolledOn":"2026-02-28","credits":30}`, nil},
		"required":         {student, `{"studentId":"1234"}`, []string{" payload-required"}},
		"unknown member":   {student, `{"studentId":"1234","enrolledOn":"2026-02-28","a/b":1}`, []string{"/a~1b payload-additional-properties"}},
		"pattern, format":  {student, `{"studentId":"x","enrolledOn":"2026-02-30"}`, []string{"/enrolledOn payload-format", "/studentId payload-pattern"}},
		"type":             {student, `[]`, []string{" payload-type"}},
		"numbers":          {student, `{"studentId":"1234","enrolledOn":"2026-02-28","credits":61}`, []string{"/credits payload-maximum", "/credits payload-multiple-of"}},
		"referred to":      {student, `{"studentId":"1234","enrolledOn":"2026-02-28","address":{"street":"A"}}`, []string{"/address payload-required"}},
		"items":            {student, `{"studentId":"1234","enrolledOn":"2026-02-28","notes":["a","toolong","a"]}`, []string{"/notes payload-unique-items", "/notes/1 payload-max-length"}},
		"enum":             {student, `{"studentId":"1234","enrolledOn":"2026-02-28","form":"none"}`, []string{"/form payload-enum"}},
		"no value":         {`{}`, ` `, []string{" payload-broken"}},
		"not JSON":         {student, `{`, []string{" payload-broken"}},
		"two values":       {student, `{} {}`, []string{" payload-broken"}},
		"costly number":    {`{}`, `{"a":[1,1e999999]}`, []string{"/a/1 payload-number"}},
		"costly fraction":  {`{"minimum":1}`, `1e-999999`, []string{" payload-number"}},
		"many digits":      {`{}`, strings.Repeat("1", 1000), []string{" payload-number"}},
		"whole number":     {`{"type":"integer"}`, `1e3`, nil},
		"anything":         {`true`, `{"a":1}`, nil},
		"nothing":          {`false`, `1`, []string{" payload-refused"}},
		"closest form":     {`{"anyOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"type":"string"}]}`, `{"a":1}`, []string{"/a payload-type"}},
		"one of too many":  {`{"oneOf":[{"type":"object"},{"required":["a"]}]}`, `{"a":1}`, []string{" payload-one-of"}},
		"look-around":      {`{"pattern":"^(?!x)"}`, `"x"`, nil},
		"escape of ECMA":   {`{"pattern":"^\\u00e9$"}`, `"é"`, nil},
		"format in 2020":   {`{"$schema":"https://json-schema.org/draft/2020-12/schema","format":"uuid"}`, `"x"`, []string{" payload-format"}},
		"unknown format":   {`{"format":"bsn"}`, `"x"`, nil},
		"unevaluated":      {`{"$schema":"https://json-schema.org/draft/2020-12/schema","properties":{"a":true},"unevaluatedProperties":false}`, `{"a":1,"b":2}`, []string{"/b payload-refused"}},
		"not a schema but": {`{"properties":{"format":{"type":"string"}},"enum":[{"format":"date"}]}`, `{"format":"date"}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := Compile(tt.schema)
			if err != nil {
				t.Fatal(err)
			}
			found, err := s.Check([]byte(tt.data))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range found {
				got = append(got, f.Pointer+" "+f.Code)
			}
			if fmt.Sprint(got) != fmt.Sprint(tt.want) {
				t.Errorf("findings %q, want %q", found, tt.want)
			}
		})
	}
}

func TestDetailsTellWhatIsWantedAndNotWhatIsThere(t *testing.T) {
	t.Parallel()
	s, err := Compile(student)
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.Check([]byte(`{"studentId":"999911113","enrolledOn":"secret","form":"secret","credits":-5}`))
	if err != nil || len(found) == 0 {
		t.Fatal(found, err)
	}
	for _, f := range found {
		if strings.Contains(string(f.Detail), "secret") || strings.Contains(string(f.Detail), "999911113") {
			t.Errorf("%s: %s", f.Pointer, f.Detail)
		}
	}
}

// Both look at every level twice: a hundred levels would take for ever.
func TestCheckEnds(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 100) + strings.Repeat("]", 100)
	for _, schema := range []string{
		`{"allOf":[{"items":{"$ref":"#"}},{"items":{"$ref":"#"}}]}`,
		`{"minItems":9,"items":{"$ref":"#"},"contains":{"$ref":"#"}}`,
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","format":"date","minItems":9,"items":{"$ref":"#"},"contains":{"$ref":"#"}}`,
	} {
		s, err := Compile(schema)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 { // the copy can be used again
			found, err := s.Check([]byte(deep))
			if err != nil || len(found) != 1 || found[0].Code != "payload-too-complex" {
				t.Errorf("%s: %v, %v", schema, found, err)
			}
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{
		``, `{`, `{"type":"strange"}`, `{"$ref":"https://example.com/schema.json"}`, `{"$ref":"file:///etc/hosts"}`, `{"$ref":"#/definitions/none"}`,
	} {
		if _, err := Compile(schema); err == nil {
			t.Errorf("%s is compiled", schema)
		}
	}
	s, err := Compile(`{"properties":{"a":{"pattern":"(?=a)b"}}}`)
	if err != nil || fmt.Sprint(s.Unchecked()) != "[(?=a)b]" {
		t.Errorf("not checked: %v, %v", s.Unchecked(), err)
	}
}

func TestCheckerCompilesOnceAndForgetsTheOldest(t *testing.T) {
	t.Parallel()
	c := NewChecker(2)
	var same sync.Map
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			s, err := c.Schema("a", student)
			if err != nil {
				t.Error(err)
				return
			}
			same.Store(s, true)
			if found, err := s.Check([]byte(`{"studentId":"1234","enrolledOn":"2026-02-28"}`)); err != nil || len(found) > 0 {
				t.Error(found, err)
			}
		})
	}
	group.Wait()
	count := 0
	same.Range(func(any, any) bool { count++; return true })
	if count != 1 {
		t.Errorf("%d compiled", count)
	}
	_, _ = c.Schema("b", `true`)
	_, _ = c.Schema("a", student)
	_, _ = c.Schema("c", `true`)
	if _, ok := c.byKey["b"]; ok || len(c.byKey) != 2 || c.order.Len() != 2 {
		t.Errorf("kept: %v", c.byKey)
	}
	if _, err := c.Schema("d", `{`); err == nil {
		t.Error("a broken schema is taken")
	}
}

func FuzzCheck(f *testing.F) {
	f.Add(student, `{"studentId":"1234"}`)
	f.Add(`{"items":{"$ref":"#"},"contains":{"$ref":"#"}}`, `[[[1e5]]]`)
	f.Add(`{"$schema":"https://json-schema.org/draft/2020-12/schema","dependentSchemas":{"a":{"not":{}}}}`, `{"a":1}`)
	f.Fuzz(func(t *testing.T, schema, data string) {
		s, err := Compile(schema)
		if err != nil {
			return
		}
		found, err := s.Check([]byte(data))
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid([]byte(data)) && len(found) == 0 {
			t.Errorf("%q is no JSON and fits", data)
		}
	})
}

// BenchmarkCheck holds an event's data of 200 bytes, and one of 64 KiB, against a schema.
func BenchmarkCheck(b *testing.B) {
	s, err := Compile(student)
	if err != nil {
		b.Fatal(err)
	}
	large, err := Compile(`{"type":"array","items":` + student[:len(student)-1] + `,"$id":"https://example.com/s"}}`)
	if err != nil {
		b.Fatal(err)
	}
	row := `{"studentId":"1234","enrolledOn":"2026-02-28","form":"full","credits":30,"address":{"street":"Kerkstraat","number":"12","city":"Utrecht"},"notes":["a","b","c"]}`
	for name, tt := range map[string]struct {
		schema *Schema
		data   string
	}{
		"small": {s, row},
		"64KiB": {large, "[" + strings.Repeat(row+",", 64<<10/len(row)) + row + "]"},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(tt.data)))
			for b.Loop() {
				if found, err := tt.schema.Check([]byte(tt.data)); err != nil || len(found) > 0 {
					b.Fatal(found, err)
				}
			}
		})
	}
}
