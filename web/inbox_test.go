package web

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"schakel/delivery/inbox"
	"schakel/delivery/outbox"
	"schakel/delivery/webhook"
	"schakel/store"
	"schakel/web/site"
)

// newRunningPortal is the portal with an engine that runs and delivers to test inboxes.
func newRunningPortal(t *testing.T) *portalHarness {
	t.Helper()
	h := newPortalHarness(t, func(cfg *site.PortalConfig) {
		engine := outbox.New(outbox.Config{DB: cfg.DB, Transports: map[string]outbox.Transport{
			store.EndpointInbox: &outbox.Webhook{Sender: inbox.New(cfg.DB, cfg.DB.Now), Schedule: webhook.DefaultSchedule(), Now: cfg.DB.Now, Encrypter: cfg.Encrypter},
		}, Now: cfg.DB.Now})
		noError(t, engine.Start(t.Context()))
		t.Cleanup(func() { _ = engine.Stop(context.WithoutCancel(t.Context())) })
		cfg.Engine = engine
	})
	return h.withCatalogue(t)
}

// exampleOn is the event in the form of a page.
func exampleOn(t *testing.T, page string) string {
	t.Helper()
	shown := match(t, `(?s)<textarea[^>]*name="event"[^>]*>(.*?)</textarea>`, page)
	_, shown, _ = strings.Cut(shown, ">")
	return strings.NewReplacer("&#34;", `"`, "&quot;", `"`, "</textarea>", "").Replace(shown)
}

// One press of a button makes a test inbox and shows that a test event arrived in it; two more send one of a real type.
func TestFirstTestEventInOneClick(t *testing.T) {
	t.Parallel()
	h := newRunningPortal(t)
	b, pat := h.at(t, "pat@example.nl")
	other, _ := h.at(t, "other@example.nl")
	wantWords(t, text(b.get("/partner")), `action="/partner/endpoints/inbox"`)
	wantWords(t, text(b.get("/partner/endpoints")), `action="/partner/endpoints/inbox"`)
	setup := redirected(t, b.post("/partner/endpoints/inbox", nil)) // click 1
	here, _, _ := strings.Cut(setup, "/setup")
	wantWords(t, text(b.get(setup)), "It works", `aria-current="step"`, "202", here+"/test", "/partner/subscriptions/new?endpoint="+idOf(here))
	lacks(t, text(b.get("/partner/subscriptions/new")), "()") // its host
	if strings.Contains(text(b.get("/partner/endpoints")), `action="/partner/endpoints/inbox"`) {
		t.Error("a second test inbox is offered")
	}
	wantRedirect(t, b.post("/partner/endpoints/inbox", nil), here)
	wantWords(t, text(b.get(here)), outbox.TestEventType, here+"/test")
	// Without a subscription a replay would select nothing, and its page be a refusal.
	lacks(t, text(b.get(here)), "/partner/replays?")
	lacks(t, text(h.colleague(t, store.RoleOperator, "").get("/admin/endpoints/"+idOf(here))), "/admin/replays?")
	wantRedirect(t, b.post(here+"/clear", nil), here)
	wantWords(t, text(b.get(here)), "Nothing has arrived yet")
	page := text(b.get(here + "/test")) // click 2
	example := exampleOn(t, page)
	wantWords(t, example, `"type": "nl.example.student.enrolled"`, `"student": "42"`, `"schakeltest": true`)
	outcome := redirected(t, b.post(here+"/test", url.Values{"type": {"nl.example.student.enrolled"}, "event": {example}})) // click 3
	wantWords(t, text(b.get(outcome)), "Outcome", "202", "Delivered")

	received := must(h.db.InboxMessages(t.Context(), idOf(here), store.At(time.Unix(0, 0))))(t)
	if len(received) != 1 || received[0].EventType != "nl.example.student.enrolled" || len(received[0].Findings) != 0 {
		t.Fatalf("received %+v", received)
	}
	list := text(b.get(here))
	wantWords(t, list, "nl.example.student.enrolled", "Valid", "202 Accepted")
	message := here + "/messages/" + received[0].ID
	wantWords(t, text(b.get(message)), "its data fits the contract", "Idempotency-Key", "application/cloudevents+json", "schakeltest")
	for _, path := range []string{here, here + "/test", message, outcome, setup} {
		wantStatus(t, other.get(path), http.StatusNotFound)
	}
	wantStatus(t, other.post(here+"/answer", url.Values{"answer": {"500"}}), http.StatusNotFound)
	d := must(h.db.Delivery(t.Context(), match(t, `dlv_[0-9A-Za-z]+`, outcome)))(t)
	e := must(h.db.Event(t.Context(), d.EventID))(t)
	if !e.Test || d.SubscriptionID != "" || d.PartnerID != pat.PartnerID || d.Attempts != 1 {
		t.Errorf("the test is %+v by %+v", e, d)
	}
	wantRedirect(t, b.post(here+"/clear", nil), here)
	wantWords(t, text(b.get(here)), "Nothing has arrived yet")
}

