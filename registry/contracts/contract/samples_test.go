package contract

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"schakel/store/needs"
)

// samples is the folder of real documents.
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
			if err != nil {
				t.Fatal(err)
			}
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
