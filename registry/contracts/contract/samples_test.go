package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"schakel/store/needs"
)

func samples(t testing.TB) string {
	t.Helper()
	return needs.Shared(t, "contracts")
}

// TestSamples holds real documents against the verdict that is known for each: the code of its one error, or none.
func TestSamples(t *testing.T) {
	t.Parallel()
	wrong := map[string]string{
		"asyncapi3.1-own-bad-action.yaml":                  "schema-value 13",
		"asyncapi3.1-own-duplicate-key.yaml":               "duplicate-key 5",
		"asyncapi3.1-own-message-not-of-channel.yaml":      "message-not-of-channel 16",
		"asyncapi3.1-own-missing-title.yaml":               "schema-required 2",
		"asyncapi3.1-own-payload-bad-type.yaml":            "schema-value 25",
		"asyncapi3.1-own-undefined-channel-parameter.yaml": "channel-parameter-undeclared 7",
		"asyncapi3.1-own-unknown-field.yaml":               "schema-unknown-member 8",
		"asyncapi3.1-own-unresolved-channel-ref.yaml":      "reference-unresolved 14",
		"asyncapi3.1-spec-adeo-kafka-request-reply.yml":    "reference-missing 174, reference-missing 204",
		"swagger2.0-learn-petstore.yaml":                   "unsupported-version 1",
	}
	files, err := filepath.Glob(filepath.Join(samples(t), "*", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no sample documents: %v", err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content, err := os.ReadFile(file)
			must(t, err)
			d, findings := parse(t, string(content))
			if d != nil {
				findings = d.Validate()
				checkKind(t, name, d)
			}
			if got := verdict(findings); got != wrong[name] {
				t.Errorf("got %q, want %q: %v", got, wrong[name], findings)
			}
		})
	}
}

func checkKind(t *testing.T, name string, d *Document) {
	t.Helper()
	for prefix, kind := range map[string]Kind{"oas": OpenAPI, "asyncapi": AsyncAPI} {
		rest, ok := strings.CutPrefix(name, prefix)
		if ok && (d.Kind != kind || !strings.HasPrefix(d.SpecVersion, rest[:3])) {
			t.Errorf("read as %s %s", d.Kind, d.SpecVersion)
		}
	}
	for _, e := range d.EventTypes() {
		if e.Schema != nil {
			compileSchema(t, e.Schema)
		}
	}
}

func verdict(findings []Finding) string {
	var errors []string
	for _, f := range findings {
		if f.Severity == SeverityError {
			errors = append(errors, f.Code+" "+strconv.Itoa(f.Line))
		}
	}
	return strings.Join(errors, ", ")
}

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
	must(b, err)
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
	must(b, json.Unmarshal(content, &document))
	schemas := document["components"].(map[string]any)["schemas"].(map[string]any)
	one, err := json.MarshalIndent(schemas, "", "  ")
	must(b, err)
	names := sortedKeys(schemas)
	for i := range (size - len(content)) / len(one) {
		for _, name := range names {
			schemas[fmt.Sprintf("%s.%d", name, i)] = schemas[name]
		}
	}
	grown, err := json.MarshalIndent(document, "", "  ")
	must(b, err)
	return grown
}
