package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/store"
	"schakel/web/api"
	webcontracts "schakel/web/contracts"
	partnerswebpartners "schakel/web/partners"
	"schakel/web/site"
)

func TestTryEvent(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	lines := must(h.reg.EventTypes.LinesOf(t.Context(), "nl.example.student.enrolled"))(t)
	for _, tt := range []struct{ name, content, want string }{
		{"event", withData("1", `{"studentId":"1"}`), "true [1.0.0]"},
		{"data", `{"studentId":"1"}`, "true [1.0.0]"},
		{"data that does not fit", "{\n \"studentId\": 1}", "false [] 2:2 /studentId payload-type"},
		{"event that does not fit", withData("1", "{\n\"studentId\":1}"), "false [] 2:1 /data/studentId payload-type"},
		{"event of another type", strings.Replace(sampleEvent("1"), "enrolled", "left", 1), "type-differs"},
		{"broken event", `{"specversion":"1.0"}`, "/source attribute-missing"},
		{"no JSON", `{`, "false [] 0:0  json-syntax"},
	} {
		got := must(webcontracts.CheckEvent(h.reg.Payloads, "nl.example.student.enrolled", []byte(tt.content), webcontracts.VersionsIn(lines["nl.example.student.enrolled"])))(t)
		text := fmt.Sprint(got.Valid, " ", got.Fits)
		for _, f := range got.Findings {
			text += fmt.Sprintf(" %d:%d %s %s", f.Line, f.Column, f.Pointer, f.Code)
		}
		if !strings.Contains(text, tt.want) {
			t.Errorf("%s: %s, want %s", tt.name, text, tt.want)
		}
	}
}

func TestVersionsInTheOrderOfTheCheck(t *testing.T) {
	t.Parallel()
	row := func(v, status string) store.EventType {
		return store.EventType{ContractVersion: v, SortKey: v, Status: status}
	}
	lines := []registry.VersionLineOf{
		{Versions: []store.EventType{row("1.1.0", "published"), row("1.0.0", "deprecated")}},
		{Versions: []store.EventType{row("2.0.0", "published")}},
	}
	var got []string
	for _, v := range webcontracts.VersionsIn(lines) {
		got = append(got, v.ContractVersion)
	}
	if strings.Join(got, " ") != "2.0.0 1.1.0 1.0.0" {
		t.Errorf("order %v", got)
	}
}

// Rules: CE-15.
func TestValidationsOfAnEventType(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	c := h.publisher(t, "")
	const path = "/events/v1/event-types/nl.example.student.enrolled/validations"
	got := decoded[webcontracts.EventCheck](t, c.postJSON(t, path, `{"studentId":5}`).want(t, 200))
	if got.Valid || len(got.Findings) != 1 || got.Findings[0].Pointer != "/studentId" || got.Findings[0].Line != 1 {
		t.Errorf("got %+v", got)
	}
	c.do(t, "POST", path, sampleEvent("1"), "Content-Type", "application/cloudevents+json").want(t, 200).decode(t, &got)
	if !got.Valid || fmt.Sprint(got.Fits) != "[1.0.0]" {
		t.Errorf("got %+v", got)
	}
	c.do(t, "POST", path, "<a/>", "Content-Type", "text/xml").want(t, 415)
	c.postJSON(t, "/events/v1/event-types/nl.none/validations", `{}`).want(t, 404)
	h.anyone().postJSON(t, path, `{}`).want(t, 401)
	c.postJSON(t, path, `"`+strings.Repeat("x", api.MaxJSONBytes)+`"`).want(t, 413)
	if n := h.eventCount(t); n != 0 {
		t.Errorf("%d events are kept", n)
	}
}

// Rules: EDU-08.
func TestCatalogueAndSubscriptionsTellVersions(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	h.nextVersion(t, "2.0.0")
	partner := h.newPartner(t, "North")
	endpoint := h.newEndpoint(t, partner.ID)
	c := h.consumer(t, partner.ID)
	const name = "nl.example.student.enrolled"
	found := decoded[webcontracts.EventTypeAnswer](t, c.get(t, "/events/v1/event-types/"+name).want(t, 200))
	if len(found.Versions) != 2 || found.Versions[0].Line != "2" || found.Versions[1].ContractVersion != "1.0.0" {
		t.Errorf("versions %+v", found.Versions)
	}
	ask := func(versions string, status int) partnerswebpartners.SubscriptionAnswer {
		t.Helper()
		var made partnerswebpartners.SubscriptionAnswer
		answer := c.postJSON(t, "/events/v1/subscriptions", `{"endpointId":"`+endpoint.ID+`","types":["`+name+`"],`+versions+`"purpose":"To know who is enrolled."}`).want(t, status)
		if status == 201 {
			answer.decode(t, &made)
		}
		return made
	}
	ask(`"versions":{"`+name+`":"9"},`, 400)
	if made := ask(`"versions":{"`+name+`":"1"},`, 201); made.Versions[name] != "1" {
		t.Errorf("versions %v", made.Versions)
	}
	if made := ask(``, 201); made.Versions[name] != "2" {
		t.Errorf("versions %v", made.Versions)
	}
	ask(`"versions":{"`+name+`":"any"},`, 400) // both would get it
}

