package web

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"schakel/delivery/event"
	"schakel/registry/identity"
	"schakel/web/site"
)

// Rules: EDU-15, EDU-19, CE-62, IDEM-X02.
func TestPublishOne(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	c := h.publisher(t, "")
	answer := c.publish(t, sampleEvent("e-1")).want(t, http.StatusAccepted)
	var receipt struct {
		Events []struct{ EventID, ID, Source string }
	}
	answer.decode(t, &receipt)
	if len(receipt.Events) != 1 || receipt.Events[0].ID != "e-1" || receipt.Events[0].Source != "urn:nld:oin:00000001823288444000:sis" {
		t.Fatalf("receipt %s", answer.body)
	}
	where := answer.header.Get("Location")
	if where != "/events/v1/events/"+receipt.Events[0].EventID {
		t.Fatalf("location %q", where)
	}
	shown := c.get(t, where).want(t, http.StatusOK)
	if shown.member(t, "type") != "nl.example.student.enrolled" {
		t.Errorf("shown %s", shown.body)
	}
	stored, err := h.db.Event(t.Context(), receipt.Events[0].EventID)
	noError(t, err)
	if string(stored.Data) != `{"studentId":"1234"}` {
		t.Errorf("data %s", stored.Data)
	}
}

// Rules: EDU-15, EDU-16, CE-51, CE-56.
func TestPublishModes(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	c := h.publisher(t, "")
	batch := "[" + sampleEvent("b-1") + "," + sampleEvent("b-2") + "]"
	for name, tc := range map[string]struct {
		body    string
		headers []string
		ids     int
	}{
		"structured": {sampleEvent("s-1"), []string{"Content-Type", "application/cloudevents+json; charset=utf-8"}, 1},
		"batch":      {batch, []string{"Content-Type", "application/cloudevents-batch+json"}, 2},
		"empty":      {"[]", []string{"Content-Type", "application/cloudevents-batch+json"}, 0},
		"binary": {`{"studentId":"1"}`, []string{
			"Content-Type", "application/json", "ce-specversion", "1.0", "ce-id", "bin-1",
			"ce-source", "urn:nld:oin:00000001823288444000:sis", "ce-type", "nl.example.student.enrolled", "ce-subject", "Euro%20%E2%82%AC",
		}, 1},
	} {
		answer := c.do(t, http.MethodPost, "/events/v1/events", tc.body, append(tc.headers, "Idempotency-Key", freshKey())...).want(t, http.StatusAccepted)
		events, _ := answer.member(t, "events").([]any)
		if len(events) != tc.ids || !strings.Contains(string(answer.body), `"events":[`) {
			t.Errorf("%s: %s", name, answer.body)
		}
		if single := answer.header.Get("Location") != ""; single != (tc.ids == 1) {
			t.Errorf("%s: location %q", name, answer.header.Get("Location"))
		}
	}
	if n := h.eventCount(t); n != 4 {
		t.Errorf("%d events stored", n)
	}
}

