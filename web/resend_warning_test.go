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

// stops has an endpoint not be sent to, for a reason that pages tell in these words.
func stops() map[string]func(ep *store.Endpoint) {
	return map[string]func(ep *store.Endpoint){
		"is paused":                   func(ep *store.Endpoint) { ep.Status = store.EndpointPaused },
		"is suspended":                func(ep *store.Endpoint) { ep.Status = store.EndpointSuspended },
		"outside its delivery window": func(ep *store.Endpoint) { ep.Windows = "unreadable" },
		"circuit open": func(ep *store.Endpoint) {
			ep.Circuit, ep.CircuitFailures = store.CircuitOpen, 10
			ep.CircuitOpenedAt, ep.CircuitProbeAt = ep.UpdatedAt, store.At(ep.UpdatedAt.Add(time.Hour))
		},
		"asked for no requests until": func(ep *store.Endpoint) { ep.WaitUntil = store.At(ep.UpdatedAt.Add(time.Hour)) },
	}
}

func (w *queueWorld) stop(p queueParty, how func(ep *store.Endpoint)) {
	w.t.Helper()
	ctx := w.t.Context()
	w.write(func(tx *store.Tx) error {
		ep, err := tx.Endpoint(ctx, p.endpoint)
		if err != nil {
			return err
		}
		ep.UpdatedAt = tx.Now
		how(&ep)
		if err := tx.UpdateEndpoint(ctx, &ep); err != nil {
			return err
		}
		if !ep.WaitUntil.IsZero() {
			return tx.ExtendWait(ctx, ep.ID, ep.WaitUntil)
		}
		return tx.SaveCircuit(ctx, &ep)
	})
}

// Whoever resends one delivery, ticked ones or all, or replays, to an endpoint that is not sent to is warned before, and after.
//
// Rules: EDU-N11.
func TestEveryWayToResendWarns(t *testing.T) {
	t.Parallel()
	for warning, how := range stops() {
		t.Run(warning, func(t *testing.T) {
			t.Parallel()
			w := newQueueWorld(t)
			one, ticked, third := w.dead(w.first), w.dead(w.first), w.dead(w.first)
			healthy := w.dead(w.other)
			w.event(event.DataJSON, `{"n":"never delivered"}`)
			w.clock.Advance(time.Minute) // what changes at the moment of the count is not counted
			lacks(t, shows(t, w.admin.get("/admin/dead-letters"), http.StatusOK, "4 deliveries"), warning)
			w.stop(w.first, how)

			here := "/admin/deliveries/" + one.ID
			shows(t, w.admin.get(here), http.StatusOK, "Resend", warning)
			shows(t, w.first.browser.get("/partner/deliveries/"+one.ID), http.StatusOK, "Resend", warning)
			shows(t, w.admin.get("/admin/dead-letters"), http.StatusOK, warning)
			lacks(t, shows(t, w.admin.get("/admin/deliveries/"+healthy.ID), http.StatusOK, "Resend"), warning)
			shows(t, w.admin.get("/admin/dead-letters/all"), http.StatusOK, warning)
			shows(t, w.admin.get("/admin/replays?endpoint="+w.first.endpoint), http.StatusOK, "to offer again", warning)

			wantRedirect(t, w.admin.post(here+"/resend", url.Values{"back": {"/admin/dead-letters"}}), "/admin/dead-letters")
			shows(t, w.admin.get("/admin/dead-letters?eventType=nl.none"), http.StatusOK, "The delivery waits to be sent again.", warning) // in the message alone: no row is shown
			wantRedirect(t, w.admin.post("/admin/dead-letters", url.Values{"id": {ticked.ID, healthy.ID}, "action": {"resend"}}), "/admin/dead-letters")
			shows(t, w.admin.get("/admin/dead-letters?eventType=nl.none"), http.StatusOK, "2 deliveries wait to be sent again.", warning)
			wantRedirect(t, w.admin.post("/admin/deliveries/"+third.ID+"/resend", url.Values{}), "/admin/deliveries/"+third.ID)

			w.attempt(w.deliver(w.event(event.DataNone, ""), w.other), store.DeliveryDead, webhook.ReasonAttempts, store.Attempt{StatusCode: 500})
			last := w.dead(w.other)
			wantRedirect(t, w.admin.post("/admin/deliveries/"+last.ID+"/resend", url.Values{"back": {"/admin/dead-letters"}}), "/admin/dead-letters")
			lacks(t, shows(t, w.admin.get("/admin/dead-letters?eventType=nl.none"), http.StatusOK, "The delivery waits to be sent again."), warning)
		})
	}
}

