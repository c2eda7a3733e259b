package store_test

import (
	"errors"
	"slices"
	"testing"

	"schakel/store"
)

// markResent notes that a job sent deliveries again.
func (w *world) markResent(jobID string, ids ...string) {
	w.t.Helper()
	w.write(func(tx *store.Tx) error {
		for _, id := range ids {
			if err := tx.MarkResent(w.ctx, id, jobID); err != nil {
				return err
			}
		}
		return nil
	})
}

func TestJobOutcome(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		j, other := w.newJob("resend"), w.newJob("resend")
		outcome := func(id string, want store.JobOutcome) {
			t.Helper()
			got, err := w.db.JobOutcome(w.ctx, id)
			same(t, got, err, want)
		}
		states := []string{
			store.DeliveryDelivered, store.DeliveryDelivered, store.DeliveryDelivered, store.DeliveryHeld, store.DeliveryDead, store.DeliveryPending,
			store.DeliveryRetrying, store.DeliveryRetrying, store.DeliveryDiscarded,
		}
		ids := w.newDeliveries(w.subscription, len(states))
		others := w.newDeliveries(w.subscription, 2)
		w.newDeliveries(w.subscription, 1) // of no job
		outcome(j.ID, store.JobOutcome{})
		w.markResent(j.ID, ids...)
		w.markResent(other.ID, others...)
		outcome(j.ID, store.JobOutcome{Pending: 9})
		for i, s := range states {
			w.set(ids[i], `status = ?, due_at = NULL`, s)
		}
		outcome(j.ID, store.JobOutcome{Delivered: 3, Failed: 2, Pending: 3, Discarded: 1})
		outcome(other.ID, store.JobOutcome{Pending: 2})
		outcome("rsd_none", store.JobOutcome{})
		outcome("", store.JobOutcome{})
	})
}

func TestMarkResent(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		j, later := w.newJob("resend"), w.newJob("resend")
		ids := w.newDeliveries(w.subscription, 3)
		w.markResent(j.ID, ids[:2]...)
		w.markResent(later.ID, ids[1]) // takes it over
		for i, want := range []string{j.ID, later.ID, ""} {
			d, err := w.db.Delivery(w.ctx, ids[i])
			same(t, d.ReplayOf, err, want)
		}
		listed(t, deliveryID, []string{ids[0]}, 1)(w.db.Deliveries(w.ctx, store.DeliveryFilter{ReplayOf: j.ID}))
		got, err := w.db.JobOutcome(w.ctx, j.ID)
		same(t, got, err, store.JobOutcome{Pending: 1})
		w.fails(store.ErrNotFound, func(tx *store.Tx) error { return tx.MarkResent(w.ctx, "dlv_none", j.ID) })
	})
}

func TestJobEndpoints(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		j, other := w.newJob("resend"), w.newJob("resend")
		endpoints := func(id string, want ...string) {
			t.Helper()
			got, err := w.db.JobEndpoints(w.ctx, id)
			same(t, got, err, want)
		}
		at := func(status string, n int, job string) (endpoint string, ids []string) {
			s := w.newSubscription(w.newEndpoint(w.partner.ID), store.SubscriptionApproved, eventType)
			ids = w.newDeliveries(s, n)
			w.markResent(job, ids...)
			for _, id := range ids {
				w.set(id, `status = ?`, status)
			}
			return s.EndpointID, ids
		}
		w.newDeliveries(w.subscription, 1) // of no job
		endpoints(j.ID)
		pending, ids := at(store.DeliveryPending, 2, j.ID)
		retrying, _ := at(store.DeliveryRetrying, 1, j.ID)
		for _, s := range []string{store.DeliveryDelivered, store.DeliveryHeld, store.DeliveryDead, store.DeliveryDiscarded} {
			at(s, 1, j.ID)
		}
		others, _ := at(store.DeliveryPending, 1, other.ID)
		want := []string{pending, retrying}
		slices.Sort(want)
		endpoints(j.ID, want...)
		endpoints(other.ID, others)
		endpoints("rsd_none")
		endpoints("")
		w.set(ids[0], `status = 'delivered', due_at = NULL`)
		endpoints(j.ID, want...) // one of two is still to be sent
		w.set(ids[1], `status = 'delivered', due_at = NULL`)
		endpoints(j.ID, retrying)
	})
}

// What a job did is known while it is kept.
func TestJobActions(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		resend, replay := store.ResendJob{Action: "resend", Filter: `{}`}, store.ResendJob{Action: "replay", Filter: `{}`}
		w.write(func(tx *store.Tx) error {
			return errors.Join(tx.InsertResendJob(w.ctx, &resend), tx.InsertResendJob(w.ctx, &replay))
		})
		got, err := w.db.JobActions(w.ctx, []string{resend.ID, replay.ID, "rsd_pruned"})
		same(t, got, err, map[string]string{resend.ID: "resend", replay.ID: "replay"})
		got, err = w.db.JobActions(w.ctx, nil)
		same(t, got, err, map[string]string{})
	})
}
