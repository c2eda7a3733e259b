package store_test

import (
	"testing"
	"time"

	"schakel/store"
)

// raisedNow lists what would be told now, and notes that it was.
func (w *world) raisedNow(told bool) (found []string) {
	w.t.Helper()
	before := store.At(w.clock.Now().Add(-time.Hour))
	w.write(func(tx *store.Tx) error {
		rows, err := tx.DeliveryNotices(w.ctx, tx.Now, before, 10)
		noErr(w.t, err)
		there, err := tx.HasDeliveryNotices(w.ctx, tx.Now, before)
		same(w.t, there, err, len(rows) > 0)
		for _, n := range rows {
			if n.EndpointID == "" || n.RaisedAt.IsZero() {
				w.t.Errorf("raised %+v", n)
			}
			found = append(found, n.Status)
			noErr(w.t, tx.DeliveryNoticed(w.ctx, n, told))
		}
		return nil
	})
	return found
}

// Whatever makes deliveries held or dead raises a notice in the same transaction, and so does nothing else.
func TestNoticesOfHeldAndDeadDeliveries(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		outcome := func(id string, d store.Delivery) {
			d.EndpointID = w.endpoint.ID
			w.write(func(tx *store.Tx) error { return tx.Complete(w.ctx, []store.Outcome{w.outcome(id, "a", d)}) })
		}
		ids := w.newDeliveries(w.subscription, 6)
		w.claim("a", 6)
		outcome(ids[0], store.Delivery{Status: store.DeliveryDelivered, LastStatus: 202})
		outcome(ids[1], store.Delivery{Status: store.DeliveryRetrying, DueAt: w.in(time.Hour), LastStatus: 503})
		same(t, len(w.raisedNow(true)), nil, 0)
		outcome(ids[2], store.Delivery{Status: store.DeliveryHeld, Reason: store.ReasonRejected, LastStatus: 400})
		outcome(ids[3], store.Delivery{Status: store.DeliveryHeld, Reason: store.ReasonRejected, Detail: "wrong name", LastStatus: 422})
		outcome(ids[4], store.Delivery{Status: store.DeliveryDead, Reason: "gone", LastStatus: 410})
		early, err := w.db.HasDeliveryNotices(w.ctx, w.in(-time.Second), w.now())
		same(t, early, err, false)
		same(t, w.raisedNow(true), nil, []string{store.DeliveryDead, store.DeliveryHeld})
		all, total, err := w.db.StuckDeliveries(w.ctx, w.endpoint, store.DeliveryHeld)
		same(t, total, err, 2)
		if len(all) != 1 || all[0].Reason != store.ReasonRejected || all[0].Count != 2 || all[0].Newest.Detail != "wrong name" {
			t.Errorf("held %+v", all)
		}
		waiting, err := w.db.BacklogOf(w.ctx, w.endpoint.ID)
		same(t, waiting, err, 2)

		outcome(ids[5], store.Delivery{Status: store.DeliveryDead, Reason: "gone", LastStatus: 410})
		same(t, len(w.raisedNow(true)), nil, 0) // within the hour
		w.clock.Advance(time.Hour)
		same(t, w.raisedNow(false), nil, []string{store.DeliveryDead})
		same(t, len(w.raisedNow(true)), nil, 0) // nothing came since

		w.newDeliveries(w.subscription, 1)
		w.clock.Advance(30 * 24 * time.Hour)
		w.write(func(tx *store.Tx) error { _, err := tx.ExpireKeys(w.ctx, 10); return err })
		same(t, w.raisedNow(true), nil, []string{store.DeliveryDead})

		w.newDeliveries(w.subscription, 1)
		sub := w.subscription
		sub.Status = store.SubscriptionPaused
		w.clock.Advance(2 * time.Hour)
		w.write(func(tx *store.Tx) error {
			noErr(t, tx.UpdateSubscription(w.ctx, &sub))
			_, err := tx.HoldStopped(w.ctx, 10)
			return err
		})
		same(t, w.raisedNow(true), nil, []string{store.DeliveryHeld})
	})
}

// What a pull consumer rejects, or receives too often, raises a notice too.
func TestNoticesOfPulledDeliveries(t *testing.T) {
	eachPuller(t, func(t *testing.T, p *puller) {
		w := p.world
		p.newDeliveries(p.sub, 3)
		locks := p.receive(3)
		same(t, len(locks), nil, 3)
		w.write(func(tx *store.Tx) error { _, err := tx.PullReject(w.ctx, p.sub.ID, locks[:1]); return err })
		same(t, w.raisedNow(true), nil, []string{store.DeliveryHeld})
		w.write(func(tx *store.Tx) error {
			_, err := tx.PullRelease(w.ctx, p.sub.ID, locks[1:2], w.now(), 1)
			return err
		})
		same(t, w.raisedNow(true), nil, []string{store.DeliveryDead})
		w.clock.Advance(2 * time.Hour)
		w.write(func(tx *store.Tx) error { _, err := tx.PullExpire(w.ctx, 1, 10); return err })
		same(t, w.raisedNow(true), nil, []string{store.DeliveryDead})
	})
}