func TestCataloguePages(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t).withCatalogue(t)
	visitor := h.browser()
	wantWords(t, text(visitor.get("/")), "Chain Office", "2 event types", `href="/register"`)
	wantWords(t, text(visitor.get("/terms")), "version 1")
	wantWords(t, text(visitor.get("/event-types")), "nl.example.student.enrolled", "nl.example.student.left", "2 event types")
	page := text(visitor.get("/event-types?q=LEFT+student"))
	wantWords(t, page, "nl.example.student.left", "1 event type")
	lacks(t, page, "student.enrolled")
	wantWords(t, text(visitor.get("/event-types?status=deprecated")), "Show all event types")
	page = text(visitor.get("/event-types/nl.example.student.enrolled"))
	wantWords(t, page, "Student events", `href="/contracts/student-events/versions/1.2.0"`, "&#34;student&#34;: &#34;42&#34;", "/login?next=")
	wantStatus(t, visitor.get("/event-types/nl.example.unknown"), http.StatusNotFound)
	_, pool := h.db.Pools()
	must(pool.ExecContext(t.Context(), `UPDATE event_type SET content_type = 'application/xml', example = '"\u003cMsgHead xmlns=\"urn:x\"/\u003e"' WHERE name = 'nl.example.student.left'`))(t)
	wantWords(t, text(visitor.get("/event-types/nl.example.student.left")), "&lt;MsgHead xmlns=&#34;urn:x&#34;/&gt;") // XML as it is, no string of JSON

	b, _ := h.at(t, "pat@example.nl")
	wantWords(t, text(b.get("/event-types/nl.example.student.left")), `href="/partner/subscriptions/new?types=nl.example.student.left"`)
	wantWords(t, text(b.get("/")), "Go to your overview")
}

// Rules: CE-15, EDU-08.
func TestEventIsTriedOnThePageOfItsType(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t).withCatalogue(t)
	const path = "/event-types/nl.example.student.enrolled"
	visitor := text(h.browser().get(path))
	wantWords(t, visitor, "1.x", "1.2.0")
	lacks(t, visitor, "Try an event", "subscriptions to its event types")
	b, _ := h.at(t, "pat@example.nl")
	wantWords(t, text(b.get(path)), "Try an event", "Your subscriptions to its event types")
	wantWords(t, text(b.post(path, url.Values{"event": {`{"student":"42"}`}})), "It fits version 1.2.0.")
	for typed, want := range map[string]string{
		"":                           "Paste an event, or its data.",
		"{":                          "This is not JSON.",
		`{"specversion":"1.0"}`:      "What does not fit",
		strings.Repeat(" ", 9) + "<": "This is not JSON.",
		"\"" + strings.Repeat("x", webcontracts.MaxCheckedBytes) + "\"": "larger than 64 KiB",
	} {
		wantWords(t, text(b.post(path, url.Values{"event": {typed}})), want)
	}
	answer := h.browser().post(path, url.Values{"event": {"{}"}})
	if answer.StatusCode != http.StatusSeeOther && !strings.Contains(text(answer), "Log in") {
		t.Errorf("a visitor gets %d", answer.StatusCode)
	}
}

func TestCatalogueHidesWhatIsNotForTheReader(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t).withCatalogue(t)
	must(h.reg.Contracts.SetVisibility(t.Context(), h.admin, "student-events", contracts.VisibilityChange{
		Visibility: store.VisibilityPartners, Reason: "for the test", AcceptLoss: true,
	}))(t)
	wantWords(t, text(h.browser().get("/event-types")), "no event types you can see")
	wantStatus(t, h.browser().get("/event-types/nl.example.student.left"), http.StatusNotFound)
	b, _ := h.at(t, "pat@example.nl")
	wantStatus(t, b.get("/event-types/nl.example.student.left"), http.StatusOK)
}

func TestReadableJSON(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"object", `{"a":[1]}`, "{\n  \"a\": [\n    1\n  ]\n}"},
		{"not JSON", "a: 1", "a: 1"},
		{"empty", "", ""},
		{"too deep to indent", strings.Repeat("[", 200), strings.Repeat("[", 200)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := site.ReadableJSON(t.Context(), test.in); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	long := site.ReadableJSON(t.Context(), strings.Repeat("é", site.MaxShownJSON))
	if !strings.HasSuffix(long, "in the contract)") || !strings.HasPrefix(long, "é") {
		t.Error("a long text is not cut between characters")
	}
}

// nextVersion publishes a version of the sample contract in which a student has a number and no studentId.
func (h *apiHarness) nextVersion(t testing.TB, version string) {
	t.Helper()
	ctx, actor := t.Context(), registry.SystemActor()
	document := strings.NewReplacer("version: 1.0.0", "version: "+version,
		"properties: {studentId: {type: string}}", "required: [number], properties: {number: {type: integer}}").Replace(sampleContract)
	must(h.reg.Contracts.Upload(ctx, actor, "student-events", contracts.Upload{Content: []byte(document)}))(t)
	must(publishDraft(ctx, h.reg, actor, "student-events", version, "side by side"))(t)
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
		receipt := decoded[struct{ Events []struct{ EventID string } }](t, c.publish(t, tt.body).want(t, 202))
		rows := must(h.db.DeliveriesOf(t.Context(), receipt.Events[0].EventID))(t)
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
