package store_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"schakel/store"
)

// claim takes due deliveries of the world's endpoint and returns their ids.
func (w *world) claim(owner string, limit int) []string {
	w.t.Helper()
	ids := []string{}
	w.write(func(tx *store.Tx) error {
		rows, err := tx.Claim(w.ctx, w.endpoint.ID, owner, limit, w.in(time.Minute))
		for _, r := range rows {
			ids = append(ids, r.ID)
			if r.Event.ID != r.EventID || len(r.Event.Data) == 0 || r.LeaseOwner != owner || r.DueAt != w.in(time.Minute) {
				w.t.Errorf("claimed %+v", r)
			}
		}
		return err
	})
	return ids
}

func TestClaim(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ids := w.newDeliveries(w.subscription, 4)
		w.newDeliveries(w.newSubscription(w.newEndpoint(w.partner.ID), store.SubscriptionApproved), 1)
		w.set(ids[3], `due_at = ?`, w.in(time.Second))
		w.set(ids[0], `status = 'retrying', due_at = ?`, w.in(-time.Second))
		same(t, w.claim("a", 2), nil, ids[:2])
		same(t, w.claim("b", 10), nil, ids[2:3])
		same(t, w.claim("a", 10), nil, []string{})
		gives(t, w.in(time.Second))(w.db.NextDue(w.ctx, w.endpoint.ID, "c"))
		w.set(ids[3], `due_at = ?`, w.in(time.Hour))
		gives(t, w.in(time.Minute))(w.db.NextDue(w.ctx, w.endpoint.ID, "a")) // when the lease of b ends
		gives(t, store.Time{})(w.db.NextDue(w.ctx, "ept_none", "a"))
		w.set(ids[3], `due_at = ?`, w.in(time.Second))

		w.clock.Advance(time.Minute) // all leases end
		same(t, w.claim("b", 10), nil, ids)
	})
}

// Nothing goes to a subscription that is not approved (guarantee G2).
func TestClaimOnlyWhatMayBeSent(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ids := w.newDeliveries(w.subscription, 1)
		test := w.newDeliveries(store.Subscription{PartnerID: w.partner.ID, EndpointID: w.endpoint.ID}, 1)
		for _, status := range []string{"paused", "suspended", "ended", "rejected", "requested"} {
			w.subscription.Status = status
			w.write(func(tx *store.Tx) error { return tx.UpdateSubscription(w.ctx, &w.subscription) })
			same(t, w.claim("a", 10), nil, test)
			w.write(func(tx *store.Tx) error { _, err := tx.FreeLeases(w.ctx, "a"); return err })
		}
		w.subscription.Status, w.partner.Status = store.SubscriptionApproved, store.PartnerSuspended
		w.write(func(tx *store.Tx) error {
			return errors.Join(tx.UpdateSubscription(w.ctx, &w.subscription), tx.UpdatePartner(w.ctx, &w.partner))
		})
		same(t, w.claim("a", 10), nil, []string{})
		w.partner.Status = store.PartnerApproved
		w.write(func(tx *store.Tx) error { return tx.UpdatePartner(w.ctx, &w.partner) })
		same(t, w.claim("a", 10), nil, append(ids, test...))
	})
}

// However many nodes claim at once, no delivery is held twice and none is left.
func TestClaimAtOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		const nodes, total = 8, 400
		w.newDeliveries(w.subscription, total)
		var mu sync.Mutex
		var group sync.WaitGroup
		held := make(map[string]int)
		for n := range nodes {
			group.Go(func() {
				for range total {
					var rows []store.Claimed
					err := w.db.Write(w.ctx, func(tx *store.Tx) (err error) {
						rows, err = tx.Claim(w.ctx, w.endpoint.ID, fmt.Sprint("node", n), 16, w.in(time.Minute))
						return err
					})
					if err != nil || len(rows) > 16 {
						t.Errorf("claimed %d, %v", len(rows), err)
					}
					if len(rows) == 0 {
						return
					}
					mu.Lock()
					for _, r := range rows {
						held[r.ID]++
					}
					mu.Unlock()
				}
			})
		}
		group.Wait()
		rest := len(w.claim("last", total)) // another node may have had them locked for a moment when a node looked
		for id, n := range held {
			if n != 1 {
				t.Errorf("%s was claimed %d times", id, n)
			}
		}
		same(t, len(held)+rest, nil, total)
	})
}

