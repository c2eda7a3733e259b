package web

import (
	"slices"
	"strings"
	"testing"

	"schakel/registry/contracts/contract"
	"schakel/registry/contracts/lint"
)

// Our own APIs keep the rules that we advise others to keep. The addresses and answers for tokens
// follow OAuth (RFC 6749, RFC 8414), and two parameters for deltas follow PDOK's API (MUT-50, MUT-53).
//
// Rules: EDU-03, EDU-21.
func TestOwnAPIsKeepTheRules(t *testing.T) {
	t.Parallel()
	docs := apiDocuments()
	const mail = "doc-openapi-contact"
	for name, except := range map[string][]string{
		// Nobody but the organisation that runs the program has an address to ask at, so the descriptions name none.
		"events": {mail}, "registry": {mail}, "mutations": {mail, "query-keys-camel-case"}, "oauth": {mail, "uri-version", "problem-details", "property-camel-case"},
	} {
		doc, findings, err := contract.Parse(docs[name].Content, contract.Limits{})
		if err != nil || doc == nil {
			t.Fatalf("%s: %v, %v", name, findings, err)
		}
		for _, f := range lint.Check(doc).Findings {
			tried := strings.HasPrefix(f.Code, "webhook-") && strings.Contains(f.Pointer, "~1validations/") // takes an event, and keeps nothing of it
			if f.Severity != contract.SeverityInfo && !tried && !slices.Contains(except, f.Code) {
				t.Errorf("%s does not keep %s: %s %s", name, f.Code, f.Pointer, f.Detail)
			}
		}
	}
}

// The bytes of our documents are the same wherever a Schakel runs, so none names an address at which nobody reads mail.
func TestOwnDocumentsNameNoMadeUpContact(t *testing.T) {
	t.Parallel()
	docs := OwnDocuments()
	for _, doc := range docs {
		if strings.Contains(string(doc.Content), "schakel.example") {
			t.Errorf("%s names schakel.example", doc.ID)
		}
	}
	if len(docs) < 6 {
		t.Errorf("only %d documents were looked at", len(docs))
	}
}
