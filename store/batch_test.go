package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"schakel/store"
)

// freeze makes a batch of deliveries.
func (w *world) freeze(ids ...string) store.Batch {
	b := store.Batch{EndpointID: w.endpoint.ID, IdempotencyKey: "batch key", KeyExpiresAt: w.in(time.Hour), Members: ids, Size: 42}
	w.write(func(tx *store.Tx) error { return tx.FreezeBatch(w.ctx, &b) })
	return b
}

// claimMembers returns which members of a batch a node gets.
func (w *world) claimMembers(b store.Batch, owner string) (ids []string) {
	w.write(func(tx *store.Tx) error {
		rows, err := tx.ClaimMembers(w.ctx, b, owner, w.in(time.Minute))
		for _, r := range rows {
			ids = append(ids, r.ID)
		}
		return err
	})
	return ids
}

func TestInsertBatches(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		e := w.newEvents(1)[0]
		b := store.Batch{EndpointID: w.endpoint.ID, IdempotencyKey: "batch key", KeyExpiresAt: w.in(time.Hour), Members: store.Strings{"dlv_1"}, Size: 42}
		other := store.Batch{EndpointID: w.endpoint.ID, IdempotencyKey: "other key", KeyExpiresAt: w.in(time.Hour), Members: store.Strings{"dlv_2", "dlv_3"}, Size: 1}
		w.write(func(tx *store.Tx) error {
			tx.NewBatch(&b)
			tx.NewBatch(&other)
			if err := tx.InsertBatches(w.ctx, []*store.Batch{&b, &other}); err != nil {
				return err
			}
			d := delivery("dlv_1", e.ID, w.subscription, tx.Now)
			d.BatchID, d.Alone = b.ID, true
			return tx.InsertDeliveries(w.ctx, []store.Delivery{d})
		})
		d, err := w.db.Delivery(w.ctx, "dlv_1")
		same(t, d.BatchID, err, b.ID)
		same(t, d.Alone, nil, true)
		gives(t, b)(w.db.Batch(w.ctx, b.ID))
		gives(t, other)(w.db.Batch(w.ctx, other.ID))
	})
}

func TestFreezeBatch(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ids := w.newDeliveries(w.subscription, 3)
		b := w.freeze(ids[2], ids[0])
		gives(t, b)(w.db.Batch(w.ctx, b.ID))
		for i, want := range []string{b.ID, "", b.ID} {
			d, err := w.db.Delivery(w.ctx, ids[i])
			same(t, d.BatchID, err, want)
			same(t, d.IdempotencyKey == "batch key" && d.KeyExpiresAt == b.KeyExpiresAt, nil, want != "")
		}
		_, err := w.db.Batch(w.ctx, "btc_none")
		missing(t)(b, err)
	})
}

// A batch is claimed whole, in its order, or not at all.
func TestClaimMembers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		tests := map[string]struct {
			change func(ids []string)
			want   bool
		}{
			"all waiting":            {func([]string) {}, true},
			"one retries later":      {func(ids []string) { w.set(ids[0], `status = 'retrying', due_at = ?`, w.in(time.Hour)) }, true},
			"one is mine":            {func(ids []string) { w.set(ids[0], `lease_owner = 'a', due_at = ?`, w.in(time.Hour)) }, true},
			"one is another node's":  {func(ids []string) { w.set(ids[0], `lease_owner = 'b', due_at = ?`, w.in(time.Hour)) }, false},
			"one was another node's": {func(ids []string) { w.set(ids[0], `lease_owner = 'b', due_at = ?`, w.now()) }, true},
			"one arrived":            {func(ids []string) { w.set(ids[1], `status = 'delivered'`) }, false},
			"one is held":            {func(ids []string) { w.set(ids[1], `status = 'held'`) }, false},
			"one left the batch":     {func(ids []string) { w.set(ids[1], `batch_id = ''`) }, false},
			"the key is old":         {func(ids []string) { w.set(ids[1], `key_expires_at = ?`, w.now()) }, false},
			"an event expired":       {func(ids []string) { w.set(ids[1], `expires_at = ?`, w.now()) }, false},
			"an event expires later": {func(ids []string) { w.set(ids[1], `expires_at = ?`, w.in(time.Second)) }, true},
			"one is gone":            {func(ids []string) { w.set(ids[1], `id = 'dlv_gone'`) }, false},
			"one is not approved": {func(ids []string) {
				stopped := w.newSubscription(w.endpoint, store.SubscriptionSuspended, "nl.other")
				w.set(ids[1], `subscription_id = ?`, stopped.ID)
			}, false},
		}
		for name, tt := range tests {
			ids := w.newDeliveries(w.subscription, 2)
			slices.Reverse(ids)
			b := w.freeze(ids...)
			tt.change(ids)
			if name == "one is another node's" {
				w.fails(store.ErrBusy, func(tx *store.Tx) error { _, err := tx.ClaimMembers(w.ctx, b, "a", w.now()); return err })
				continue
			}
			got := w.claimMembers(b, "a")
			if (tt.want && !slices.Equal(got, ids)) || (!tt.want && got != nil) {
				t.Errorf("%s: got %v of %v", name, got, ids)
			}
		}
	})
}

