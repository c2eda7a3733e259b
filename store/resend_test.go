package store_test

import (
	"slices"
	"testing"
	"time"

	"schakel/store"
)

func TestResendAndDiscard(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ids := w.newDeliveries(w.subscription, 6)
		states := []string{"pending", "retrying", "delivered", "held", "dead", "discarded"}
		reset := func() {
			for i, s := range states {
				w.set(ids[i], `status = ?, reason = 'r', round = 7, attempts = 9, due_at = NULL, idempotency_key = 'old'`, s)
			}
		}
		resend := func(id string) (done bool) {
			w.write(func(tx *store.Tx) (err error) { done, err = tx.Resend(w.ctx, id, "new", w.in(time.Hour)); return err })
			return done
		}
		reset()
		for i, want := range []bool{false, false, true, true, true, false} {
			same(t, resend(ids[i]), nil, want)
			got, err := w.db.Delivery(w.ctx, ids[i])
			if want {
				same(t, [4]any{got.Status, got.Round, got.Attempts, got.IdempotencyKey}, err, [4]any{"pending", int64(0), int64(9), "new"})
				same(t, [2]store.Time{got.DueAt, got.KeyExpiresAt}, nil, [2]store.Time{w.now(), w.in(time.Hour)})
			} else {
				same(t, [2]any{got.Status, got.IdempotencyKey}, err, [2]any{states[i], "old"})
			}
		}
		reset()
		for i, want := range []bool{false, false, false, true, true, false} {
			w.write(func(tx *store.Tx) error {
				done, err := tx.Discard(w.ctx, ids[i], "opgeruimd")
				same(t, done, err, want)
				return err
			})
		}
		same(t, w.status(ids[4]), nil, store.DeliveryDiscarded)
		reset()
		w.subscription.Status = store.SubscriptionEnded
		w.write(func(tx *store.Tx) error { return tx.UpdateSubscription(w.ctx, &w.subscription) })
		same(t, resend(ids[4]), nil, false)
	})
}

func TestResendMany(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ids := w.newDeliveries(w.subscription, 9)
		states := []string{"pending", "retrying", "delivered", "held", "dead", "discarded", "dead", "dead", "dead"}
		for i, s := range states {
			w.set(ids[i], `status = ?, reason = 'r', detail = 'd', round = 7, batch_id = 'b', lease_owner = 'x', due_at = NULL, idempotency_key = 'old', key_expires_at = 1`, s)
		}
		w.set(ids[6], `order_key = 'k'`)
		before := store.ResendJob{Action: "resend", Status: store.JobDone, Filter: "{}"}
		w.write(func(tx *store.Tx) error { return tx.InsertResendJob(w.ctx, &before) })
		w.set(ids[2], `replay_of = ?`, before.ID)
		w.set(ids[4], `replay_of = 'job_pruned'`)
		w.set(ids[6], `replay_of = ?`, before.ID)
		these := func(places ...int) (rows []store.Delivery) {
			for _, p := range places {
				d, err := w.db.Delivery(w.ctx, ids[p])
				noErr(t, err)
				rows = append(rows, d)
			}
			return rows
		}
		encrypted, err := w.db.Delivery(w.ctx, ids[7])
		same(t, encrypted.Status, err, "dead")
		_, pool := w.db.Pools()
		_, err = pool.ExecContext(w.ctx, pool.Rebind(`UPDATE event SET data_key = 'k' WHERE id = ?`), encrypted.EventID)
		noErr(t, err)
		w.write(func(tx *store.Tx) error {
			rows, err := tx.Resendable(w.ctx, ids)
			var found []string
			for _, d := range rows {
				found = append(found, d.ID)
			}
			slices.Sort(found)
			same(t, found, err, []string{ids[2], ids[3], ids[4], ids[8]})
			keys := []string{"", "new", "", "", "newer"}
			done, err := tx.ResendMany(w.ctx, "job_1", these(2, 4, 1, 6, 8), keys, w.in(time.Hour))
			slices.Sort(done)
			same(t, done, err, []string{ids[2], ids[4], ids[8]})
			return nil
		})
		for i, key := range map[int]string{2: "old", 4: "new", 8: "newer"} {
			d, err := w.db.Delivery(w.ctx, ids[i])
			expires := w.in(time.Hour)
			if key == "old" {
				expires = store.At(time.UnixMicro(1))
			}
			same(t, [8]any{d.Status, d.Reason, d.Detail, d.Round, d.LeaseOwner, d.BatchID, d.Alone, d.ReplayOf}, err, [8]any{"pending", "", "", int64(0), "", "", true, "job_1"})
			same(t, [2]any{d.IdempotencyKey, d.KeyExpiresAt}, nil, [2]any{key, expires})
			same(t, [2]store.Time{d.DueAt, d.UpdatedAt}, nil, [2]store.Time{w.now(), w.now()})
		}
		same(t, w.status(ids[6]), nil, "dead")
		gives(t, []store.JobMove{{JobID: "job_1", Moved: 1}})(w.db.JobMoves(w.ctx, before.ID))
		w.subscription.Status = store.SubscriptionEnded
		w.write(func(tx *store.Tx) error { return tx.UpdateSubscription(w.ctx, &w.subscription) })
		w.write(func(tx *store.Tx) error {
			done, err := tx.ResendMany(w.ctx, "job_1", these(7), []string{""}, w.now())
			same(t, len(done), err, 0)
			return nil
		})
	})
}

