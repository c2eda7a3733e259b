package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"schakel/store/needs"
)

// BenchmarkDocuments reads and validates a document of each size: a small one and one of 13 MB made here, and where the
// samples are at hand the largest of them (600 KB), and that one grown to 13 MB.
func BenchmarkDocuments(b *testing.B) {
	documents := map[string][]byte{"small": generated(b, 2<<10), "13MB": generated(b, 13<<20)}
	if needs.Has() {
		content := needs.File(b, "contracts", "oas", "oas3.1-oeapi-v6.json")
		documents["600KB"], documents["13MB-schemas"] = content, grow(b, content, 13<<20)
	}
	for _, name := range sortedKeys(documents) {
		content := documents[name]
		b.Run("parse/"+name, func(b *testing.B) {
			b.SetBytes(int64(len(content)))
			for b.Loop() {
				if d, findings, err := Parse(content, Limits{}); d == nil || err != nil {
					b.Fatal(findings, err)
				}
			}
		})
		b.Run("validate/"+name, func(b *testing.B) {
			b.SetBytes(int64(len(content)))
			d, _, _ := Parse(content, Limits{})
			for b.Loop() {
				if findings := d.Validate(); HasErrors(findings) {
					b.Fatal(findings)
				}
			}
		})
	}
}

// BenchmarkBroken validates a document of 13 MB with three faults, and one with a fault in each schema and operation.
func BenchmarkBroken(b *testing.B) {
	sound := generated(b, 13<<20)
	for name, times := range map[string]int{"three": 3, "all": -1} {
		content := bytes.Replace(sound, []byte(`"minimum": 0`), []byte(`"minimum": ""`), times)
		content = bytes.Replace(content, []byte(`"in": "path"`), []byte(`"in": "paht"`), times)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(content)))
			b.ReportAllocs()
			for b.Loop() {
				d, _, err := Parse(content, Limits{})
				if err != nil || !HasErrors(d.Validate()) {
					b.Fatal("nothing is found wrong", err)
				}
			}
		})
	}
}

// generated is an API of as many operations, schemas and examples as make up a size in bytes.
func generated(b *testing.B, size int) []byte {
	const operation = `{"get":{"operationId":"get%[1]d","tags":["things"],"summary":"Gives thing %[1]d","parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"string","maxLength":40}}],` +
		`"responses":{"200":{"description":"The thing.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/thing%[1]d"},"example":{"id":"a","tags":["b"],"size":%[1]d}}}},"404":{"$ref":"#/components/responses/none"}}}}`
	const schema = `{"type":"object","description":"A thing of kind %[1]d, with its parts and what it is for.","required":["id"],"properties":{"id":{"type":"string"},"size":{"type":"integer","minimum":0},` +
		`"tags":{"type":"array","items":{"type":"string","minLength":1}},"next":{"$ref":"#/components/schemas/thing0"},"state":{"enum":["new","old"],"default":"new"}}}`
	paths, schemas := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for i := 0; size > 0; i++ {
		path, thing := fmt.Sprintf(operation, i), fmt.Sprintf(schema, i)
		paths[fmt.Sprintf("/things-%d/{id}", i)], schemas[fmt.Sprintf("thing%d", i)] = json.RawMessage(path), json.RawMessage(thing)
		size -= 2 * (len(path) + len(thing)) // indented it is twice as long
	}
	content, err := json.MarshalIndent(map[string]any{
		"openapi": "3.1.1", "info": map[string]any{"title": "Things", "version": "1.0.0"}, "paths": paths,
		"components": map[string]any{"schemas": schemas, "responses": map[string]any{"none": map[string]any{"description": "None."}}},
	}, "", "  ")
	if err != nil {
		b.Fatal(err)
	}
	return content
}

// BenchmarkArchive brings together a document of 300 files.
func BenchmarkArchive(b *testing.B) {
	files := []string{}
	paths := ""
	for i := range 300 {
		paths += fmt.Sprintf("  /a%d: {$ref: 'p/%d.yaml'}\n", i, i)
		files = append(files, fmt.Sprintf("p/%d.yaml", i), fmt.Sprintf("get:\n  responses:\n    200:\n      description: d\n      content: {application/json: {schema: {$ref: '%d.yaml#/x-s'}}}\nx-s: {type: object}\n", i))
	}
	content := packed(b, append(files, "openapi.yaml", openapi("3.1.0", "paths:\n"+paths))...)
	for b.Loop() {
		if u, findings, err := ReadUpload(content, "", Limits{}); u == nil || err != nil || HasErrors(u.Validate()) {
			b.Fatal(findings, err)
		}
	}
}

// grow repeats the schemas of a document under other names until it is of the size that is wanted.
func grow(b *testing.B, content []byte, size int) []byte {
	var document map[string]any
	if err := json.Unmarshal(content, &document); err != nil {
		b.Fatal(err)
	}
	schemas := document["components"].(map[string]any)["schemas"].(map[string]any)
	one, err := json.MarshalIndent(schemas, "", "  ")
	if err != nil {
		b.Fatal(err)
	}
	names := sortedKeys(schemas)
	for i := range (size - len(content)) / len(one) {
		for _, name := range names {
			schemas[fmt.Sprintf("%s.%d", name, i)] = schemas[name]
		}
	}
	grown, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		b.Fatal(err)
	}
	return grown
}
