package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"schakel/registry/contracts"
	"schakel/store"
	webcontracts "schakel/web/contracts"
	"schakel/web/site"
)

func TestCataloguePages(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t).withCatalogue(t)
	visitor := h.browser()
	wantWords(t, text(visitor.get("/")), "Chain Office", "2 event types", `href="/register"`)
	wantWords(t, text(visitor.get("/terms")), "version 1")
	wantWords(t, text(visitor.get("/event-types")), "nl.example.student.enrolled", "nl.example.student.left", "2 event types")
	page := text(visitor.get("/event-types?q=LEFT+student"))
	wantWords(t, page, "nl.example.student.left", "1 event type")
	if strings.Contains(page, "student.enrolled") {
		t.Error("the search finds what it should not")
	}
	wantWords(t, text(visitor.get("/event-types?status=deprecated")), "Show all event types")
	page = text(visitor.get("/event-types/nl.example.student.enrolled"))
	wantWords(t, page, "Student events", `href="/contracts/student-events/versions/1.2.0"`, "&#34;student&#34;: &#34;42&#34;", "/login?next=")
	wantStatus(t, visitor.get("/event-types/nl.example.unknown"), http.StatusNotFound)

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
	if strings.Contains(visitor, "Try an event") || strings.Contains(visitor, "subscriptions to its event types") {
		t.Error("a visitor can try events, or sees who is subscribed")
	}
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
	_, err := h.reg.Contracts.SetVisibility(t.Context(), h.admin, "student-events", contracts.VisibilityChange{
		Visibility: store.VisibilityPartners, Reason: "for the test", AcceptLoss: true,
	})
	noError(t, err)
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
			if got := site.ReadableJSON(test.in); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	long := site.ReadableJSON(strings.Repeat("é", site.MaxShownJSON))
	if !strings.HasSuffix(long, "in the contract)") || !strings.HasPrefix(long, "é") {
		t.Error("a long text is not cut between characters")
	}
}
