package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"schakel/delivery/event"
	"schakel/delivery/outbound"
	"schakel/delivery/webhook"
	"schakel/store"
	webdeliveries "schakel/web/deliveries"
	"schakel/web/site"
)

func TestDeliveryPageShowsTheWholeStory(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	d := w.rejected(w.first)
	page := shows(t, w.admin.get("/admin/deliveries/"+d.ID), http.StatusOK,
		"Held: Rejected by the receiver", "have the receiver mended", "Attempt 1: answered 400 Bad Request", "It took 1 ms.",
		"POST https://roc.example.nl/events", "Content-Type: application/cloudevents+json", "Server: <nginx>", "<script>alert(1)</script>",
		"Partner of first@example.nl", "Hook of first@example.nl", "Enrolments", `"student": "42"`, "<b>bold</b>", d.IdempotencyKey, "Discard this delivery", "Resend")
	lacks(t, page, "very-secret", "<script>alert", "<nginx>", "<b>bold")
	if !strings.Contains(page, "Authorization: [redacted]") || !strings.Contains(page, "Set-Cookie: [redacted]") {
		t.Error("the page does not say which headers it leaves out")
	}
}

func TestDeliveryPageSaysHowItIs(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	none := store.Attempt{ErrorKind: outbound.KindTimeout, Error: "roc.example.nl: timeout", DurationUS: 30_000_000}
	retrying := w.attempt(w.deliver(w.event(event.DataNone, ""), w.first), store.DeliveryRetrying, webhook.ReasonUnreachable, none)
	shows(t, w.admin.get("/admin/deliveries/"+retrying.ID), http.StatusOK, "Retrying: No answer from the receiver", "Try now", "Next try:", "in 1 min 30 s",
		"No answer in time", "Nothing came back.", "The event has no data.")
	done := w.attempt(w.deliver(w.event(event.DataText, "hello"), w.other), store.DeliveryDelivered, "", store.Attempt{StatusCode: 202})
	page := shows(t, w.admin.get("/admin/deliveries/"+done.ID), http.StatusOK, "Delivered", "it answered 202", "Send again", "hello")
	lacks(t, page, "Discard this delivery")
	pending := w.deliver(w.event(event.DataNone, ""), w.other)
	shows(t, w.admin.get("/admin/deliveries/"+pending.ID), http.StatusOK, "Pending", "It was not tried yet.", "Next try:")
	w.subscriptionIs(w.other, store.SubscriptionPaused)
	lacks(t, shows(t, w.admin.get("/admin/deliveries/"+pending.ID), http.StatusOK, "nothing is sent to it"), "Next try:")
}

func TestDeliveryPageShowsItsKin(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	e := w.event(event.DataJSON, `[]`)
	mine, theirs := w.deliver(e, w.first), w.deliver(e, w.other)
	shows(t, w.admin.get("/admin/deliveries/"+mine.ID), http.StatusOK, "Other deliveries of this event", "Hook of other@example.nl")
	page := shows(t, w.first.browser.get("/partner/deliveries/"+mine.ID), http.StatusOK, "Hook of first@example.nl")
	lacks(t, page, theirs.ID, "other@example.nl", "Other deliveries", "Discard", "Chain Office", "cli_test", "/admin/")
}

// Rules: EDU-N11.
func TestOneDeliveryIsResentAndDiscarded(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	d := w.rejected(w.first)
	here := "/admin/deliveries/" + d.ID
	wantRedirect(t, w.admin.post(here+"/resend", url.Values{"back": {"/admin/errors?show=held"}}), "/admin/errors?show=held")
	w.wantState(d.ID, store.DeliveryPending)
	wantRedirect(t, w.admin.post(here+"/resend", url.Values{"back": {"https://evil.example"}}), here)
	shows(t, w.admin.get(here), http.StatusOK, "This delivery cannot be resent", "Ada Admin resent a delivery")
	wantRedirect(t, w.admin.post(here+"/discard", url.Values{"reason": {"x"}}), here)
	shows(t, w.admin.get(here), http.StatusOK, "Only a delivery in the error queue or the dead-letter queue can be discarded.")

	d = w.dead(w.other)
	here = "/admin/deliveries/" + d.ID
	shows(t, w.admin.post(here+"/discard", url.Values{"reason": {" "}}), http.StatusUnprocessableEntity, "There is a problem", "Say why")
	wantRedirect(t, w.admin.post(here+"/discard", url.Values{"reason": {"A test."}}), here)
	shows(t, w.admin.get(here), http.StatusOK, "The delivery is discarded.", "Discarded: it is not sent any more", "Reason: A test.")
}

func TestWaitingDeliveryIsTriedNow(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	d := w.failed(w.first, store.DeliveryRetrying, webhook.ReasonServerError)
	wantRedirect(t, w.first.browser.post("/partner/deliveries/"+d.ID+"/resend", url.Values{"back": {"/partner/deliveries"}}), "/partner/deliveries")
	if due := w.delivery(d.ID).DueAt; due.After(w.clock.Now()) {
		t.Errorf("the next try is due at %v", due)
	}
}

