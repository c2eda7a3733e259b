package demo

import (
	"slices"
	"testing"

	"schakel/registry/contract"
)

// TestContracts holds the example documents against what the program asks of any.
func TestContracts(t *testing.T) {
	t.Parallel()
	for name, content := range map[string][]byte{EventsContract: eventsDocument, WebhookContract: webhookDocument} {
		doc, findings, err := contract.Parse(content, contract.Limits{})
		if err != nil || doc == nil {
			t.Fatalf("%s: %v, %v", name, findings, err)
		}
		for _, f := range doc.Validate() {
			t.Errorf("%s:%d:%d %s %s", name, f.Line, f.Column, f.Code, f.Detail)
		}
		if name != EventsContract {
			continue
		}
		var types []string
		for _, e := range doc.EventTypes() {
			types = append(types, e.Type)
			if len(e.Schema) == 0 || len(e.Example) == 0 {
				t.Errorf("%s: no schema or example", e.Type)
			}
		}
		want := slices.Sorted(slices.Values(EventTypes()))
		if !slices.Equal(types, want) {
			t.Errorf("event types %v, want %v", types, want)
		}
	}
}
