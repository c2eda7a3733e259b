package lint

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"schakel/registry/contracts/contract"
	"schakel/store/needs"
)

// samples is the folder of real documents.
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