// newInbox makes a test inbox, empties it of its first test event, and gives its address.
func newInbox(t *testing.T, b *browser) string {
	t.Helper()
	setup := redirected(t, b.post("/partner/endpoints/inbox", nil))
	here, _, _ := strings.Cut(setup, "/setup")
	wantWords(t, text(b.get(setup)), "It works")
	wantRedirect(t, b.post(here+"/clear", nil), here)
	return here
}

func TestInboxAnswersAsChosen(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ answer, state, words string }{
		{"400", store.DeliveryHeld, "400"}, {"429", store.DeliveryRetrying, "Retry-After"}, {"500", store.DeliveryRetrying, "500"},
	} {
		t.Run(test.answer, func(t *testing.T) {
			t.Parallel()
			h := newRunningPortal(t)
			b, _ := h.at(t, "pat@example.nl")
			here := newInbox(t, b)
			wantRedirect(t, b.post(here+"/answer", url.Values{"answer": {"teapot"}}), here)
			wantWords(t, text(b.get(here)), "Choose one of the answers")
			wantRedirect(t, b.post(here+"/answer", url.Values{"answer": {test.answer}}), here)
			outcome := redirected(t, b.post(here+"/test", url.Values{"type": {"nl.example.student.enrolled"}, "event": {exampleOn(t, text(b.get(here+"/test")))}}))
			wantWords(t, text(b.get(outcome)), test.words)
			d := must(h.db.Delivery(t.Context(), match(t, `dlv_[0-9A-Za-z]+`, outcome)))(t)
			if d.Status != test.state {
				t.Errorf("the delivery is %s, want %s", d.Status, test.state)
			}
		})
	}
}

func TestTestEventIsHeldAgainstItsContract(t *testing.T) {
	t.Parallel()
	h := newRunningPortal(t)
	b, _ := h.at(t, "pat@example.nl")
	here := newInbox(t, b)
	send := func(pairs ...string) *http.Response {
		return b.post(here+"/test", changed(url.Values{"type": {"nl.example.student.enrolled"}}, pairs...))
	}
	const event = `{"specversion":"1.0","id":"1","source":"urn:x","type":"nl.example.student.enrolled","data":`
	wantPage(t, send("event", ""), http.StatusUnprocessableEntity, "Enter an event")
	wantPage(t, send("event", "[1]"), http.StatusUnprocessableEntity, "not a JSON object")
	wantPage(t, send("event", `{"a":1}`), http.StatusUnprocessableEntity, "not a CloudEvent")
	wantPage(t, send("event", event+`{}}`, "type", "nl.example.secret"), http.StatusUnprocessableEntity, "Choose one of the event types")
	wantPage(t, send("event", event+`{}}`, "type", "nl.example.student.left"), http.StatusUnprocessableEntity, "choose that type")
	wantPage(t, send("event", event+`{}}`, "do", "check"), http.StatusOK, "fits its contract")
	wantPage(t, send("event", event+`3}`), http.StatusOK, "1 thing does not fit", "Send although")
	if received := must(h.db.InboxMessages(t.Context(), idOf(here), store.At(time.Unix(0, 0))))(t); len(received) != 0 {
		t.Fatalf("received %d", len(received))
	}
	redirected(t, send("event", event+`3}`, "force", "on"))
	received := must(h.db.InboxMessages(t.Context(), idOf(here), store.At(time.Unix(0, 0))))(t)
	if len(received) != 1 {
		t.Fatalf("received %d", len(received))
	}
	wantWords(t, text(b.get(here+"/messages/"+received[0].ID)), "/data")
}