func TestDissolveBatch(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ids := w.newDeliveries(w.subscription, 5)
		b := w.freeze(ids...)
		w.set(ids[0], `status = 'delivered'`)
		w.set(ids[1], `lease_owner = 'b', due_at = ?`, w.in(time.Hour))
		w.set(ids[2], `lease_owner = 'a', due_at = ?`, w.in(time.Hour))
		w.set(ids[3], `status = 'retrying', due_at = ?`, w.in(time.Hour))
		keys := 0
		w.write(func(tx *store.Tx) error {
			return tx.DissolveBatch(w.ctx, b, "a", store.BatchBroken, func() string { keys++; return fmt.Sprint("own ", keys) })
		})
		seen := map[string]bool{}
		for i, want := range []bool{false, false, true, true, true} {
			d, err := w.db.Delivery(w.ctx, ids[i])
			same(t, d.Alone, err, want)
			same(t, d.BatchID == "", nil, want)
			if want {
				due := w.now()
				if i == 3 {
					due = w.in(time.Hour)
				}
				same(t, [2]any{d.LeaseOwner, d.DueAt}, nil, [2]any{"", due})
				same(t, d.KeyExpiresAt, nil, b.KeyExpiresAt)
				seen[d.IdempotencyKey] = true
			}
		}
		same(t, len(seen), nil, 3)
		got, err := w.db.Batch(w.ctx, b.ID)
		same(t, got.Reason, err, store.BatchBroken)
	})
}

func TestMayStartAll(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ids := w.newDeliveries(w.subscription, 2)
		b := w.freeze(ids...)
		var members []store.Claimed
		may := func(want bool) {
			t.Helper()
			gives(t, want)(w.db.MayStartAll(w.ctx, members))
		}
		w.write(func(tx *store.Tx) (err error) {
			members, err = tx.ClaimMembers(w.ctx, b, "a", w.in(time.Minute))
			return err
		})
		may(true)
		w.set(ids[0], `lease = lease + 1`)
		may(false)
		w.set(ids[0], `lease = lease - 1`)
		w.set(ids[1], `lease_owner = 'b'`)
		may(false)
		w.set(ids[1], `lease_owner = 'a'`)
		w.subscription.Status = store.SubscriptionSuspended
		w.write(func(tx *store.Tx) error { return tx.UpdateSubscription(w.ctx, &w.subscription) })
		may(false)
	})
}

// What was never sent may wait to fill a batch; retries, what goes by itself and tests do not.
func TestFreshAndAgain(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		fresh := w.newDeliveries(w.subscription, 3)
		others := w.newDeliveries(w.subscription, 4)
		w.set(others[0], `round = 1, status = 'retrying'`)
		w.set(others[1], `alone = TRUE`)
		w.set(others[2], `batch_id = 'btc_1'`)
		w.set(others[3], `subscription_id = ''`)
		first := w.now()
		w.clock.Advance(time.Second)
		n, since, err := w.db.Fresh(w.ctx, w.endpoint.ID, 100, w.now())
		same(t, n, err, 3)
		same(t, since, nil, first)
		n, _, err = w.db.Fresh(w.ctx, w.endpoint.ID, 2, w.now())
		same(t, n, err, 2)
		n, since, err = w.db.Fresh(w.ctx, "ept_none", 2, w.now())
		same(t, n, err, 0)
		same(t, since, nil, store.Time{})
		claimed := func(claim func(tx *store.Tx) ([]store.Claimed, error)) (ids []string) {
			w.write(func(tx *store.Tx) error {
				rows, err := claim(tx)
				for _, r := range rows {
					ids = append(ids, r.ID)
				}
				return err
			})
			return ids
		}
		tests := claimed(func(tx *store.Tx) ([]store.Claimed, error) {
			return tx.ClaimTests(w.ctx, w.endpoint.ID, "a", 10, w.in(time.Minute))
		})
		same(t, tests, nil, others[3:])
		again := claimed(func(tx *store.Tx) ([]store.Claimed, error) {
			return tx.ClaimAgain(w.ctx, w.endpoint.ID, "a", 10, w.in(time.Minute))
		})
		same(t, again, nil, others[:3])
		rest := claimed(func(tx *store.Tx) ([]store.Claimed, error) {
			return tx.Claim(w.ctx, w.endpoint.ID, "a", 10, w.in(time.Minute))
		})
		same(t, rest, nil, fresh)
	})
}

func TestSetAlone(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ids := w.newDeliveries(w.subscription, 2)
		w.write(func(tx *store.Tx) error { return tx.SetAlone(w.ctx, ids[:1]) })
		for i, want := range []bool{true, false} {
			d, err := w.db.Delivery(w.ctx, ids[i])
			same(t, d.Alone, err, want)
		}
	})
}