func TestLeases(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ids := w.newDeliveries(w.subscription, 3)
		w.claim("a", 2)
		w.claim("b", 1)
		gives(t, []store.Backlog{{EndpointID: w.endpoint.ID, Waiting: 3, OldestDue: w.in(time.Minute)}})(w.db.Backlogs(w.ctx))
		q, err := w.db.QueuedAt(w.ctx, w.endpoint.ID)
		same(t, q.Waiting, err, 3)
		if q.Oldest.IsZero() || q.Oldest.After(w.now().Time) {
			t.Errorf("the oldest waits since %v", q.Oldest)
		}
		gives(t, store.Queued{})(w.db.QueuedAt(w.ctx, "ept_none"))
		other := w.newSubscription(w.endpoint, store.SubscriptionPaused)
		w.newDeliveries(other, 2)
		q, err = w.db.QueuedAt(w.ctx, w.endpoint.ID)
		if err != nil || q.Waiting != 5 || q.Stopped != 2 || !q.Next.IsZero() {
			t.Errorf("queued %+v, %v; want 2 of 5 stopped and no next attempt", q, err)
		}
		w.write(func(tx *store.Tx) error {
			n, err := tx.FreeLeases(w.ctx, "a")
			same(t, n, err, 2)
			return err
		})
		same(t, w.claim("c", 10), nil, ids[:2])
		w.write(func(tx *store.Tx) error { return tx.FreeAllLeases(w.ctx) })
		same(t, w.claim("d", 10), nil, ids)
	})
}

func TestUnclaim(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ids := w.newDeliveries(w.subscription, 3)
		w.claim("a", 2)
		w.claim("b", 1)
		mine := []store.Lease{w.lease(ids[0], "a"), w.lease(ids[1], "a"), w.lease(ids[2], "a")}
		w.write(func(tx *store.Tx) error { return tx.Unclaim(w.ctx, mine) })
		same(t, w.claim("c", 10), nil, ids[:2])
		w.write(func(tx *store.Tx) error { return tx.Unclaim(w.ctx, nil) })
		same(t, w.claim("d", 10), nil, []string{})
	})
}

// A node that claims again what a sender of its own still has in hand is not disturbed by that sender.
func TestAnOldLeaseOfTheSameNode(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ids := w.newDeliveries(w.subscription, 1)
		w.claim("a", 1)
		old := w.lease(ids[0], "a")
		lost := w.outcome(ids[0], "a", store.Delivery{Status: store.DeliveryDead, Reason: "http-410", LastStatus: 410})
		w.clock.Advance(time.Minute)
		same(t, w.claim("a", 1), nil, ids)
		w.write(func(tx *store.Tx) error {
			return errors.Join(tx.Unclaim(w.ctx, []store.Lease{old}), tx.Complete(w.ctx, []store.Outcome{lost}))
		})
		d, err := w.db.Delivery(w.ctx, ids[0])
		same(t, [3]any{d.Status, d.LeaseOwner, d.Lease}, err, [3]any{store.DeliveryPending, "a", old.Number + 1})
		for lease, want := range map[store.Lease]bool{old: false, store.LeaseOf(&d): true} {
			gives(t, want)(w.db.MayStart(w.ctx, lease, lease.DeliveryID))
		}
	})
}

// Between the claim and the attempt a person may have stopped it (guarantee G2).
func TestMayStart(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id := w.newDeliveries(w.subscription, 1)[0]
		may := func(owner string, want bool) {
			t.Helper()
			gives(t, want)(w.db.MayStart(w.ctx, w.lease(id, owner), id))
		}
		may("a", false)
		w.claim("a", 1)
		may("a", true)
		may("b", false)
		w.setEndpoint(store.EndpointPaused)
		may("a", false)
		w.setEndpoint(store.EndpointActive)
		may("a", true)
		for status, want := range map[string]bool{store.SubscriptionPaused: false, store.SubscriptionApproved: true, store.SubscriptionEnded: false} {
			w.subscription.Status = status
			w.write(func(tx *store.Tx) error { return tx.UpdateSubscription(w.ctx, &w.subscription) })
			may("a", want)
		}
		w.set(id, `subscription_id = ''`)
		may("a", true)
		w.partner.Status = store.PartnerSuspended
		w.write(func(tx *store.Tx) error { return tx.UpdatePartner(w.ctx, &w.partner) })
		may("a", false)
	})
}