// Rules: EDU-07.
func TestPartnerReadsNoEventThatWasHeldBack(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	got := w.attempt(w.deliver(w.event(event.DataJSON, `"arrived"`), w.first), store.DeliveryDelivered, "", store.Attempt{StatusCode: 200})
	held := w.deliver(w.event(event.DataJSON, `"withheld"`), w.first)
	path := "/partner/deliveries/"
	shows(t, w.first.browser.get(path+held.ID), http.StatusOK, `"withheld"`)
	w.subscriptionIs(w.first, store.SubscriptionSuspended)
	lacks(t, shows(t, w.first.browser.get(path+held.ID), http.StatusOK, "The event has not arrived"), "withheld", "urn:x:records", held.ID+"/data")
	wantStatus(t, w.first.browser.get(path+held.ID+"/data"), http.StatusNotFound)
	shows(t, w.first.browser.get(path+got.ID), http.StatusOK, `"arrived"`)
	if body := text(w.first.browser.get(path + got.ID + "/data")); body != `"arrived"` {
		t.Errorf("downloaded %q", body)
	}
}

func TestWhoMaySeeWhatMoves(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	d := w.dead(w.first)
	for _, path := range []string{
		"/admin/errors", "/admin/dead-letters", "/admin/deliveries", "/admin/deliveries/" + d.ID, "/admin/dead-letters/all", "/admin/errors/all",
		"/admin/deliveries/all", "/admin/jobs", "/admin/jobs/x", "/admin/events", "/admin/events/" + d.EventID, "/admin/events/" + d.EventID + "/data", "/admin/audit",
	} {
		wantStatus(t, w.first.browser.get(path), http.StatusForbidden)
		wantRedirect(t, w.browser().get(path), "/login?next="+url.QueryEscape(path))
	}
	for _, path := range []string{
		"/admin/errors", "/admin/errors/all", "/admin/deliveries/" + d.ID + "/resend", "/admin/deliveries/" + d.ID + "/discard", "/admin/jobs/x/cancel",
	} {
		wantStatus(t, w.first.browser.post(path, url.Values{"id": {d.ID}, "action": {"resend"}, "reason": {"x"}}), http.StatusForbidden)
		wantRedirect(t, w.browser().post(path, url.Values{"id": {d.ID}, "action": {"resend"}}), site.LoginEnded)
	}
	for _, path := range []string{"/partner/deliveries/" + d.ID, "/partner/deliveries/" + d.ID + "/data", "/partner/deliveries/dlv_x", "/partner/jobs/x"} {
		wantStatus(t, w.other.browser.get(path), http.StatusNotFound)
		wantStatus(t, w.admin.get(path), http.StatusForbidden)
		wantRedirect(t, w.browser().get(path), "/login?next="+url.QueryEscape(path))
	}
	wantStatus(t, w.other.browser.post("/partner/deliveries/"+d.ID+"/resend", url.Values{"back": {"/"}}), http.StatusNotFound)
	wantStatus(t, w.other.browser.post("/partner/deliveries/"+d.ID+"/discard", url.Values{"reason": {"x"}}), http.StatusNotFound)
	wantStatus(t, w.admin.get("/admin/deliveries/dlv_x"), http.StatusNotFound)
	wantStatus(t, w.admin.get("/admin/events/evt_x"), http.StatusNotFound)
	w.wantState(d.ID, store.DeliveryDead)
}

func TestManyAttemptsAreCut(t *testing.T) {
	t.Parallel()
	attempts := make([]store.Attempt, webdeliveries.MaxShownAttempts+3)
	for i := range attempts {
		attempts[i] = store.Attempt{Number: int64(i + 1), StartedAt: store.At(time.Unix(int64(i), 0)), StatusCode: 500}
	}
	attempts[len(attempts)-1].Number-- // as after a crash
	views, earlier := webdeliveries.AttemptViews(attempts, site.AdministratorArea())
	if len(views) != webdeliveries.MaxShownAttempts || earlier != 3 || views[0].At.Unix() != int64(len(attempts)-1) {
		t.Fatalf("%d attempts, %d earlier, the first at %v", len(views), earlier, views[0].At)
	}
	seen := map[int]bool{}
	for _, v := range views {
		if seen[v.Number] {
			t.Errorf("two attempts share the place %d", v.Number)
		}
		seen[v.Number] = true
	}
	if views, earlier := webdeliveries.AttemptViews(nil, site.AdministratorArea()); len(views) != 0 || earlier != 0 {
		t.Error("no attempts are some")
	}
}

func TestAddressesAndHeadersAreShownSafely(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"https://x.nl/a?b=c": "https://x.nl/a?b=c", "https://u:hush@x.nl/": "https://u:xxxxx@x.nl/", "::": "::",
	} {
		if got := webdeliveries.SafeURL(raw); got != want {
			t.Errorf("%s is shown as %s", raw, got)
		}
	}
	for stored, want := range map[string]string{
		"": "", "[]": "(the headers as stored cannot be read)",
		`{"B":["2","3"],"A":["1"],"cookie":["hush"]}`: "A: 1\nB: 2\nB: 3\ncookie: [redacted]\n",
	} {
		if got := webdeliveries.HeaderLines(stored); got != want {
			t.Errorf("%s is shown as %q", stored, got)
		}
	}
}
