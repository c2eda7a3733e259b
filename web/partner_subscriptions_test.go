package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestSubscriptionStory(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t).withCatalogue(t)
	b, _ := h.at(t, "pat@example.nl")
	wantWords(t, text(b.get("/partner/subscriptions/new")), "You need an endpoint first")
	endpoint := newEndpoint(t, b)
	page := text(b.get("/partner/subscriptions/new?q=left&types=nl.example.student.enrolled&purpose=Because&name=Mine"))
	wantWords(t, page, `value="nl.example.student.enrolled" checked`, "nl.example.student.left", ">Because</textarea>", `value="Mine"`)

	here := newSubscription(t, b, endpoint)
	wantWords(t, text(b.get(here)), "has to decide", "Take this request back", "Student events 1.x, now 1.2.0", "internal")
	wantWords(t, text(b.get("/partner")), "Subscription: Enrolments")
	noError(t, h.reg.Subscriptions.Approve(t.Context(), h.admin, idOf(here)))
	wantWords(t, text(b.get(here)), "are sent to your endpoint", here+"/pause")

	answer := b.post(here+"/pause", url.Values{"reason": {" "}})
	wantStatus(t, answer, http.StatusUnprocessableEntity)
	wantWords(t, text(answer), `href="#pause-reason"`)
	wantRedirect(t, b.post(here+"/pause", url.Values{"reason": {"Maintenance."}}), here)
	wantWords(t, text(b.get(here)), "You paused", "Maintenance.")
	wantRedirect(t, b.post(here+"/resume", nil), here)
	noError(t, h.reg.Subscriptions.Suspend(t.Context(), h.admin, idOf(here), "Too many failures."))
	wantRedirect(t, b.post(here+"/resume", nil), here)
	page = text(b.get(here))
	wantWords(t, page, "You cannot unpause", "Too many failures.")
	wantRedirect(t, b.post(here+"/end", url.Values{"reason": {"Not needed."}}), here)
	page = text(b.get(here))
	wantWords(t, page, "has ended", "Not needed.")
	if strings.Contains(page, "End this subscription") {
		t.Error("an ended subscription can be ended")
	}
	wantWords(t, text(b.get("/partner/subscriptions?status=ended&type=nl.example.student.enrolled")), "1 subscription", "Enrolments")
	wantWords(t, text(b.get("/partner/subscriptions?status=approved")), "No subscription matches")
}

func TestSubscriptionRefused(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t).withCatalogue(t)
	b, _ := h.at(t, "pat@example.nl")
	other, _ := h.at(t, "other@example.nl")
	endpoint, theirs := newEndpoint(t, b), newEndpoint(t, other)
	tests := []struct{ field, value string }{
		{"types", ""},
		{"types", "nl.example.unknown"},
		{"endpoint", ""},
		{"endpoint", idOf(theirs)},
		{"purpose", ""},
		{"name", strings.Repeat("n", 121)},
	}
	for _, test := range tests {
		form := changed(url.Values{"types": {"nl.example.student.left"}, "endpoint": {idOf(endpoint)}, "purpose": {"Our records."}}, test.field, test.value)
		answer := b.post("/partner/subscriptions/new", form)
		if page := text(answer); answer.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(page, `href="#`+test.field+`"`) {
			t.Errorf("%s=%q: status %d, or no error at the field", test.field, test.value, answer.StatusCode)
		}
	}
}
