package contract

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"unicode/utf8"

	"schakel/store/needs"
)

func small() Limits { return Limits{Bytes: 1 << 16, Nodes: 5000, Depth: 60, Aliases: 100} }

// exercise does with a document all that can be done with it.
func exercise(t *testing.T, content []byte) {
	d, findings, err := Parse(content, small())
	if err != nil || (d == nil) != HasErrors(findings) {
		t.Fatalf("document %v, findings %v, error %v", d != nil, findings, err)
	}
	if d != nil {
		findings = append(findings, d.Validate()...)
		for _, e := range d.EventTypes() {
			if e.Type == "" || e.Schema != nil && !json.Valid(e.Schema) || e.Example != nil && !json.Valid(e.Example) {
				t.Errorf("event type %+v", e)
			}
		}
	}
	lines := 1 + bytes.Count(content, []byte("\n")) + bytes.Count(content, []byte("\r")) + bytes.Count(content, []byte("\u0085")) +
		bytes.Count(content, []byte("\u2028")) + bytes.Count(content, []byte("\u2029"))
	for _, f := range findings {
		if f.Code == "" || f.Detail == "" || f.Remedy == "" || f.Line > lines || f.Line < 1 && f.Code != "findings-cut" {
			t.Errorf("finding %+v", f)
		}
	}
}

func FuzzParseJSON(f *testing.F) {
	f.Add([]byte(jsonHead + "}"))
	f.Add([]byte(`{"asyncapi":"3.1.0","info":{"title":"T","version":"1"},"components":{"messages":{"m":{"name":"nl.x.a","payload":{"$ref":"#/components/schemas/s"}}},"schemas":{"s":{"type":"object"}}}}`))
	f.Add([]byte(`{"a":[1.5e3,-0,"\ud83d\ude00",{"b":null}]}`))
	f.Add([]byte(`{"asyncapi":"2.6.0","info":{"title":"T","version":"1"},"channels":{"a/{b}":{"publish":{"message":{"oneOf":[{"payload":5}]}}}}}`))
	addSamples(f, "*.json")
	f.Fuzz(func(t *testing.T, content []byte) {
		exercise(t, content)
		if !utf8.Valid(content) {
			return
		}
		got, p := readJSON(content, small().withDefaults())
		if p != nil {
			return
		}
		var want any
		decoder := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(content, []byte("\ufeff"))))
		decoder.UseNumber()
		if err := decoder.Decode(&want); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, want %v (%v)", got, want, err)
		}
	})
}

func FuzzParseYAML(f *testing.F) {
	f.Add([]byte(yamlHead))
	f.Add([]byte(asyncapi("3.1.0", async3)))
	f.Add([]byte(asyncapi("2.6.0", async2)))
	f.Add([]byte("a: &a [1, *a]\n? b\n: !!str 5\n<<: *a\n"))
	addSamples(f, "*.yaml")
	f.Fuzz(func(t *testing.T, content []byte) { exercise(t, content) })
}

// addSamples gives the fuzzer the small ones of the real documents, where they are at hand.
func addSamples(f *testing.F, pattern string) {
	if !needs.Has() {
		return // the seeds that are made here remain
	}
	files, _ := filepath.Glob(filepath.Join(needs.Shared(f, "contracts"), "*", pattern))
	for _, file := range files {
		if content, err := os.ReadFile(file); err == nil && len(content) < 8<<10 {
			f.Add(content)
		}
	}
}
