package demo

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"schakel/registry/contracts/contract"
	"schakel/registry/contracts/payload"
)

// TestContracts holds the example documents against what the program asks of any.
func TestContracts(t *testing.T) {
	t.Parallel()
	for name, content := range map[string][]byte{EventsContract: eventsDocument, WebhookContract: webhookDocument, "the second webhook": secondWebhook(), "the second events": secondEvents()} {
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

// TestEventsFitTheirContract holds what is made up against what the contract says.
func TestEventsFitTheirContract(t *testing.T) {
	t.Parallel()
	doc, _, err := contract.Parse(eventsDocument, contract.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	schemas := map[string]*payload.Schema{}
	for _, e := range doc.EventTypes() {
		if schemas[e.Type], err = payload.Compile(string(e.Schema)); err != nil {
			t.Fatal(err)
		}
		if found, err := schemas[e.Type].Check(e.Example); err != nil || len(found) > 0 {
			t.Errorf("the example of %s: %v, %v", e.Type, found, err)
		}
	}
	trickle := Trickle{Own: OwnA(), Types: EventTypes(), Now: time.Now}
	for n := range EventTypes() {
		made := trickle.event(n)
		data, err := json.Marshal(made["data"])
		if err != nil {
			t.Fatal(err)
		}
		if found, err := schemas[made["type"].(string)].Check(data); err != nil || len(found) > 0 {
			t.Errorf("event %d: %v, %v", n, found, err)
		}
	}
}