// lease is the newest lease of a delivery, as if owner had it.
func (w *world) lease(id, owner string) store.Lease {
	w.t.Helper()
	d, err := w.db.Delivery(w.ctx, id)
	noErr(w.t, err)
	return store.Lease{DeliveryID: id, Owner: owner, Number: d.Lease}
}

func (w *world) outcome(id, owner string, d store.Delivery) store.Outcome {
	d.ID = id
	return store.Outcome{Lease: w.lease(id, owner), Delivery: d, Attempt: store.Attempt{DeliveryID: id, Number: 1, StartedAt: w.now(), StatusCode: d.LastStatus}}
}

func TestComplete(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ids := w.newDeliveries(w.subscription, 4)
		w.claim("a", 3)
		w.clock.Advance(time.Second)
		retry := store.Delivery{Status: store.DeliveryRetrying, Reason: "http-503", Detail: "wacht", DueAt: w.in(time.Minute), LastStatus: 503}
		dead := store.Delivery{Status: store.DeliveryDead, Reason: "http-410", LastStatus: 410}
		w.write(func(tx *store.Tx) error {
			return tx.Complete(w.ctx, []store.Outcome{
				w.outcome(ids[0], "a", store.Delivery{Status: store.DeliveryDelivered, LastStatus: 202}),
				w.outcome(ids[1], "a", retry), w.outcome(ids[2], "a", dead),
			})
		})
		for i, want := range []store.Delivery{
			{Status: store.DeliveryDelivered, LastStatus: 202, DeliveredAt: w.now()}, retry, dead,
		} {
			got, err := w.db.Delivery(w.ctx, ids[i])
			full := got
			full.Status, full.Reason, full.Detail, full.DueAt, full.LastStatus = want.Status, want.Reason, want.Detail, want.DueAt, want.LastStatus
			full.DeliveredAt, full.LeaseOwner, full.Attempts, full.Round, full.UpdatedAt = want.DeliveredAt, "", 1, 1, w.now()
			same(t, got, err, full)
			attempts, err := w.db.Attempts(w.ctx, ids[i])
			same(t, len(attempts), err, 1)
		}
		same(t, w.status(ids[3]), nil, store.DeliveryPending)
		w.write(func(tx *store.Tx) error { return tx.Complete(w.ctx, nil) })
	})
}

// Who lost its lease may not change a delivery, but one that arrived has arrived.
func TestCompleteAfterTheLease(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ids := w.newDeliveries(w.subscription, 2)
		w.claim("a", 2)
		w.clock.Advance(time.Minute)
		w.claim("b", 2)
		retry := store.Delivery{Status: store.DeliveryRetrying, DueAt: w.now()}
		late := func() {
			w.write(func(tx *store.Tx) error {
				return tx.Complete(w.ctx, []store.Outcome{
					w.outcome(ids[0], "a", retry), w.outcome(ids[1], "a", store.Delivery{Status: store.DeliveryDelivered, LastStatus: 200}),
				})
			})
		}
		late()
		got, err := w.db.Delivery(w.ctx, ids[0])
		same(t, [2]string{got.Status, got.LeaseOwner}, err, [2]string{store.DeliveryPending, "b"})
		same(t, w.status(ids[1]), nil, store.DeliveryDelivered)

		w.write(func(tx *store.Tx) error { return tx.Complete(w.ctx, []store.Outcome{w.outcome(ids[1], "b", retry)}) })
		same(t, w.status(ids[1]), nil, store.DeliveryDelivered)
		w.set(ids[1], `status = 'discarded'`)
		late()
		same(t, w.status(ids[1]), nil, store.DeliveryDiscarded)
	})
}

func TestAttempts(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		rows := make([]store.Attempt, 2)
		for i := range rows {
			fill(&rows[i], i+1, "DeliveryID")
			rows[i].DeliveryID = "dlv_1"
		}
		w.write(func(tx *store.Tx) error { return tx.InsertAttempts(w.ctx, []store.Attempt{rows[1], rows[0]}) })
		got, err := w.db.Attempts(w.ctx, "dlv_1")
		for i := range got {
			rows[i].ID = got[i].ID
		}
		same(t, got, err, rows)
		got, err = w.db.Attempts(w.ctx, "dlv_none")
		same(t, len(got), err, 0)
	})
}