func TestTryNow(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ids := w.newDeliveries(w.subscription, 3)
		w.set(ids[0], `status = 'retrying', due_at = ?`, w.in(time.Hour))
		w.set(ids[1], `status = 'retrying', due_at = ?, lease_owner = 'a'`, w.in(time.Hour))
		for i, want := range []bool{true, false, false} {
			w.write(func(tx *store.Tx) error {
				done, err := tx.TryNow(w.ctx, ids[i])
				same(t, done, err, want)
				return err
			})
		}
		same(t, w.claim("b", 10), nil, []string{ids[0], ids[2]})
	})
}

func (w *world) count(want int64, fn func(tx *store.Tx) (int64, error)) {
	w.t.Helper()
	w.write(func(tx *store.Tx) error {
		n, err := fn(tx)
		same(w.t, n, err, want)
		return err
	})
}

func TestHoldAndRelease(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ids := w.newDeliveries(w.subscription, 3)
		rejected := w.newDeliveries(w.subscription, 1)[0]
		w.set(rejected, `status = 'held', reason = 'rejected'`)
		w.claim("a", 1)
		hold := func(tx *store.Tx) (int64, error) { return tx.HoldStopped(w.ctx, 2) }
		release := func(tx *store.Tx) (int64, error) { return tx.ReleaseHeld(w.ctx, 2) }
		w.count(0, hold)
		for _, c := range []struct{ status, deliveries, reason string }{
			{store.SubscriptionPaused, store.DeliveryHeld, store.ReasonSubscriptionPaused},
			{store.SubscriptionSuspended, store.DeliveryHeld, store.ReasonSubscriptionSuspended},
			{store.SubscriptionEnded, store.DeliveryDead, store.ReasonSubscriptionEnded},
		} {
			w.subscription.Status = c.status
			w.write(func(tx *store.Tx) error { return tx.UpdateSubscription(w.ctx, &w.subscription) })
			for _, n := range []int64{2, 1, 0} {
				w.count(n, hold)
			}
			w.count(0, release)
			got, err := w.db.Delivery(w.ctx, ids[0])
			same(t, [4]any{got.Status, got.Reason, got.LeaseOwner, got.DueAt}, err, [4]any{c.deliveries, c.reason, "", store.Time{}})
			w.subscription.Status = store.SubscriptionApproved
			w.write(func(tx *store.Tx) error { return tx.UpdateSubscription(w.ctx, &w.subscription) })
			if c.deliveries == store.DeliveryDead {
				w.count(0, release)
				continue
			}
			for _, n := range []int64{2, 1, 0} {
				w.count(n, release)
			}
			same(t, w.status(ids[2]), nil, store.DeliveryPending)
		}
		same(t, w.status(rejected), nil, store.DeliveryHeld)
	})
}

