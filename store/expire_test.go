package store_test

import (
	"testing"
	"time"

	"schakel/store"
)

// expireEvents discards what has expired and answers how much that was.
func (w *world) expireEvents(limit int) (n int64) {
	w.t.Helper()
	w.write(func(tx *store.Tx) (err error) { n, err = tx.ExpireEvents(w.ctx, limit); return err })
	return n
}

// Rules: CE-24.
func TestExpireEvents(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ids := w.newDeliveries(w.subscription, 8)
		gives(t, store.Time{})(w.db.NextExpiry(w.ctx))
		soon := w.in(time.Minute)
		for _, id := range ids[1:] {
			w.set(id, `expires_at = ?`, soon)
		}
		const pending, retrying, paused, rejected, dead, arrived, inHand = 1, 2, 3, 4, 5, 6, 7
		w.set(ids[retrying], `status = 'retrying', due_at = ?`, w.in(time.Hour))
		w.set(ids[paused], `status = 'held', reason = 'subscription-paused', due_at = NULL`)
		w.set(ids[rejected], `status = 'held', reason = 'rejected', due_at = NULL`)
		w.set(ids[dead], `status = 'dead', due_at = NULL`)
		w.set(ids[arrived], `status = 'delivered', due_at = NULL`)
		w.set(ids[inHand], `lease_owner = 'node_b', due_at = ?`, w.in(10*time.Minute))
		gives(t, soon)(w.db.NextExpiry(w.ctx))
		same(t, w.expireEvents(10), nil, int64(0))

		w.clock.Advance(time.Minute)
		var claimed []store.Claimed
		w.write(func(tx *store.Tx) (err error) {
			claimed, err = tx.Claim(w.ctx, w.endpoint.ID, "node_a", 10, w.in(time.Minute))
			return err
		})
		if len(claimed) != 1 || claimed[0].ID != ids[0] || claimed[0].Expired(w.now()) {
			t.Errorf("claimed %+v, want the delivery whose event does not expire", claimed)
		}
		same(t, w.expireEvents(2), nil, int64(2))
		same(t, w.expireEvents(2), nil, int64(1))
		same(t, w.expireEvents(2), nil, int64(0))
		want := map[int]string{
			0: store.DeliveryPending, pending: store.DeliveryDiscarded, retrying: store.DeliveryDiscarded, paused: store.DeliveryDiscarded,
			rejected: store.DeliveryHeld, dead: store.DeliveryDead, arrived: store.DeliveryDelivered, inHand: store.DeliveryPending,
		}
		for i, id := range ids {
			d, err := w.db.Delivery(w.ctx, id)
			same(t, d.Status, err, want[i])
			if d.Status == store.DeliveryDiscarded && (d.Reason != store.ReasonEventExpired || d.Detail == "" || !d.DueAt.IsZero() || d.ExpiresAt != soon) {
				t.Errorf("discarded as %+v", d)
			}
		}
		w.clock.Advance(10 * time.Minute) // the lease of the one in hand is over
		same(t, w.expireEvents(10), nil, int64(1))
	})
}

// A living node keeps what it has in hand past its lease: it has yet to write what became of it.
func TestExpireEventsOfALivingNode(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		if w.db.Dialect() != store.Postgres {
			return // one node has the database to itself, and a claim ends with its lease
		}
		id := w.newDeliveries(w.subscription, 1)[0]
		w.set(id, `expires_at = ?, lease_owner = 'node_b', due_at = ?`, w.now(), w.now())
		w.db.SetLiving([]string{"node_b"})
		same(t, w.expireEvents(10), nil, int64(0))
		w.db.SetLiving(nil)
		same(t, w.expireEvents(10), nil, int64(1))
	})
}

// An expired head leaves its key to the next one, and what expired in the middle is not claimed along.
func TestExpiredHeads(t *testing.T) { // guarantee G5
	each(t, func(t *testing.T, w *world) {
		ids := w.queue("a", "a", "a", "a")
		w.set(ids[0], `expires_at = ?`, w.now())
		w.set(ids[2], `expires_at = ?`, w.now())
		claim := func() (got []string) {
			w.write(func(tx *store.Tx) error {
				rows, err := tx.Claim(w.ctx, w.endpoint.ID, "a", 10, w.in(time.Minute))
				if err != nil {
					return err
				}
				behind, err := tx.ClaimBehind(w.ctx, rows, "a", 16, 16, w.in(time.Minute))
				for _, c := range append(rows, behind...) {
					got = append(got, c.ID)
				}
				return err
			})
			return got
		}
		same(t, len(claim()), nil, 0)
		same(t, w.expireEvents(1), nil, int64(1))
		w.inLine()
		same(t, claim(), nil, ids[1:2])
		same(t, w.expireEvents(10), nil, int64(1))
		w.inLine()
	})
}

// A consumer is not handed what has expired; what it has in hand it may settle.
func TestExpiredEventsAreNotReceived(t *testing.T) {
	eachPuller(t, func(t *testing.T, p *puller) {
		ids := p.newDeliveries(p.sub, 3)
		p.set(ids[0], `expires_at = ?`, p.now())
		p.set(ids[1], `expires_at = ?`, p.in(10*time.Second))
		locks := p.receive(10)
		same(t, len(locks), nil, 2)
		p.clock.Advance(20 * time.Second)
		same(t, p.expireEvents(10), nil, int64(1))
		p.acknowledge(locks, store.PullDone, store.PullDone)
		d, err := p.db.Delivery(p.ctx, ids[0])
		same(t, d.Reason, err, store.ReasonEventExpired)
	})
}

// raisedNow lists what would be told now, and notes that it was.
func (w *world) raisedNow(told bool) (found []string) {
	w.t.Helper()
	before := store.At(w.clock.Now().Add(-time.Hour))
	w.write(func(tx *store.Tx) error {
		rows, err := tx.DeliveryNotices(w.ctx, tx.Now, before, 10)
		noErr(w.t, err)
		gives(w.t, len(rows) > 0)(tx.HasDeliveryNotices(w.ctx, tx.Now, before))
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
		gives(t, false)(w.db.HasDeliveryNotices(w.ctx, w.in(-time.Second), w.now()))
		same(t, w.raisedNow(true), nil, []string{store.DeliveryDead, store.DeliveryHeld})
		all, total, err := w.db.StuckDeliveries(w.ctx, w.endpoint, store.DeliveryHeld)
		same(t, total, err, 2)
		if len(all) != 1 || all[0].Reason != store.ReasonRejected || all[0].Count != 2 || all[0].Newest.Detail != "wrong name" {
			t.Errorf("held %+v", all)
		}
		gives(t, 2)(w.db.BacklogOf(w.ctx, w.endpoint.ID))

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
