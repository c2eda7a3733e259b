package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"schakel/delivery/event"
	"schakel/delivery/webhook"
	"schakel/store"
)

// Rules: EDU-18, EDU-N11
func TestAdministratorReplaysWhatAnEndpointNeverGot(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	w.event(event.DataJSON, `{"n":1}`)
	e := w.event(event.DataJSON, `{"n":2}`)
	w.deliver(e, w.first)
	w.clock.Advance(time.Minute)
	shows(t, w.admin.get("/admin/endpoints/"+w.first.endpoint), http.StatusOK, "Offer what it never got")
	page := shows(t, w.admin.get("/admin/replays?endpoint="+w.first.endpoint), http.StatusOK,
		"1 event to offer again", "what was never received", "Hook of first@example.nl", "Enrolments", queueType, "Partner of first@example.nl", "Offer 1 event again")
	answer := w.admin.post("/admin/replays", hiddenOf(t, page, "/admin/replays"))
	wantStatus(t, answer, http.StatusSeeOther)
	job := answer.Header.Get("Location")
	shows(t, w.admin.get(job), http.StatusOK, "Replay of 1 event", "Running", "0 of 1 event handled", "For each subscription", "Stop this job")
	w.runJob(job)
	shows(t, w.admin.get(job), http.StatusOK, "Done", "1 of 1 event handled")
	list := shows(t, w.admin.get("/admin/deliveries?job="+idOf(job)), http.StatusOK, "1 delivery", "replayed")
	_, id, _ := strings.Cut(list, `href="/admin/deliveries/dlv_`)
	id, _, _ = strings.Cut(id, `"`)
	shows(t, w.admin.get("/admin/deliveries/dlv_"+id), http.StatusOK, "Replayed by job", idOf(job))
	shows(t, w.admin.get("/admin/replays?endpoint="+w.first.endpoint), http.StatusOK, "0 events to offer again", "No stored event is to be offered")
	if said := w.audited("job", idOf(job)); len(said) != 1 || said[0] != "Ada Admin started a job to offer 1 event again." {
		t.Errorf("audited %q", said)
	}
	shows(t, w.admin.get("/admin/jobs"), http.StatusOK, "Replay of 1 event", "Send again…")
}

func TestPartnerReplaysItsOwnSinceItsApproval(t *testing.T) { // guarantees G2, G3, G7
	t.Parallel()
	w := newQueueWorld(t)
	w.event(event.DataJSON, `{"n":"before"}`)
	w.clock.Advance(time.Minute)
	w.write(func(tx *store.Tx) error {
		s, err := tx.Subscription(t.Context(), w.first.subscription)
		if err != nil {
			return err
		}
		s.DecidedAt = tx.Now
		return tx.UpdateSubscription(t.Context(), &s)
	})
	w.clock.Advance(time.Minute)
	w.event(event.DataJSON, `{"n":"after"}`)
	w.clock.Advance(time.Minute)
	mine := w.first.browser
	shows(t, mine.get("/partner/subscriptions/"+w.first.subscription), http.StatusOK, "Offer everything that it never got")
	shows(t, mine.get("/partner/endpoints/"+w.first.endpoint), http.StatusOK, "Offer everything that this endpoint never got")
	page := shows(t, mine.get("/partner/replays?subscription="+w.first.subscription), http.StatusOK, "1 event to offer again", "before your subscription was approved")
	job := mine.post("/partner/replays", hiddenOf(t, page, "/partner/replays")).Header.Get("Location")
	shows(t, mine.get(job), http.StatusOK, "Replay of 1 event")
	wantStatus(t, w.other.browser.get(job), http.StatusNotFound)
	wantStatus(t, w.other.browser.post(job+"/cancel", url.Values{"x": {""}}), http.StatusNotFound)
	shows(t, w.admin.get("/admin/jobs/"+idOf(job)), http.StatusOK, "Replay of 1 event")
	for _, address := range []string{
		"/partner/replays?subscription=" + w.other.subscription, "/partner/replays?endpoint=" + w.other.endpoint, "/partner/replays?subscription=sub_none",
	} {
		lacks(t, shows(t, mine.get(address), http.StatusUnprocessableEntity, "There is a problem"), "other@example.nl")
	}
	// A partner that another is named for gets its own.
	shows(t, mine.get("/partner/replays?partner="+w.other.id), http.StatusOK, "Hook of first@example.nl")
	wantStatus(t, mine.get("/admin/replays?endpoint="+w.first.endpoint), http.StatusForbidden)
	wantStatus(t, w.browser().get("/partner/jobs/new"), http.StatusSeeOther)
}