// Deliveries of an approved subscription wait as suspended while their partner is.
func TestHoldForPartner(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id := w.newDeliveries(w.subscription, 1)[0]
		w.partner.Status = store.PartnerSuspended
		w.write(func(tx *store.Tx) error { return tx.UpdatePartner(w.ctx, &w.partner) })
		w.count(1, func(tx *store.Tx) (int64, error) { return tx.HoldStopped(w.ctx, 10) })
		got, err := w.db.Delivery(w.ctx, id)
		same(t, got.Reason, err, store.ReasonSubscriptionSuspended)
		w.partner.Status = store.PartnerApproved
		w.write(func(tx *store.Tx) error { return tx.UpdatePartner(w.ctx, &w.partner) })
		w.count(1, func(tx *store.Tx) (int64, error) { return tx.ReleaseHeld(w.ctx, 10) })
	})
}

// On PostgreSQL a hold leaves alone what another transaction is writing an outcome of.
func TestHoldDoesNotOverwriteAnOutcome(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		if w.db.Dialect() == store.SQLite {
			return // one writer: two transactions cannot overlap
		}
		id := w.newDeliveries(w.subscription, 1)[0]
		w.claim("a", 1)
		w.subscription.Status = store.SubscriptionPaused
		w.write(func(tx *store.Tx) error { return tx.UpdateSubscription(w.ctx, &w.subscription) })
		w.write(func(tx *store.Tx) error {
			err := tx.Complete(w.ctx, []store.Outcome{w.outcome(id, "a", store.Delivery{Status: store.DeliveryDelivered})})
			same(t, w.flushed(tx, id), err, nil)
			w.count(0, func(tx *store.Tx) (int64, error) { return tx.HoldStopped(w.ctx, 10) })
			return err
		})
		w.count(0, func(tx *store.Tx) (int64, error) { return tx.HoldStopped(w.ctx, 10) })
		same(t, w.status(id), nil, store.DeliveryDelivered)
	})
}

// flushed reads in a transaction, so that what waits in it has been written: others meet its locks.
func (w *world) flushed(tx *store.Tx, id string) error {
	_, err := tx.Delivery(w.ctx, id)
	return err
}

// What an endpoint held up is released when the endpoint is active again, and only if it may be sent to.
func TestReleaseForEndpoint(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ids := w.newDeliveries(w.subscription, 1)
		test := w.newDeliveries(store.Subscription{PartnerID: w.partner.ID, EndpointID: w.endpoint.ID}, 1)[0]
		for _, id := range []string{ids[0], test} {
			w.set(id, `status = 'held', reason = 'endpoint-suspended'`)
		}
		w.setEndpoint(store.EndpointSuspended)
		release := func(tx *store.Tx) (int64, error) { return tx.ReleaseHeld(w.ctx, 10) }
		w.count(0, release)
		w.setEndpoint(store.EndpointActive)
		w.count(2, release)
		same(t, w.claim("a", 10), nil, append(ids, test))
	})
}

func (w *world) setEndpoint(status string) {
	w.t.Helper()
	w.endpoint.Status = status
	w.write(func(tx *store.Tx) error { return tx.UpdateEndpoint(w.ctx, &w.endpoint) })
}