// Rules: EDU-04, CE-10, CE-15, CE-31, CE-40, CE-52, CE-56, CE-60, CE-66, CE-67, CE-68, CE-69, SEC-08.
func TestPublishRefused(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	c, reads := h.publisher(t, ""), h.consumer(t, "")
	wide := h.newClient(t, "", identity.NewClient{
		Scopes: []string{site.ScopeEventsPublish}, PublishTypes: []string{"nl.example.*"}, PublishSources: []string{"*"},
	})
	stranger := &apiClient{h: h, token: "eyJhbGciOiJub25lIn0.e30."}
	structured, batch := "application/cloudevents+json", "application/cloudevents-batch+json"
	retyped := strings.Replace(sampleEvent("x"), "student.enrolled", "course.started", 1)
	elsewhere := strings.Replace(sampleEvent("x"), "urn:nld:oin:", "urn:nld:kvknr:", 1)
	for name, tc := range map[string]struct {
		client          *apiClient
		target          string
		media, body     string
		status          int
		code, attribute string
		index           int
	}{
		"no token":           {h.anyone(), "", structured, sampleEvent("x"), 401, "token-missing", "", -1},
		"wrong token":        {stranger, "", structured, sampleEvent("x"), 401, "token-invalid", "", -1},
		"wrong scope":        {reads, "", structured, sampleEvent("x"), 403, "insufficient-scope", "", -1},
		"CE-68 token in URL": {h.anyone(), "?access_token=" + c.token, structured, sampleEvent("x"), 400, "token-in-query", "", -1},
		"CE-52 avro":         {c, "", "application/cloudevents+avro", "x", 415, "not-a-cloudevent", "", -1},
		"CE-52 json":         {c, "", "application/json", "{}", 415, "not-a-cloudevent", "", -1},
		"CE-66 text":         {c, "", "text/plain", "hello", 415, "not-a-cloudevent", "", -1},
		"CE-40 latin-1":      {c, "", structured + "; charset=iso-8859-1", sampleEvent("x"), 415, "not-a-cloudevent", "", -1},
		"CE-60 no body":      {c, "", structured, "", 400, "event-invalid", "", -1},
		"CE-10 type":         {c, "", structured, retyped, 403, "not-granted", "type", -1},
		"CE-10 source":       {c, "", structured, elsewhere, 403, "not-granted", "source", -1},
		"CE-10 in a batch":   {c, "", batch, "[" + sampleEvent("y") + "," + retyped + "]", 403, "not-granted", "type", 1},
		"CE-15 unknown type": {wide, "", structured, retyped, 400, "unknown-type", "type", -1},
		"CE-15 in a batch":   {wide, "", batch, "[" + sampleEvent("y") + "," + retyped + "]", 400, "unknown-type", "type", 1},
		"CE-31 too large":    {c, "", structured, sampleEvent("x", `"pad":"`+strings.Repeat("p", event.MinEventBytes)+`"`), 413, "too-large", "", -1},
		"CE-32 large, other": {c, "", "text/plain", strings.Repeat("p", event.MinEventBytes+1), 415, "not-a-cloudevent", "", -1},
		"CE-56 one too many": {c, "", batch, "[" + strings.Repeat(sampleEvent("x")+",", 100) + sampleEvent("x") + "]", 413, "too-large", "", -1},
		"CE-56 too large":    {c, "", batch, "[" + sampleEvent("x", `"pad":"`+strings.Repeat("p", 1<<20)+`"`) + "]", 413, "too-large", "", -1},
		"CE-56 large element": {
			c, "", batch, "[" + sampleEvent("y") + "," + sampleEvent("x", `"pad":"`+strings.Repeat("p", event.MinEventBytes)+`"`) + "]",
			413, "too-large", "", 1,
		},
	} {
		answer := tc.client.do(t, http.MethodPost, "/events/v1/events"+tc.target, tc.body, "Content-Type", tc.media, "Idempotency-Key", freshKey())
		if answer.status != tc.status {
			t.Errorf("%s: %d %s", name, answer.status, answer.body)
			continue
		}
		p := answer.problem(t, tc.status, tc.code)
		if tc.status == 401 && !strings.HasPrefix(answer.header.Get("WWW-Authenticate"), "Bearer") {
			t.Errorf("%s: CE-69: %q", name, answer.header.Get("WWW-Authenticate"))
		}
		wantFault(t, name, p, tc.attribute, tc.index)
	}
	if n := h.eventCount(t); n != 0 {
		t.Errorf("%d events of refused requests are stored", n)
	}
}

// wantFault expects an error that names the attribute and, in a batch, the event.
func wantFault(t *testing.T, name string, p site.Problem, attribute string, index int) {
	t.Helper()
	if attribute == "" && index < 0 {
		return
	}
	pointer := "/" + attribute
	if index >= 0 {
		pointer = fmt.Sprintf("/%d%s", index, pointer)
	}
	for _, e := range p.Errors {
		if e.Attribute == attribute && (e.Index == nil) == (index < 0) && (index < 0 || *e.Index == index) &&
			(e.Pointer == pointer || attribute == "") && e.Detail != "" {
			return
		}
	}
	t.Errorf("%s: no error at %s: %+v", name, pointer, p.Errors)
}

// Rules: EDU-03f, CE-60.
func TestPublishMethods(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	c := h.publisher(t, "")
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete, http.MethodPatch, http.MethodOptions} {
		answer := c.do(t, method, "/events/v1/events", "").want(t, http.StatusMethodNotAllowed)
		if allow := answer.header.Get("Allow"); allow != "POST" {
			t.Errorf("%s: EDU-03f, CE-60: Allow %q", method, allow)
		}
	}
}

// Rules: EDU-20, EDU-20a, EDU-20b, CE-65, OPEN-08.
func TestPublishRate(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	h.set(t, "intake.client_rate", "0.5", "intake.client_burst", "2")
	fast, other := h.publisher(t, ""), h.publisher(t, "")
	fast.publish(t, sampleEvent("1")).want(t, http.StatusAccepted)
	fast.publish(t, sampleEvent("2")).want(t, http.StatusAccepted)
	answer := fast.publish(t, sampleEvent("3"))
	answer.problem(t, http.StatusTooManyRequests, "too-many-requests")
	if answer.header.Get("Retry-After") != "2" {
		t.Errorf("CE-65: Retry-After %q", answer.header.Get("Retry-After"))
	}
	other.publish(t, sampleEvent("1")).want(t, http.StatusAccepted) // EDU-20a
	h.clock.Advance(2e9)
	fast.publish(t, sampleEvent("3")).want(t, http.StatusAccepted)
}

func TestPublishUnknownTypesAccepted(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	h.set(t, "events.unknown_types", "accept")
	h.publisher(t, "").publish(t, sampleEvent("1")).want(t, http.StatusAccepted)
}

// TestPublishWhileStopping: what cannot be stored is said to come back later.
//
// Rules: CE-67, EDU-N02.
func TestPublishWhileStopping(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	c := h.publisher(t, "")
	noError(t, h.engine.Stop(t.Context()))
	answer := c.publish(t, sampleEvent("1"))
	answer.problem(t, http.StatusServiceUnavailable, "store-unavailable")
	if answer.header.Get("Retry-After") == "" {
		t.Error("CE-67: no Retry-After")
	}
}