func TestPutBack(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ids := w.newDeliveries(w.subscription, 2)
		w.set(ids[0], `lease_owner = 'a'`)
		w.set(ids[1], `lease_owner = 'b'`)
		w.write(func(tx *store.Tx) error { return tx.PutBack(w.ctx, ids, "a", w.in(time.Minute)) })
		for i, want := range []store.Time{w.in(time.Minute), w.now()} {
			d, err := w.db.Delivery(w.ctx, ids[i])
			same(t, d.DueAt, err, want)
		}
	})
}

func TestPruneBatches(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		kept := w.freeze(w.newDeliveries(w.subscription, 1)...)
		for range 4 {
			w.freeze("dlv_gone_1", "dlv_gone_2")
		}
		w.clock.Advance(time.Hour)
		young := w.freeze("dlv_gone_3")
		before := store.At(w.clock.Now().Add(-time.Minute))
		rows := w.prune(func(tx *store.Tx, cursor string) (store.Pruned, error) {
			return tx.PruneBatches(w.ctx, before, cursor, 2)
		}, 2)
		same(t, rows, nil, int64(4))
		for _, b := range []store.Batch{kept, young} {
			got, err := w.db.Batch(w.ctx, b.ID)
			same(t, got.ID, err, b.ID)
		}
	})
}

func TestSendings(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		own := w.newSubscription(w.endpoint, store.SubscriptionApproved, "nl.own")
		own.Retry = `{"maxAttempts":3}`
		w.write(func(tx *store.Tx) error { return tx.UpdateSubscription(w.ctx, &own) })
		asked := w.newSubscription(w.endpoint, store.SubscriptionRequested, "nl.asked")
		asked.Retry = `{"maxAttempts":4}`
		w.write(func(tx *store.Tx) error { return tx.UpdateSubscription(w.ctx, &asked) })
		gives(t, map[string]store.Sending{own.ID: {Retry: own.Retry}})(w.db.Sendings(w.ctx))
		asked.Encrypt, asked.EncryptSeed = "{}", "sealed"
		w.write(func(tx *store.Tx) error { return tx.UpdateSubscription(w.ctx, &asked) })
		whom := &store.Encryption{SubscriptionID: asked.ID, Recipient: "{}", Seed: "sealed"}
		tests := map[string]*store.Encryption{"nl.own": nil, "nl.asked": whom, eventType: nil}
		gives(t, map[string]store.Sending{
			own.ID: {Retry: own.Retry}, asked.ID: {Retry: asked.Retry, Encryption: whom}, asked.EndpointID: {Encryption: whom, Tests: tests},
		})(w.db.Sendings(w.ctx))
		both := w.newSubscription(w.endpoint, store.SubscriptionRequested, "nl.own", "nl.asked") // newer, but it takes no events yet
		known, err := w.db.Sendings(w.ctx)
		gives(t, (*store.Encryption)(nil))(known[w.endpoint.ID].ForTest("nl.own"), err)
		gives(t, (*store.Encryption)(nil))(known[w.endpoint.ID].ForTest("nl.asked"), err) // of two that take none the newer one holds
		both.Status = store.SubscriptionEnded
		w.write(func(tx *store.Tx) error { return tx.UpdateSubscription(w.ctx, &both) })
		known, err = w.db.Sendings(w.ctx)
		gives(t, whom)(known[w.endpoint.ID].ForTest("nl.asked"), err)
		gives(t, whom)(known[w.endpoint.ID].ForTest("nl.schakel.endpoint.test.v1"), err)
		gives(t, "sealed")(w.db.EncryptSeed(w.ctx, asked.ID))
		asked.Status = store.SubscriptionEnded
		w.write(func(tx *store.Tx) error { return tx.UpdateSubscription(w.ctx, &asked) })
		gives(t, map[string]store.Sending{own.ID: {Retry: own.Retry}})(w.db.Sendings(w.ctx))
	})
}

// The data of an event is encrypted for a partner unless it has the event by a subscription without encryption; what was held for want of a key is
// released.
func TestEncryptionOf(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := w.newSubscription(w.endpoint, store.SubscriptionApproved, "nl.own")
		s.Encrypt, s.EncryptSeed = "{}", "sealed"
		w.write(func(tx *store.Tx) error { return tx.UpdateSubscription(w.ctx, &s) })
		id := w.newDeliveries(s, 1)[0]
		d, err := w.db.Delivery(w.ctx, id)
		same(t, d.SubscriptionID, err, s.ID)
		gives(t, &store.Encryption{SubscriptionID: s.ID, Recipient: "{}", Seed: "sealed"})(w.db.EncryptionOf(w.ctx, d.EventID, s.PartnerID))
		gives(t, (*store.Encryption)(nil))(w.db.EncryptionOf(w.ctx, d.EventID, "ptn_other"))
		for reason, want := range map[string]string{"encryption": store.DeliveryPending, "request": store.DeliveryHeld} {
			w.set(id, `status = 'held', reason = ?`, reason)
			w.write(func(tx *store.Tx) error { return tx.ReleaseUnencrypted(w.ctx, s.ID) })
			if got := w.status(id); got != want {
				t.Errorf("held for %s: %s", reason, got)
			}
		}
	})
}