// A list of what waits warns of endpoints that are not sent to as the queues do; and after a resend a page says so once.
//
// Rules: EDU-N11.
func TestAWarningStandsOnce(t *testing.T) {
	t.Parallel()
	for warning, how := range stops() {
		t.Run(warning, func(t *testing.T) {
			t.Parallel()
			w := newQueueWorld(t)
			d, e := w.dead(w.first), w.dead(w.first)
			w.deliver(w.event(event.DataNone, ""), w.first)
			w.attempt(w.deliver(w.event(event.DataNone, ""), w.first), store.DeliveryRetrying, webhook.ReasonUnreachable, store.Attempt{})
			lacks(t, shows(t, w.admin.get("/admin/deliveries?status=pending"), http.StatusOK), warning)
			w.stop(w.first, how)
			for _, list := range []string{"/admin/deliveries?status=pending", "/admin/deliveries?status=retrying", "/admin/deliveries"} {
				if n := strings.Count(shows(t, w.admin.get(list), http.StatusOK, warning), warning); n != 1 {
					t.Errorf("%s: %d warnings", list, n)
				}
			}
			once := func(id, back string) {
				t.Helper()
				wantRedirect(t, w.admin.post("/admin/deliveries/"+id+"/resend", url.Values{"back": {back}}), back)
				page := shows(t, w.admin.get(back), http.StatusOK, "The delivery waits to be sent again.")
				if n := strings.Count(page, warning); n > 1 {
					t.Errorf("%s says %d times why it waits", back, n)
				}
			}
			once(d.ID, "/admin/deliveries")
			once(e.ID, "/admin/deliveries/"+e.ID)
		})
	}
}

// A row says by what its event goes out once more: a resend of the same delivery, or a replay of the stored event.
func TestRowsTellResendsFromReplays(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	d := w.dead(w.first)
	w.event(event.DataJSON, `{"n":"never delivered"}`)
	w.clock.Advance(time.Minute)
	page := shows(t, w.admin.get("/admin/dead-letters/all"), http.StatusOK, "1 delivery")
	answer := w.admin.post("/admin/dead-letters/all", func() url.Values {
		v := hiddenOf(t, page, "/admin/dead-letters/all")
		v.Set("action", "resend")
		return v
	}())
	wantStatus(t, answer, http.StatusSeeOther)
	resend := answer.Header.Get("Location")
	w.runJob(resend)
	page = shows(t, w.admin.get("/admin/replays?endpoint="+w.first.endpoint), http.StatusOK, "to offer again")
	answer = w.admin.post("/admin/replays", hiddenOf(t, page, "/admin/replays"))
	wantStatus(t, answer, http.StatusSeeOther)
	replay := answer.Header.Get("Location")
	w.runJob(replay)
	lacks(t, shows(t, w.admin.get("/admin/deliveries?job="+idOf(resend)), http.StatusOK, "1 delivery", "resent"), "replayed", "offered again")
	lacks(t, shows(t, w.admin.get("/admin/deliveries?job="+idOf(replay)), http.StatusOK, "1 delivery", "replayed"), "resent", "offered again")
	lacks(t, shows(t, w.admin.get("/admin/deliveries/"+d.ID), http.StatusOK, "Resent by job", "Accepted", idOf(resend)), "Replayed by job", "Offered again")
	rows, _, err := w.db.Deliveries(t.Context(), store.DeliveryFilter{ReplayOf: idOf(replay)})
	noError(t, err)
	lacks(t, shows(t, w.admin.get("/admin/deliveries/"+rows[0].ID), http.StatusOK, "Replayed by job", idOf(replay)), "Resent by job", "Offered again")
}