func TestResendJob(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var j store.ResendJob
		fill(&j, 1)
		w.write(func(tx *store.Tx) error { return tx.InsertResendJob(w.ctx, &j) })
		admin := store.ResendJob{Action: "discard", Filter: "{}"}
		w.write(func(tx *store.Tx) error { return tx.InsertResendJob(w.ctx, &admin) })
		gives(t, []store.ResendJob{j, admin})(w.db.RunningResendJobs(w.ctx))

		w.clock.Advance(time.Second)
		j.Status, j.Done, j.Refused, j.Cursor, j.FinishedAt = store.JobDone, 70, 3, "dlv_9", w.now()
		w.write(func(tx *store.Tx) error {
			locked, err := tx.LockResendJob(w.ctx, j.ID)
			same(t, locked.Status, err, store.JobRunning)
			return tx.UpdateResendJob(w.ctx, &j)
		})
		gives(t, j)(w.db.ResendJob(w.ctx, j.ID))
		gives(t, []store.ResendJob{admin})(w.db.RunningResendJobs(w.ctx))
		id := func(j store.ResendJob) string { return j.ID }
		listed(t, id, []string{admin.ID}, 1)(w.db.ResendJobs(w.ctx, store.JobFilter{}))
		listed(t, id, []string{j.ID}, 1)(w.db.ResendJobs(w.ctx, store.JobFilter{PartnerID: j.PartnerID, Page: store.Page{Number: 1, Size: 5}}))
		missing(t)(w.db.ResendJob(w.ctx, "rsd_none"))
		w.fails(store.ErrNotFound, func(tx *store.Tx) error { _, err := tx.LockResendJob(w.ctx, "rsd_none"); return err })
	})
}

func TestExpireKeys(t *testing.T) { // IDEM-12
	each(t, func(t *testing.T, w *world) {
		ids := w.newDeliveries(w.subscription, 3)
		expire := func(limit int) int64 {
			var n int64
			w.write(func(tx *store.Tx) (err error) { n, err = tx.ExpireKeys(w.ctx, limit); return err })
			return n
		}
		same(t, expire(10), nil, int64(0))
		gives(t, false)(w.db.HasExpiredKeys(w.ctx, w.now()))
		w.clock.Advance(8 * 24 * time.Hour)
		gives(t, true)(w.db.HasExpiredKeys(w.ctx, w.now()))
		var claimed []store.Claimed
		w.write(func(tx *store.Tx) (err error) {
			claimed, err = tx.Claim(w.ctx, w.endpoint.ID, "node_a", 10, w.in(time.Minute))
			return err
		})
		same(t, len(claimed), nil, 0)
		same(t, expire(2), nil, int64(2))
		same(t, expire(2), nil, int64(1))
		got, err := w.db.Delivery(w.ctx, ids[0])
		same(t, [3]any{got.Status, got.Reason, got.DueAt.IsZero()}, err, [3]any{"dead", "key-expired", true})
	})
}

// A delivery by AMQP whose message was answered is put back by no resend, and is counted apart (AMQP-113).
func TestSentForGood(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ids := w.newDeliveries(w.subscription, 4)
		_, pool := w.db.Pools()
		_, err := pool.ExecContext(w.ctx, pool.Rebind(`UPDATE endpoint SET kind = 'amqp' WHERE id = ?`), w.endpoint.ID)
		noErr(t, err)
		reasons := []string{"T02", "amqp-sent-before", "transport:invalid-signature", "T02"}
		for i, status := range []string{store.AMQPRejected, "", store.AMQPFailed, store.AMQPReplaced} {
			w.set(ids[i], `status = 'held', reason = ?`, reasons[i])
			m := store.AMQPMessage{Direction: store.AMQPOut, Kind: store.AMQPBusiness, Status: status, MessageID: ids[i], MsgID: ids[i], DeliveryID: ids[i]}
			if status != "" {
				w.write(func(tx *store.Tx) error { return tx.InsertAMQPMessage(w.ctx, &m) })
			}
		}
		gives(t, ids[:2])(w.db.SentForGood(w.ctx, ids))
		groups, err := w.db.GroupDeliveries(w.ctx, store.DeliveryFilter{Statuses: []string{"held"}})
		same(t, [2]int{groups[0].Count, groups[0].SentForGood}, err, [2]int{4, 2})
		w.write(func(tx *store.Tx) error {
			rows, err := tx.Resendable(w.ctx, ids)
			noErr(t, err)
			done, err := tx.ResendMany(w.ctx, "job_1", rows, make([]string, len(rows)), w.in(time.Hour))
			slices.Sort(done)
			same(t, done, err, ids[2:])
			ok, err := tx.Resend(w.ctx, ids[0], "new", w.in(time.Hour))
			same(t, ok, err, false)
			return nil
		})
	})
}
