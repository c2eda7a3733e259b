package lint

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"schakel/registry/contracts/contract"
	"schakel/store/needs"
)

func samples(t testing.TB) string {
	t.Helper()
	return needs.Shared(t, "contracts")
}

// The findings in real documents equal what the public linter of the NL API Design Rules finds there, place by place; the
// counts come from Spectral 6.16 with its rule set for 2.2. Left out are the differences that the package comment
// names: 28 properties such as startDateTime in one document, server addresses that do not start with http, and webhooks and
// callbacks, which are operations of another's API.
func TestSamplesAsThePublicLinter(t *testing.T) {
	t.Parallel()
	folder := samples(t)
	for name, want := range map[string]string{
		"oas3.0-adr-baseline.json":               "100",
		"oas3.0-adr-version-header-missing.json": "88 version-header 1",
		"oas3.0-learn-callback-example.yaml":     "63 doc-openapi-contact 1, publish-openapi 1, version-header 1, invalid-input 1",
		"oas3.0-learn-link-example.json":         "48 doc-openapi-contact 1, publish-openapi 1, version-header 6, path-segments-kebab-case 6, invalid-input 6, schema-camel-case 3",
		"oas3.0-learn-petstore.yaml":             "71 doc-openapi-contact 1, version-header 3, transport-tls 1, invalid-input 3",
		"oas3.0-learn-uspto.json":                "62 uri-version 1, version-header 3, problem-details 1, invalid-input 2, schema-camel-case 1",
		"oas3.0-vng-notificaties.yaml":           "86 doc-openapi-contact 1, invalid-input 1",
		"oas3.1-don-api-register.json":           "93 problem-members 1",
		"oas3.1-learn-non-oauth-scopes.json":     "71 doc-openapi-contact 1, publish-openapi 1",
		"oas3.1-learn-tictactoe.yaml":            "58 doc-openapi-contact 1, publish-openapi 1, version-header 4, problem-details 2, schema-camel-case 6",
		"oas3.1-learn-webhook-example.yaml":      "53 doc-openapi-contact 1, publish-openapi 1",
		"oas3.1-oeapi-v6.json":                   "72 semver 1, version-header 137, transport-tls 1, query-keys-camel-case 2, date-omit-time-portion 5, schema-camel-case 47",
		"oas3.2-learn-tags-example.yaml":         "71 doc-openapi-contact 1, publish-openapi 1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content, err := os.ReadFile(filepath.Join(folder, "oas", name))
			if err != nil {
				t.Fatal(err)
			}
			if got := summary(Check(parse(t, string(content)))); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// summary is the score with the count of each rule of the design rules that is not kept.
func summary(r Report) string {
	score, _ := r.SetScore(SetDesign)
	var list []string
	for _, o := range r.Outcomes {
		if o.State == Fails && o.Severity != contract.SeverityInfo && o.Set == SetDesign {
			list = append(list, fmt.Sprintf("%s %d", o.Code, o.Count))
		}
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s", score, strings.Join(list, ", ")))
}

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

// Whatever can be read as a contract gets advice, the same each time, with a score within its bounds.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		api, channel,
		`{"openapi":"3.1.0","paths":{"/a":{"get":{"parameters":[{"$ref":"#/paths/~1a/get/parameters/0"}],"responses":{"200":{"$ref":"#/x"}}}}}}`,
		`{"openapi":"3.0.0","components":{"schemas":{"a":{"properties":{"aDate":{"allOf":[{"$ref":"#/components/schemas/a"}]}}}}}}`,
		`{"asyncapi":"3.0.0","components":{"messages":{"a":{"payload":{"properties":{"type":{"const":"nl.a.b"},"id":1,"source":{}}},"traits":[{"$ref":"#"}],"examples":[{"payload":[]}]}}}}`,
		`{"asyncapi":"2.6.0","channels":{"a":{"publish":{"message":{"name":"nl.a.b","payload":{"items":{"$ref":"#/channels/a/publish/message/payload"}}}}}}}`,
	} {
		f.Add([]byte(seed))
	}
	limits := contract.Limits{Bytes: 64 << 10, Nodes: 10_000}
	f.Fuzz(func(t *testing.T, content []byte) {
		doc, _, err := contract.Parse(append([]byte{}, content...), limits)
		if err != nil {
			t.Fatal(err)
		}
		if doc == nil {
			return
		}
		r := Check(doc)
		if r.Score < 0 || r.Score > 100 || len(r.Outcomes) != len(Rules(doc.Kind)) {
			t.Errorf("score %d, %d rules", r.Score, len(r.Outcomes))
		}
		if again := Check(doc); !reflect.DeepEqual(r, again) {
			t.Error("another report for the same document")
		}
	})
}
