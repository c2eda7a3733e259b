package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"
	"schakel/registry/contracts/contract"
)

// TestSamplePairs holds real changes between versions against what is known of them.
func TestSamplePairs(t *testing.T) {
	t.Parallel()
	const event, input, lint = "/components/messages/", "/components/schemas/ApiUpdateInput/properties/", "/paths/~1lint-results/get/responses/200/content/application~1json/schema/items/properties/"
	const required = "/payload/properties/data/required "
	for name, wanted := range map[string][]string{
		"defra-comms-crn-mandatory.*.yaml": {
			"breaking payload-property-became-required " + event + "commsRequest" + required + "producer",
			"info payload-property-became-required " + event + "commsRetryRequest" + required + "consumer",
			"info payload-property-became-required " + event + "receivedCommsEvent" + required + "consumer",
		},
		"don-register-filters.*.json": {
			"breaking response-optional-property-removed " + lint + "rulesetVersion consumer",
			"info response-optional-property-added " + lint + "messages/items/properties/rulesetVersion consumer",
		},
		"don-register-sunset-null.*.json": {
			"breaking request-property-format-added " + input + "deprecated/format consumer",
			"breaking request-property-format-added " + input + "sunset/format consumer",
			"info request-property-became-nullable " + input + "deprecated/type consumer",
			"info request-property-became-nullable " + input + "sunset/type consumer",
			"info request-property-pattern-removed " + input + "deprecated consumer",
			"info request-property-pattern-removed " + input + "sunset consumer",
			"info documentation-changed " + input + "deprecated/description both",
		},
	} {
		at := func(age string) string { return filepath.Join("pairs", name[:len(name)-6]+age+name[len(name)-5:]) }
		old, new := sample(t, at("old")), sample(t, at("new"))
		changes, err := compareDocuments(old, new)
		must(t, err)
		checkComplete(t, old, new, changes)
		want(t, name, changes, wanted...)
		if got := Suggest("1.0.1", changes); got != "2.0.0" {
			t.Errorf("%s: suggested %s", name, got)
		}
	}
}

// documents reads all samples that can be read, by name.
func documents(t testing.TB) map[string]*contract.Document {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(samples(t), "*", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no sample documents: %v", err)
	}
	list := map[string]*contract.Document{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		must(t, err)
		d, _, err := contract.Parse(content, contract.Limits{})
		must(t, err)
		if d != nil {
			list[filepath.Base(file)] = d
		}
	}
	return list
}

// TestSamplesSame: a document compared with itself, written another way, has no changes.
func TestSamplesSame(t *testing.T) {
	t.Parallel()
	for name, d := range documents(t) {
		written, err := json.MarshalIndent(d.Root, "", "  ") // sorts members
		must(t, err)
		other := parse(t, string(written))
		if small := len(written) < 50_000; small && d.Format == contract.FormatJSON {
			var plain any
			must(t, json.Unmarshal(written, &plain))
			inYAML, err := yaml.Marshal(plain)
			must(t, err)
			other = parse(t, string(inYAML))
		}
		changes, err := compareDocuments(d, other)
		if err != nil || len(changes) > 0 {
			t.Errorf("%s: %v %v", name, err, brief(changes))
		}
	}
}

// TestSamplesAll compares every document with every other: no panic, an answer in time, complete and the same each time.
func TestSamplesAll(t *testing.T) {
	t.Parallel()
	list := documents(t)
	for i, a := range sortedKeys(list) {
		for j, b := range sortedKeys(list) {
			if large := "oas3.1-oeapi-v6.json"; (a == large) != (b == large) && (i+j)%13 != 0 {
				continue // the largest document takes most of the time: some of its pairs are enough
			}
			start := time.Now()
			changes, err := compareDocuments(list[a], list[b])
			if err != nil {
				t.Errorf("%s to %s: %v", a, b, err)
			}
			t.Logf("%s to %s took %v", a, b, time.Since(start))
			checkComplete(t, list[a], list[b], changes)
			if list[a].Kind != list[b].Kind && (len(changes) != 1 || changes[0].Code != "kind-changed") {
				t.Errorf("%s to %s: %v", a, b, brief(changes))
			}
		}
	}
}

func BenchmarkDocuments(b *testing.B) {
	for _, pair := range [][2]string{
		{"oas/oas3.1-oeapi-v6.json", "oas/oas3.1-oeapi-v6.json"},
		{"pairs/don-register-filters.old.json", "pairs/don-register-filters.new.json"},
		{"pairs/defra-comms-crn-mandatory.old.yaml", "pairs/defra-comms-crn-mandatory.new.yaml"},
		{"oas/oas3.0-vng-notificaties.yaml", "oas/oas3.1-oeapi-v6.json"},
	} {
		old, new := sample(b, pair[0]), sample(b, pair[1])
		b.Run(filepath.Base(pair[1]), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := compareDocuments(old, new); err != nil && !errors.Is(err, ErrTooLarge) {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkSizes compares documents of three sizes with a next version in which every tenth schema has a property less.
func BenchmarkSizes(b *testing.B) {
	for _, size := range []struct {
		name  string
		bytes int
	}{{"small", 5_000}, {"600KB", 600_000}, {"13MB", 13_000_000}} {
		b.Run(size.name, func(b *testing.B) {
			old, new := generated(b, size.bytes, false), generated(b, size.bytes, true)
			b.SetBytes(int64(size.bytes))
			b.ReportAllocs()
			for b.Loop() {
				if changes, err := compareDocuments(old, new); err == nil && len(changes) == 0 || err != nil && !errors.Is(err, ErrTooLarge) {
					b.Fatal("nothing changed", err)
				}
			}
		})
	}
}

// generated is an API of at least so many bytes: operations that each answer a schema of their own.
func generated(b *testing.B, size int, changed bool) *contract.Document {
	b.Helper()
	var paths, schemas strings.Builder
	// Documents have texts and white space, or they would have more values than are read.
	text := strings.Repeat("What it is for. ", 14)
	for i := 0; paths.Len()+schemas.Len() < size; i++ {
		if i > 0 {
			paths.WriteByte(',')
			schemas.WriteByte(',')
		}
		tags := `,"tags":{"type":"array","items":{"type":"string","minLength":1}}`
		if changed && i%10 == 0 {
			tags = ""
		}
		fmt.Fprintf(&paths, `"/things%[1]d/{id}":{"get":{"operationId":"get%[1]d","description":"%[2]s","parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"string","maxLength":6}}],`+
			`"responses":{"200":{"description":"The thing.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Thing%[1]d"}}}}}}}`, i, text)
		fmt.Fprintf(&schemas, `"Thing%d":{"type":"object","description":"%s","required":["id"],"properties":{"id":{"type":"string"},"size":{"type":"integer","minimum":0},`+
			`"state":{"enum":["new","old"],"default":"new"}%s}}`, i, text, tags)
	}
	d, findings, err := contract.Parse([]byte(`{"openapi":"3.1.0","info":{"title":"Large","version":"1.0.0"},"paths":{`+paths.String()+`},"components":{"schemas":{`+schemas.String()+`}}}`), contract.Limits{})
	if d == nil {
		b.Fatal(findings, err)
	}
	return d
}
