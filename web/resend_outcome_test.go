package web

import (
	"context"
	"net/http"
	"net/url"
	"testing"
	"time"

	"schakel/delivery/webhook"
	"schakel/store"
)

// Whoever resends to an endpoint that is stopped is warned before, and after as long as deliveries wait there.
func TestResendToAStoppedEndpointWarns(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	w.dead(w.first)
	w.clock.Advance(time.Second) // what changes at the moment of the count is not counted
	for _, c := range []struct{ warning string }{
		{"is paused"},
		{"is suspended"},
		{"outside its delivery window"},
	} {
		w.write(func(tx *store.Tx) error {
			ep, err := tx.Endpoint(context.Background(), w.first.endpoint)
			if err != nil {
				return err
			}
			switch c.warning {
			case "is paused":
				ep.Status = store.EndpointPaused
			case "is suspended":
				ep.Status = store.EndpointSuspended
			default:
				ep.Status, ep.Windows = store.EndpointActive, "unreadable"
			}
			return tx.UpdateEndpoint(context.Background(), &ep)
		})
		shows(t, w.admin.get("/admin/dead-letters/all"), http.StatusOK, c.warning)
		shows(t, w.first.browser.get("/partner/deliveries/all"), http.StatusOK, c.warning)
	}
}

// A job counts what became of each of its deliveries, as it happens.
func TestJobTellsTheOutcomeOfEachDelivery(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	ctx := t.Context()
	var job store.ResendJob
	for range 3 {
		w.dead(w.first)
	}
	w.dead(w.other)
	w.write(func(tx *store.Tx) error {
		job = store.ResendJob{PartnerID: w.first.id, Action: "resend", Filter: `{}`, Total: 3, CreatedBy: "Pat"}
		if err := tx.InsertResendJob(ctx, &job); err != nil {
			return err
		}
		ids, err := tx.DeliveryIDs(ctx, store.DeliveryFilter{PartnerID: w.first.id, Statuses: []string{store.DeliveryDead}}, 10)
		for _, id := range ids {
			if _, err := tx.Resend(ctx, id, "key-"+id, store.At(tx.Now.Add(time.Hour))); err != nil {
				return err
			}
			if err := tx.MarkResent(ctx, id, job.ID); err != nil {
				return err
			}
		}
		return err
	})
	rows, _, err := w.db.Deliveries(ctx, store.DeliveryFilter{ReplayOf: job.ID})
	noError(t, err)
	if len(rows) != 3 {
		t.Fatalf("%d deliveries of the job, want 3", len(rows))
	}
	outcome := func(want store.JobOutcome) {
		t.Helper()
		got, err := w.db.JobOutcome(ctx, job.ID)
		noError(t, err)
		if got != want {
			t.Errorf("outcome %+v, want %+v", got, want)
		}
	}
	outcome(store.JobOutcome{Pending: 3})
	w.write(func(tx *store.Tx) error {
		claimed, err := tx.Claim(ctx, w.first.endpoint, "node", 2, store.At(tx.Now.Add(time.Minute)))
		if err != nil {
			return err
		}
		var outcomes []store.Outcome
		for i, c := range claimed {
			status, reason := store.DeliveryDelivered, ""
			if i == 1 {
				status, reason = store.DeliveryDead, webhook.ReasonAttempts
			}
			outcomes = append(outcomes, store.Outcome{
				Attempt: store.Attempt{DeliveryID: c.ID, Number: c.Attempts + 1, StartedAt: tx.Now, StatusCode: 202}, Lease: store.LeaseOf(&c.Delivery),
				Delivery: store.Delivery{ID: c.ID, Status: status, Reason: reason, LastStatus: 202},
			})
		}
		return tx.Complete(ctx, outcomes)
	})
	outcome(store.JobOutcome{Delivered: 1, Failed: 1, Pending: 1})
	shows(t, w.first.browser.get("/partner/jobs/"+job.ID), http.StatusOK, "Delivered", "Failed again", "Pending")
	shows(t, w.first.browser.get("/partner/deliveries?"+url.Values{"job": {job.ID}}.Encode()), http.StatusOK, "3 deliveries")
}
