package web

import (
	"net/http"
	"strings"
	"testing"

	"schakel/delivery/event"
	"schakel/registry"
	"schakel/store"
)

// Who reads or downloads the data of an event stands in the audit trail with the address, once in five minutes; a list writes nothing,
// nor does a page that withholds the data. The partner reads the entries about what is its own, and none of another.
func TestReadsAreAudited(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	d := w.attempt(w.deliver(w.event(event.DataJSON, `{}`), w.first), store.DeliveryDelivered, "", store.Attempt{StatusCode: 200})
	withheld := w.dead(w.other)
	w.subscriptionIs(w.other, store.SubscriptionSuspended)
	entries := func(action string) []store.Audit {
		rows, _, err := w.db.Audits(t.Context(), store.AuditFilter{Action: action})
		noError(t, err)
		return rows
	}
	for _, path := range []string{"/admin/events", "/admin/deliveries", "/admin/audit", "/admin"} {
		wantStatus(t, w.admin.get(path), http.StatusOK)
	}
	wantStatus(t, w.other.browser.get("/partner/deliveries/"+withheld.ID), http.StatusOK)
	if got := entries(registry.ActionDataRead); len(got) != 0 {
		t.Fatalf("nothing was read, and the trail says %v", got)
	}
	for range 2 {
		wantStatus(t, w.admin.get("/admin/events/"+d.EventID), http.StatusOK)
		wantStatus(t, w.first.browser.get("/partner/deliveries/"+d.ID), http.StatusOK)
		wantStatus(t, w.first.browser.get("/partner/deliveries/"+d.ID+"/data"), http.StatusOK)
	}
	read, taken := entries(registry.ActionDataRead), entries(registry.ActionDataDownloaded)
	if len(read) != 2 || len(taken) != 1 {
		t.Fatalf("%d reads and %d downloads: %v %v", len(read), len(taken), read, taken)
	}
	for _, a := range append(read, taken...) {
		if a.ObjectKind != "event" || a.ObjectID != d.EventID || a.Address == "" || a.ActorID == "" {
			t.Errorf("entry %+v", a)
		}
	}
	w.clock.Advance(registryReadsAreOne)
	wantStatus(t, w.admin.get("/admin/events/"+d.EventID), http.StatusOK)
	if got := entries(registry.ActionDataRead); len(got) != 3 {
		t.Errorf("%d reads after a while", len(got))
	}
	wantWords(t, text(w.admin.get("/admin/audit?action=event.data-read")), "Ada Admin read the data of event "+queueType)
	wantWords(t, text(w.first.browser.get("/partner/audit")), "downloaded the data of event "+queueType)
	lacks(t, text(w.other.browser.get("/partner/audit")), "the data of event")
}

// registryReadsAreOne is a little more than the time in which reads of the same are one entry.
const registryReadsAreOne = 6 * 60 * 1e9

// An event that is accepted writes nothing in the audit trail: the chain is no bottleneck of intake.
func TestIntakeWritesNoAudit(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	storyContract(t, h.writer(t))
	publisher := h.publisher(t, "")
	start, err := h.db.AuditHead(t.Context())
	noError(t, err)
	for _, id := range strings.Fields("a b c") {
		publisher.publish(t, sampleEvent("audit-"+id)).want(t, http.StatusAccepted)
	}
	end, err := h.db.AuditHead(t.Context())
	noError(t, err)
	if start != end {
		t.Errorf("the trail went from %d to %d", start.Seq, end.Seq)
	}
}

// The page on which somebody approves a subscription shows no data of an event, so nobody is noted as its reader; who opens the event is.
func TestApprovalReadsNoData(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	d := w.deliver(w.event(event.DataJSON, `{"student":"Noor Jansen"}`), w.first)
	w.subscriptionIs(w.first, store.SubscriptionRequested)
	page := text(w.admin.get("/admin/subscriptions/" + w.first.subscription))
	wantWords(t, page, "Newest event that matches", "/admin/events/"+d.EventID)
	lacks(t, page, "Noor Jansen")
	reads := func(want int) {
		t.Helper()
		if _, n, err := w.db.Audits(t.Context(), store.AuditFilter{Action: registry.ActionDataRead}); err != nil || n != want {
			t.Errorf("%d reads are noted, want %d; %v", n, want, err)
		}
	}
	reads(0)
	wantPage(t, w.admin.get("/admin/events/"+d.EventID), http.StatusOK, "Noor Jansen")
	reads(1)
}
