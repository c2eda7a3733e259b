package web

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/web/site"
)

// nextVersion publishes a version of the sample contract in which a student has a number and no studentId.
func (h *apiHarness) nextVersion(t testing.TB, version string) {
	t.Helper()
	ctx, actor := t.Context(), registry.SystemActor()
	document := strings.NewReplacer("version: 1.0.0", "version: "+version,
		"properties: {studentId: {type: string}}", "required: [number], properties: {number: {type: integer}}").Replace(sampleContract)
	_, err := h.reg.Contracts.Upload(ctx, actor, "student-events", contracts.Upload{Content: []byte(document)})
	noError(t, err)
	_, err = publishDraft(ctx, h.reg, actor, "student-events", version, "side by side")
	noError(t, err)
}

func withData(id, data string, more ...string) string {
	return strings.Replace(sampleEvent(id, more...), `{"studentId":"1234"}`, data, 1)
}

// Rules: CE-15, CE-18.
func TestPayloadIsHeldAgainstItsContract(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	c := h.publisher(t, "")
	const address = `"dataschema":"http://schakel.example.nl/contracts/student-events/versions/`
	for _, tt := range []struct {
		name, setting, body, want string
		status                    int
	}{
		{"fits", "refuse", withData("1", `{"studentId":"1"}`), "", 202},
		{"fits the version it names", "refuse", withData("2", `{"studentId":"1"}`, address+`1.0.0"`), "", 202},
		{"does not fit", "refuse", withData("3", `{"studentId":5}`), "/data/studentId payload-type", 400},
		{"in a batch", "refuse", "[" + withData("4", `{}`) + "," + withData("5", `[]`) + "]", "/1/data payload-type", 400},
		{"a version that is not there", "refuse", withData("6", `{}`, address+`4.0.0"`), "/dataschema dataschema-unknown", 400},
		{"told", "warn", withData("8", `{"studentId":5}`), "/data/studentId payload-type", 202},
		{"not looked at", "off", withData("9", `{"studentId":5}`), "", 202},
	} {
		h.set(t, "events.payload", tt.setting)
		kind := "application/cloudevents+json"
		if strings.HasPrefix(tt.body, "[") {
			kind = "application/cloudevents-batch+json"
		}
		answer := c.do(t, http.MethodPost, "/events/v1/events", tt.body, "Content-Type", kind, "Idempotency-Key", freshKey())
		var got struct {
			Code           string
			Detail         string
			Errors, Advice []site.ProblemError
		}
		answer.want(t, tt.status).decode(t, &got)
		found := ""
		for _, e := range append(got.Errors, got.Advice...) {
			found = strings.TrimSpace(found + " " + e.Pointer + " " + e.Code)
		}
		if found != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, found, tt.want)
		}
		if tt.status == http.StatusBadRequest && (got.Code != "payload-refused" || !strings.Contains(got.Detail, "http://schakel.example.nl/contracts/student-events/versions/1.0.0")) {
			t.Errorf("%s: %s %s", tt.name, got.Code, got.Detail)
		}
	}
}

// A producer sends both versions side by side: each subscriber gets the one that it asked for, and nobody both.
//
// Rules: EDU-08, CE-16, CE-18.
func TestVersionsSideBySide(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	first := h.approvedSubscription(t, h.newPartner(t, "First").ID)
	h.nextVersion(t, "2.0.0")
	second := h.approvedSubscription(t, h.newPartner(t, "Second").ID)
	if first.Versions["nl.example.student.enrolled"] != "1" || second.Versions["nl.example.student.enrolled"] != "2" {
		t.Fatalf("subscribed to %v and %v", first.Versions, second.Versions)
	}
	c := h.publisher(t, "")
	const address = `"dataschema":"http://schakel.example.nl/registry/v1/contracts/student-events/versions/`
	for i, tt := range []struct {
		body string
		want []string
	}{
		{withData("1", `{"studentId":"1"}`), []string{first.ID}},
		{withData("2", `{"number":1}`), []string{first.ID, second.ID}}, // version 1 allows it too
		{withData("3", `{"number":1}`, address+`2.0.0"`), []string{second.ID}},
		{withData("4", `{"number":1}`, address+`1.0.0"`), []string{first.ID}},
	} {
		var receipt struct{ Events []struct{ EventID string } }
		c.publish(t, tt.body).want(t, 202).decode(t, &receipt)
		rows, err := h.db.DeliveriesOf(t.Context(), receipt.Events[0].EventID)
		noError(t, err)
		got := map[string]bool{}
		for _, d := range rows {
			got[d.SubscriptionID] = true
		}
		want := map[string]bool{}
		for _, id := range tt.want {
			want[id] = true
		}
		if fmt.Sprint(got) != fmt.Sprint(want) || len(rows) != len(want) {
			t.Errorf("event %d went to %v, want %v", i+1, got, want)
		}
	}
}
