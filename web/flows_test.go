package web

import (
	"net/http"
	"strings"
	"testing"

	"schakel/registry/partners"
	"schakel/store"
)

// The page shows what intake and the engine decide: the own organisation's events go to each subscription, a partner's along a route
// alone, and a type that nobody may publish is named.
//
// Rules: EDU-13
func TestFlows(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	w.withCatalogue(t)
	page := wantPage(t, w.admin.get("/admin/flows"), http.StatusOK, "Nobody publishes this", "Partner of first@example.nl", "/contracts/student-events/versions/1.2.0")
	if got := strings.Count(page, ">Nobody publishes this<"); got != 3 { // two rows, one box
		t.Errorf("%d times nobody; want two rows and a box", got)
	}
	w.write(func(tx *store.Tx) error {
		return tx.InsertClient(t.Context(), &store.Client{
			PartnerID: w.other.id, Name: "Records", Status: store.ClientActive, Scopes: []string{"events.publish"}, PublishTypes: []string{queueType}, PublishSources: []string{"urn:x:*"},
		})
	})
	if page = wantPage(t, w.admin.get("/admin/flows"), http.StatusOK); strings.Count(page, ">Nobody publishes this<") != 3 {
		t.Error("a partner's events flow without a route")
	}
	must(w.reg.Routes.Add(t.Context(), w.portalHarness.admin, partners.NewRoute{FromPartnerID: w.other.id, ToPartnerID: w.first.id, EventType: queueType}))(t)
	page = wantPage(t, w.admin.get("/admin/flows"), http.StatusOK, ">Sending<")
	if got := strings.Count(page, ">Nobody publishes this<"); got != 2 {
		t.Errorf("%d times nobody; want the other's row and a box", got)
	}
	w.stop(w.first, func(ep *store.Endpoint) { ep.Status = store.EndpointPaused })
	if got := wantPage(t, w.admin.get("/admin/flows"), http.StatusOK, ">Waiting<"); strings.Count(got, ">Sending<") >= strings.Count(page, ">Sending<") {
		t.Error("an endpoint that is paused is sent to")
	}
	w.stop(w.first, func(ep *store.Endpoint) { ep.Status = store.EndpointActive })
	if got := text(w.admin.get("/admin/flows")); strings.Count(got, ">Sending<") != strings.Count(page, ">Sending<") {
		t.Error("an endpoint that is resumed is not sent to")
	}
	w.write(func(tx *store.Tx) error {
		sub, err := tx.Subscription(t.Context(), w.first.subscription)
		if err == nil {
			sub.Status = store.SubscriptionPaused
			err = tx.UpdateSubscription(t.Context(), &sub)
		}
		return err
	})
	wantPage(t, w.admin.get("/admin/flows?q=FIRST"), http.StatusOK, ">Waiting<", "Subscription paused", "schakel-flows__edge--waiting", "1 flow")
	wantPage(t, w.admin.get("/admin/flows?q=nothing-like-it"), http.StatusOK, "No flow matches")
	wantStatus(t, w.first.browser.get("/admin/flows"), http.StatusForbidden)
}
