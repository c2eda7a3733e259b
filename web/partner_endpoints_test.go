package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"schakel/store"
)

// Rules: EDU-07a.
func TestEndpointStory(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	b, pat := h.at(t, "pat@example.nl")
	wantWords(t, text(b.get("/partner/endpoints")), "There are no endpoints yet", `href="/partner/endpoints/new"`)
	wantWords(t, text(b.get("/partner/endpoints/new")), "/oauth/jwks", "client_secret_basic")
	here := newEndpoint(t, b)
	page := text(b.get(here))
	wantWords(t, page, "Endpoint Records is added", "https://roc.example.nl/events", "stored, never shown", here+"/test", here+"/edit")
	for _, p := range []string{page, text(b.get(here + "/edit")), text(b.get("/partner/endpoints"))} {
		if strings.Contains(p, "hush-hush") {
			t.Fatal("the secret is on a page")
		}
	}
	before, err := h.db.Endpoint(t.Context(), idOf(here))
	noError(t, err)
	if strings.Contains(before.TokenSecret, "hush") {
		t.Error("the secret is stored in the clear")
	}

	wantRedirect(t, b.post(here, endpointForm("name", "Records 2", "tokenSecret", "")), here)
	after, err := h.db.Endpoint(t.Context(), idOf(here))
	noError(t, err)
	if after.TokenSecret != before.TokenSecret || after.Name != "Records 2" {
		t.Errorf("an empty secret did not keep the old one, or the name did not change: %q", after.Name)
	}
	answer := b.post(here, endpointForm("tokenSecret", "", "tokenUrl", "https://evil.example/token"))
	wantStatus(t, answer, http.StatusUnprocessableEntity)
	wantWords(t, text(answer), `href="#tokenSecret"`, "https://evil.example/token")

	answer = b.post(here+"/pause", url.Values{"reason": {""}})
	wantStatus(t, answer, http.StatusUnprocessableEntity)
	wantWords(t, text(answer), `href="#pause-reason"`)
	wantRedirect(t, b.post(here+"/pause", url.Values{"reason": {"Maintenance."}}), here)
	wantWords(t, text(b.get(here)), "Maintenance.", here+"/resume")
	wantRedirect(t, b.post(here+"/test", nil), here)
	wantWords(t, text(b.get(here)), "The endpoint is paused, so nothing is sent")
	wantRedirect(t, b.post(here+"/pause", url.Values{"reason": {"Again."}}), here)
	wantWords(t, text(b.get(here)), "You cannot pause this endpoint")
	wantRedirect(t, b.post(here+"/resume", nil), here)

	answer = b.post(here+"/test", nil)
	wantStatus(t, answer, http.StatusSeeOther)
	delivery, err := h.db.Delivery(t.Context(), idOf(answer.Header.Get("Location")))
	noError(t, err)
	event, err := h.db.Event(t.Context(), delivery.EventID)
	noError(t, err)
	if delivery.PartnerID != pat.PartnerID || event.CESource != "urn:schakel" || !event.Test {
		t.Errorf("test event from %q to partner %q", event.CESource, delivery.PartnerID)
	}

	wantRedirect(t, b.post(here+"/end", url.Values{"reason": {"Replaced."}}), here)
	page = text(b.get(here))
	wantWords(t, page, "Ended", "Replaced.")
	if strings.Contains(page, "Send a test event") || strings.Contains(page, here+"/edit") {
		t.Error("an ended endpoint can be used")
	}
	wantRedirect(t, b.get(here+"/edit"), here)
}

func TestEndpointRefused(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	b, _ := h.at(t, "pat@example.nl")
	tests := []struct{ field, value string }{
		{"name", ""},
		{"url", "http://roc.example.nl/events"},
		{"contentMode", "pigeon"},
		{"tokenAuthMethod", "none"},
		{"tokenUrl", "ftp://x"},
		{"tokenClientId", ""},
		{"tokenSecret", ""},
		{"ratePerSecond", "fast"},
		{"ratePerSecond", "-1"},
		{"maxConcurrency", "65"},
		{"timeoutSeconds", "61"},
		{"timeoutSeconds", "99999999999999999999"},
	}
	for _, test := range tests {
		answer := b.post("/partner/endpoints", endpointForm(test.field, test.value))
		page := text(answer)
		if answer.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(page, `href="#`+test.field+`"`) {
			t.Errorf("%s=%q: status %d, or no error at the field", test.field, test.value, answer.StatusCode)
		}
		if strings.Contains(page, "hush-hush") {
			t.Errorf("%s=%q: the secret is written back", test.field, test.value)
		}
	}
	rows, err := h.db.Endpoints(t.Context(), "")
	noError(t, err)
	if len(rows) != 0 {
		t.Errorf("%d endpoints were made", len(rows))
	}
}

func TestEndpointList(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	b, _ := h.at(t, "pat@example.nl")
	for range 3 {
		newEndpoint(t, b)
	}
	page := text(b.get("/partner/endpoints?perPage=2"))
	wantWords(t, page, "3 endpoints", `href="/partner/endpoints?page=2&amp;perPage=2"`)
	wantWords(t, text(b.get("/partner/endpoints?q=records+roc&status=active")), "3 endpoints")
	wantWords(t, text(b.get("/partner/endpoints?status=paused")), "No endpoint matches")
	wantWords(t, text(b.get("/partner/endpoints?page=900000")), "3 endpoints")
}

func TestOwnDeskIsForAdministrators(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	partner, _ := h.at(t, "pat@example.nl")
	theirs := newEndpoint(t, partner)
	wantStatus(t, partner.get("/admin/own/endpoints"), http.StatusForbidden)
	admin := h.browser()
	admin.login(t, testEmail)
	wantStatus(t, admin.get("/partner/endpoints"), http.StatusForbidden)
	answer := admin.post("/admin/own/endpoints", endpointForm())
	wantStatus(t, answer, http.StatusSeeOther)
	made, err := h.db.Endpoint(t.Context(), idOf(answer.Header.Get("Location")))
	noError(t, err)
	own, err := h.db.OwnPartner(t.Context())
	noError(t, err)
	if made.PartnerID != own.ID {
		t.Errorf("the endpoint is of %q", made.PartnerID)
	}
	wantStatus(t, admin.get("/admin/own/endpoints/"+idOf(theirs)), http.StatusNotFound)
	wantStatus(t, admin.post("/admin/own/endpoints/"+idOf(theirs)+"/end", url.Values{"reason": {"Not mine."}}), http.StatusNotFound)
	row, err := h.db.Endpoint(t.Context(), idOf(theirs))
	noError(t, err)
	if row.Status != store.EndpointActive {
		t.Error("a partner's endpoint was changed at the own desk")
	}
}