// While a backlog is large a claim begins where the last one ended; what was given back before that is found again after a
// while, and at once when there is nothing else.
func TestClaimsFindWhatIsBehindThem(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ids := w.newDeliveries(w.subscription, 40)
		for i, id := range ids {
			w.set(id, `due_at = ?`, w.in(time.Duration(i-100)*time.Second))
		}
		same(t, w.claim("a", 10), nil, ids[:10])
		same(t, w.claim("a", 10), nil, ids[10:20])
		w.set(ids[3], `due_at = ?, lease_owner = ''`, w.in(-97*time.Second))
		w.clock.Advance(2 * time.Second)
		same(t, w.claim("a", 5), nil, append([]string{ids[3]}, ids[20:24]...))
		w.set(ids[4], `due_at = ?, lease_owner = ''`, w.in(-96*time.Second))
		same(t, w.claim("a", 100), nil, append([]string{ids[4]}, ids[24:]...))
	})
}

// A claim that was rolled back is made again.
func TestClaimRolledBack(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ids := w.newDeliveries(w.subscription, 10)
		for i, id := range ids {
			w.set(id, `due_at = ?`, w.in(time.Duration(i-100)*time.Second))
		}
		w.fails(errStop, func(tx *store.Tx) error {
			_, err := tx.Claim(w.ctx, w.endpoint.ID, "a", 4, w.in(time.Minute))
			same(t, 0, err, 0)
			return errStop
		})
		same(t, w.claim("a", 10), nil, ids)
	})
}

// TestTurnBack sets the clock back while a delivery waits for its next try and a circuit for its probe.
//
// Rules: EDU-09.
func TestTurnBack(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		if newest, err := w.db.NewestDelivery(w.ctx); err != nil || !newest.IsZero() {
			t.Errorf("newest of none is %v, %v", newest, err)
		}
		made := w.clock.Now()
		id := w.newDeliveries(w.subscription, 1)[0]
		w.endpoint.Circuit, w.endpoint.CircuitProbeAt = store.CircuitOpen, w.in(time.Minute)
		w.write(func(tx *store.Tx) error { return tx.SaveCircuit(w.ctx, &w.endpoint) })
		w.set(id, "due_at = ?", w.in(30*time.Second))
		if newest, err := w.db.NewestDelivery(w.ctx); err != nil || newest.Sub(made).Abs() > time.Millisecond {
			t.Errorf("newest is of %v, made at %v, %v", newest, made, err)
		}
		w.clock.Advance(-time.Hour)
		for _, turned := range []int64{1, 0} { // a second time changes nothing
			w.write(func(tx *store.Tx) error {
				n, err := tx.TurnBack(w.ctx, w.endpoint.ID)
				if n != turned {
					t.Errorf("%d deliveries turned back, want %d", n, turned)
				}
				return err
			})
			d, err := w.db.Delivery(w.ctx, id)
			if err != nil || !d.DueAt.Equal(w.in(30*time.Second).Time) {
				t.Errorf("due at %v, want %v, %v", d.DueAt, w.in(30*time.Second), err)
			}
		}
		w.write(func(tx *store.Tx) error { return tx.TurnCircuitsBack(w.ctx, w.in(15*time.Minute)) })
		ep, err := w.db.Endpoint(w.ctx, w.endpoint.ID)
		if err != nil || !ep.CircuitProbeAt.Equal(w.in(15*time.Minute).Time) {
			t.Errorf("probed at %v, want %v, %v", ep.CircuitProbeAt, w.in(15*time.Minute), err)
		}
	})
}

// TestIDsNeverGoBack makes ids while the clock goes back, and after those of a process whose clock was ahead.
//
// Rules: EDU-N09.
func TestIDsNeverGoBack(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		first := w.db.NewID("x")
		w.clock.Advance(-time.Hour)
		second := w.db.NewID("x")
		ahead := w.clock.Now().Add(24 * time.Hour)
		w.db.KeepIDsAfter(ahead)
		third := w.db.NewID("x")
		if first >= second || second >= third || third < store.IDAt("x", ahead) {
			t.Errorf("ids go back: %s, %s, %s", first, second, third)
		}
	})
}
