package web

import (
	"net/http"
	"strings"
	"testing"

	"schakel/registry/identity"
	"schakel/web/site"
)

// A word that a filter of an API does not know is refused with those that it does; it is not a list of nothing.
func TestUnknownFilterWords(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	caller := h.newClient(t, "", identity.NewClient{Scopes: []string{site.ScopeEventsConsume, site.ScopeSubscriptionsWrite, site.ScopeRegistryRead, site.ScopeRegistryWrite}})
	for target, known := range map[string]string{
		"/events/v1/subscriptions?status=":        "requested, approved, paused, suspended, ended or rejected",
		"/events/v1/deliveries?status=":           "pending, retrying, delivered, held, dead or discarded",
		"/events/v1/resends?status=":              "running, done or cancelled",
		"/events/v1/amqp-messages?direction=":     "in or out",
		"/events/v1/amqp-messages?kind=":          "business, apprec, error, request, answer or event",
		"/events/v1/quarantined-requests?status=": "open, released or discarded",
		"/registry/v1/contracts?status=":          "draft, published, deprecated or withdrawn",
		"/registry/v1/contracts?kind=":            "openapi or asyncapi",
	} {
		for _, word := range []string{"xx", "Approved", "%20"} {
			p := caller.get(t, target+word).problem(t, http.StatusBadRequest, "invalid")
			if len(p.Errors) != 1 || !strings.Contains(p.Errors[0].Detail, known) {
				t.Errorf("%s%s: %+v", target, word, p.Errors)
			}
		}
		first, _, _ := strings.Cut(known, " ")
		caller.get(t, target+strings.TrimSuffix(first, ",")).want(t, http.StatusOK)
	}
}

// On a page such a word narrows nothing: the list is whole, and the form says so.
func TestUnknownFilterWordsOnPages(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	for path, row := range map[string]string{
		"/admin/partners":        "/admin/partners/" + w.first.id,
		"/admin/endpoints":       "/admin/endpoints/" + w.first.endpoint,
		"/admin/subscriptions":   "/admin/subscriptions/" + w.first.subscription,
		"/partner/endpoints":     "/partner/endpoints/" + w.first.endpoint,
		"/partner/subscriptions": "/partner/subscriptions/" + w.first.subscription,
	} {
		b := w.admin
		if strings.HasPrefix(path, "/partner") {
			b = w.first.browser
		}
		page := text(b.get(path + "?status=xx"))
		if !strings.Contains(page, row) || strings.Contains(page, `value="xx"`) {
			t.Errorf("%s under an unknown state does not show all", path)
		}
	}
	for _, path := range []string{"/admin/quarantine?state=xx", "/contracts?status=xx&kind=xx", "/event-types?status=xx", "/partner/clients?status=xx"} {
		b := w.admin
		if strings.HasPrefix(path, "/partner") {
			b = w.first.browser
		}
		answer := b.get(path)
		wantStatus(t, answer, http.StatusOK)
		if strings.Contains(text(answer), `value="xx"`) {
			t.Errorf("%s keeps the unknown word", path)
		}
	}
}
