package lint

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"schakel/registry/contracts/contract"
	"schakel/store/needs"
)

// BenchmarkCheck gives advice on a small document, one of 13 MB that keeps hardly any rule, and, where the samples are at
// hand, the largest of them (600 KB). A second for 13 MB is the bound.
func BenchmarkCheck(b *testing.B) {
	documents := map[string]string{"small": api, "events": channel, "13MB": generated(b, 13<<20)}
	if needs.Has() {
		documents["600KB"] = string(needs.File(b, "contracts", "oas", "oas3.1-oeapi-v6.json"))
	}
	for _, name := range names(documents) {
		doc := parse(b, documents[name])
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(documents[name])))
			for b.Loop() {
				Check(doc)
			}
		})
	}
}

// generated is an API of as many operations and schemas as make up a size in bytes.
func generated(t testing.TB, size int) string {
	const operation = `{"post":{"operationId":"get%[1]d","parameters":[{"name":"Some_key","in":"query","schema":{"type":"string"}}],"responses":{"200":{"description":"The thing.",` +
		`"content":{"application/json":{"schema":{"$ref":"#/components/schemas/thing%[1]d"}}}},"404":{"description":"None.","content":{"application/json":{}}}}}}`
	const schema = `{"type":"object","properties":{"the_id":{"type":"string"},"startDate":{"type":"string"},"tags":{"type":"array","items":{"type":"string"}},"next":{"$ref":"#/components/schemas/thing%[1]d"}}}`
	paths, schemas := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for i := 0; size > 0; i++ {
		path, thing := fmt.Sprintf(operation, i), fmt.Sprintf(schema, i)
		paths[fmt.Sprintf("/Things-%d", i)], schemas[fmt.Sprintf("thing%d", i)] = json.RawMessage(path), json.RawMessage(thing)
		size -= 2 * (len(path) + len(thing)) // indented it is twice as long
	}
	content, err := json.MarshalIndent(map[string]any{
		"openapi": "3.1.1", "info": map[string]any{"title": "Things", "version": "1.0.0"}, "paths": paths, "components": map[string]any{"schemas": schemas},
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// A document that refers to itself in every way comes to an end, and a long list is cut.
func TestHostile(t *testing.T) {
	t.Parallel()
	parts := strings.TrimSuffix(strings.Repeat(`{"$ref":"#/components/schemas/A"},{"items":{"$ref":"#/components/schemas/A"}},`, 100), ",")
	schema := `"schemas":{"A":{"properties":{"id":{},"source":{},"type":{"const":"nl.a.b"},"aDate":{"$ref":"#/components/schemas/A"},"data":{"$ref":"#/components/schemas/A"}},"allOf":[` + parts + `],"oneOf":[` + parts + `]}}`
	for _, content := range []string{
		`{"openapi":"3.1.0","components":{` + schema + `}}`,
		`{"asyncapi":"3.0.0","components":{"messages":{"a":{"payload":{"$ref":"#/components/schemas/A"}}},` + schema + `}}`,
	} {
		Check(parse(t, content))
	}
	r := Check(parse(t, generated(t, 1<<20)))
	o, _ := r.Outcome("path-segments-kebab-case")
	if o.Count != maxPerRule || !o.Cut() {
		t.Errorf("%d findings", o.Count)
	}
	if _, findings, err := contract.Parse([]byte("openapi: 3.1.0\npaths: {/a: &a [*a]}\n"), contract.Limits{}); err != nil || len(findings) == 0 {
		t.Errorf("a circle was read: %v", err)
	}
}