func TestReplayFormTellsWhatIsWrong(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	shows(t, w.admin.get("/admin/jobs/new"), http.StatusOK, "Everything that failed since a moment", "Stored events once more")
	here := "/admin/replays?endpoint=" + w.first.endpoint
	for query, want := range map[string]string{
		"/admin/replays":         "Choose a partner, or an endpoint.",
		here + "&from=yesterday": "Write the day as year-month-day",
		here + "&from=2026-05-02T10:00&until=2026-05-02T09:00": "The end is before the beginning.",
		here + "&mode=some":                           "Choose which events.",
		here + "&type=nl.other":                       "No approved subscription is selected",
		here + "&events=" + strings.Repeat("x+", 101): "At most 100 ids",
		"/admin/replays?subscription=sub_none":        "There is no such subscription.",
	} {
		shows(t, w.admin.get(query), http.StatusUnprocessableEntity, "There is a problem", want)
	}
	w.subscriptionIs(w.first, store.SubscriptionSuspended)
	shows(t, w.admin.get("/admin/replays?subscription="+w.first.subscription), http.StatusUnprocessableEntity, "is not approved now")
	shows(t, w.admin.post("/admin/replays", url.Values{"endpoint": {w.first.endpoint}, "mode": {"all"}}), http.StatusUnprocessableEntity, "No approved subscription")
}

func TestEverythingThatFailedSince(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	w.dead(w.first)
	w.clock.Advance(2 * time.Hour) // their sessions ended meanwhile
	w.admin.login(t, testEmail)
	w.first.browser.login(t, w.first.email)
	w.failed(w.first, store.DeliveryDead, webhook.ReasonGone)
	w.rejected(w.other)
	w.clock.Advance(time.Second)
	for query, want := range map[string]string{
		"since=hour": "2 deliveries match",
		"since=hour&failed-endpoint=" + w.other.endpoint: "1 delivery matches",
		"since=day": "3 deliveries match",
		"since=own&moment=" + w.clock.Now().Add(-time.Hour).Format("2006-01-02T15:04"): "2 deliveries match",
	} {
		answer := w.admin.get("/admin/jobs/failed?" + query)
		wantStatus(t, answer, http.StatusSeeOther)
		shows(t, w.admin.get(answer.Header.Get("Location")), http.StatusOK, want, "For each endpoint", "Enrolments")
	}
	answer := w.first.browser.get("/partner/jobs/failed?since=hour")
	page := shows(t, w.first.browser.get(answer.Header.Get("Location")), http.StatusOK, "1 delivery matches", "Hook of first@example.nl")
	lacks(t, page, "other@example.nl", w.other.endpoint)
	form := hiddenOf(t, page, "/partner/deliveries/all")
	job := w.first.browser.post("/partner/deliveries/all", form).Header.Get("Location")
	shows(t, w.first.browser.get(job), http.StatusOK, "Resend 1 delivery")
	for query, want := range map[string]string{
		"": "Choose since when.", "since=ever": "Choose since when.", "since=own": "Fill in since when.", "since=own&moment=noon": "Write the day",
	} {
		shows(t, w.admin.get("/admin/jobs/failed?"+query), http.StatusUnprocessableEntity, "There is a problem", want)
	}
}
