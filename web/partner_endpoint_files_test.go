package web

import (
	"net/url"
	"strings"
	"testing"
)

// An endpoint of kind files has no address and nothing to test; it is for datasets alone.
func TestFilesEndpointStory(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t).withCatalogue(t)
	b, _ := h.at(t, "pat@example.nl")
	wantWords(t, text(b.get("/partner/endpoints/new")), `href="/partner/endpoints/new?kind=files"`, "Fetch files with what changed in a dataset instead")
	form := text(b.get("/partner/endpoints/new?kind=files"))
	if !strings.Contains(form, `name="kind" value="files"`) || strings.Contains(form, `name="url"`) || strings.Contains(form, `name="ratePerSecond"`) {
		t.Error("the form for files asks for an address")
	}
	answer := b.post("/partner/endpoints", url.Values{"kind": {"files"}, "name": {"Buildings here"}})
	wantStatus(t, answer, 303)
	here := answer.Header.Get("Location")
	page := text(b.get(here))
	wantWords(t, page, "Ask for a subscription to a dataset with it.", "Mutation files", `href="/partner/datasets"`, "mutations.read")
	for _, not := range []string{here + "/test", "Webhook address", "Deliveries to this endpoint", "Token endpoint"} {
		if strings.Contains(page, not) {
			t.Errorf("the page has %q", not)
		}
	}
	wantRedirect(t, b.post(here+"/test", nil), here)
	wantWords(t, text(b.get(here)), "there is nothing to test")
	if home := text(b.get("/partner")); strings.Contains(home, "Send a test event") || !strings.Contains(home, "Choose a dataset") {
		t.Error("the overview wants a test event of who fetches files")
	}
	if events := text(b.get("/partner/subscriptions/new")); strings.Contains(events, "Buildings here") {
		t.Error("it can be chosen for events")
	}
	administrator := h.browser()
	administrator.login(t, testEmail)
	admin := text(administrator.get("/admin/endpoints/" + idOf(here)))
	if !strings.Contains(admin, "Buildings here") || strings.Contains(admin, "Send a test event") || strings.Contains(admin, "Token from") {
		t.Error("the administrator sees an endpoint that is sent to")
	}
}
