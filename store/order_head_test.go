package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"schakel/store"
	"schakel/store/storetest"
)

// queue adds deliveries of the world's subscription, one for each key, and returns their ids.
func (w *world) queue(keys ...string) (ids []string) {
	w.t.Helper()
	events := w.newEvents(1)
	w.write(func(tx *store.Tx) error {
		rows := make([]store.Delivery, len(keys))
		for i, key := range keys {
			rows[i] = delivery(tx.NewID("dlv"), events[0].ID, w.subscription, tx.Now)
			rows[i].OrderKey = key
			ids = append(ids, rows[i].ID)
		}
		return tx.InsertDeliveries(w.ctx, rows)
	})
	return ids
}

// inLine checks that of each key the first delivery that is pending, retrying or held is its head, and the others are behind.
func (w *world) inLine() {
	w.t.Helper()
	read, _ := w.db.Pools()
	var wrong []string
	err := read.Select(&wrong, `SELECT 'place of ' || d.id FROM delivery d WHERE d.order_key <> '' AND d.status IN ('pending', 'retrying', 'held')
			AND d.behind <> EXISTS (SELECT 1 FROM delivery o WHERE o.subscription_id = d.subscription_id AND o.order_key = d.order_key
				AND o.status IN ('pending', 'retrying', 'held') AND o.id < d.id)
		UNION ALL SELECT 'head of ' || h.order_key FROM order_head h WHERE h.head <> COALESCE((SELECT MIN(o.id) FROM delivery o
			WHERE o.subscription_id = h.subscription_id AND o.order_key = h.order_key AND o.status IN ('pending', 'retrying', 'held')), '')
		UNION ALL SELECT 'no head for ' || d.id FROM delivery d WHERE d.order_key <> '' AND d.status IN ('pending', 'retrying', 'held')
			AND NOT EXISTS (SELECT 1 FROM order_head h WHERE h.subscription_id = d.subscription_id AND h.order_key = d.order_key)`)
	if err != nil || len(wrong) > 0 {
		w.t.Fatalf("wrong order: %v (%v)", wrong, err)
	}
}

// Whatever happens to deliveries, the head of each key is the first that is not done with (guarantee G5).
func TestHeadsOfRandomHistory(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		r := rand.New(rand.NewPCG(seed, 1))
		keys := []string{"a", "b", "c", ""}
		var ids []string
		for range 120 {
			w.step(r, &ids, keys)
			w.inLine()
			w.clock.Advance(time.Duration(r.IntN(90)) * time.Second)
		}
	})
}

// step does one thing to deliveries.
func (w *world) step(r *rand.Rand, ids *[]string, keys []string) {
	w.t.Helper()
	if len(*ids) == 0 || r.IntN(4) == 0 {
		var some []string
		for range 1 + r.IntN(4) {
			some = append(some, keys[r.IntN(len(keys))])
		}
		*ids = append(*ids, w.queue(some...)...)
		return
	}
	id := (*ids)[r.IntN(len(*ids))]
	switch r.IntN(8) {
	case 0, 1, 2:
		w.claimAndComplete(r)
	case 3:
		w.write(func(tx *store.Tx) error {
			settle, err := tx.LockOrder(w.ctx, *ids)
			if err != nil {
				return err
			}
			_, err = tx.Resend(w.ctx, id, "key", w.in(time.Hour))
			return errors.Join(err, settle(w.ctx))
		})
	case 4:
		w.write(func(tx *store.Tx) error { _, err := tx.Discard(w.ctx, id, "because"); return err })
	case 5: // another node's clock was behind
		events := w.newEvents(1)
		w.write(func(tx *store.Tx) error {
			d := delivery(store.IDAt("dlv", w.clock.Now().Add(-time.Minute))[:20]+fmt.Sprintf("%010d", len(*ids)), events[0].ID, w.subscription, tx.Now)
			d.OrderKey = keys[r.IntN(len(keys))]
			*ids = append(*ids, d.ID)
			return tx.InsertDeliveries(w.ctx, []store.Delivery{d})
		})
	case 6:
		w.set(id, `key_expires_at = 1`)
		w.write(func(tx *store.Tx) error { _, err := tx.ExpireKeys(w.ctx, 10); return err })
	case 7:
		w.set(id, `expires_at = 1`)
		w.write(func(tx *store.Tx) error { _, err := tx.ExpireEvents(w.ctx, 10); return err })
	}
}

// claimAndComplete claims what is due, with what comes behind it, and ends some of it in some way.
func (w *world) claimAndComplete(r *rand.Rand) {
	var claimed []store.Claimed
	w.write(func(tx *store.Tx) (err error) {
		if claimed, err = tx.Claim(w.ctx, w.endpoint.ID, "a", 1+r.IntN(4), w.in(time.Minute)); err != nil {
			return err
		}
		behind, err := tx.ClaimBehind(w.ctx, claimed, "a", 1+r.IntN(3), 8, w.in(time.Minute))
		claimed = append(claimed, behind...)
		return err
	})
	statuses := []string{store.DeliveryDelivered, store.DeliveryDelivered, store.DeliveryDead, store.DeliveryHeld, store.DeliveryRetrying}
	w.write(func(tx *store.Tx) error {
		var outcomes []store.Outcome
		var back []store.Lease
		for _, c := range claimed {
			if r.IntN(5) == 0 {
				back = append(back, store.LeaseOf(&c.Delivery))
				continue
			}
			d := c.Delivery
			d.Status, d.Reason, d.DueAt = statuses[r.IntN(len(statuses))], "x", store.Time{}
			if d.Status == store.DeliveryRetrying {
				d.DueAt = w.in(time.Second)
			}
			outcomes = append(outcomes, store.Outcome{Attempt: store.Attempt{DeliveryID: c.ID, StartedAt: tx.Now}, Delivery: d, Lease: store.LeaseOf(&c.Delivery)})
		}
		return errors.Join(tx.Complete(w.ctx, outcomes), tx.Unclaim(w.ctx, back))
	})
}

// Those behind a head are claimed with it up to the first that may not be sent now, and only so many.
func TestClaimBehind(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ids := w.queue("a", "b", "a", "a", "b", "a", "", "a")
		w.set(ids[5], `status = 'retrying', due_at = ?`, w.in(time.Hour))
		take := func(each, most int) (got []string) {
			w.fails(errStop, func(tx *store.Tx) error {
				heads, err := tx.Claim(w.ctx, w.endpoint.ID, "n", 10, w.in(time.Minute))
				same(t, len(heads), err, 3) // the heads of a and b, and one without a key
				behind, err := tx.ClaimBehind(w.ctx, heads, "n", each, most, w.in(time.Minute))
				for _, c := range behind {
					got = append(got, c.ID)
					same(t, [2]any{c.LeaseOwner, c.DueAt}, err, [2]any{"n", w.in(time.Minute)})
				}
				return errStop
			})
			return got
		}
		same(t, take(10, 100), nil, []string{ids[2], ids[3], ids[4]}) // ids[5] is not due yet
		same(t, take(1, 100), nil, []string{ids[2], ids[4]})
		same(t, take(10, 2), nil, []string{ids[2], ids[4]})
		same(t, take(3, 100), nil, []string{ids[2], ids[3], ids[4]}) // of three the power of two below
		same(t, take(10, 1), nil, []string(nil))
	})
}

// A resend that comes before others of its key stops those that were claimed and did not begin.
func TestResendBeforeWhatWasClaimed(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ids := w.queue("a", "a", "a")
		w.set(ids[0], `status = 'dead', due_at = NULL`)
		w.rebuildHeads()
		same(t, w.claim("n", 10), nil, ids[1:2])
		lease := w.lease(ids[1], "n")
		gives(t, true)(w.db.MayStart(w.ctx, lease, ids[1]))
		before, err := w.db.FanoutEpoch(w.ctx)
		same(t, 0, err, 0)
		w.write(func(tx *store.Tx) error { _, err := tx.Resend(w.ctx, ids[0], "key", w.in(time.Hour)); return err })
		w.inLine()
		after, err := w.db.FanoutEpoch(w.ctx)
		same(t, before == after, err, false)
		gives(t, false)(w.db.MayStart(w.ctx, lease, ids[1]))
	})
}

// rebuildHeads does what the migration does, for tests that write rows by hand.
func (w *world) rebuildHeads() {
	w.t.Helper()
	w.write(func(tx *store.Tx) error {
		for _, query := range []string{
			`DELETE FROM order_head`,
			`INSERT INTO order_head SELECT subscription_id, order_key, MIN(id) FROM delivery WHERE order_key <> '' AND status IN ('pending', 'retrying', 'held') GROUP BY 1, 2`,
			`UPDATE delivery SET behind = order_key <> '' AND id NOT IN (SELECT head FROM order_head)`,
		} {
			if _, err := tx.Raw().ExecContext(w.ctx, query); err != nil {
				return err
			}
		}
		return nil
	})
}

// A database with a backlog of an older program goes on where that stopped.
func TestBacklogOfBeforeIsPutInOrder(t *testing.T) {
	t.Parallel()
	for _, open := range []func(*testing.T) string{
		func(t *testing.T) string { return "sqlite:" + t.TempDir() + "/schakel.db" }, func(t *testing.T) string { return storetest.PostgresURL(t) },
	} {
		clock := storetest.NewClock()
		db, err := store.Open(t.Context(), open(t), store.Options{Now: clock.Now})
		same(t, 0, err, 0)
		t.Cleanup(func() { _ = db.Close() })
		same(t, 0, db.MigrateTo(t.Context(), 22), 0)
		_, write := db.Pools()
		// Of key k: delivered, dead, held, pending, retrying; of key l: one that waits; of key m: none any more.
		for i, row := range []string{"k delivered", "k dead", "k held", "k pending", "k retrying", "l pending", "m delivered", " pending"} {
			key, status, _ := strings.Cut(row, " ")
			_, err := write.Exec(write.Rebind(`INSERT INTO delivery (id, event_id, subscription_id, endpoint_id, partner_id, event_type, order_key, status,
				idempotency_key, key_expires_at, due_at, created_at, updated_at) VALUES (?, 'e', 's', 'p', 'n', 't', ?, ?, 'k', 1, 1, 1, 1)`), fmt.Sprint("dlv_", i), key, status)
			same(t, 0, err, 0)
		}
		same(t, 0, db.Migrate(t.Context()), 0)
		w := &world{t: t, ctx: t.Context(), db: db, clock: clock}
		w.inLine()
		var heads, behind []string
		same(t, 0, errors.Join(write.Select(&heads, `SELECT order_key || ' ' || head FROM order_head ORDER BY 1`),
			write.Select(&behind, `SELECT id FROM delivery WHERE behind ORDER BY id`)), 0)
		same(t, heads, nil, []string{"k dlv_2", "l dlv_5"})
		same(t, behind, nil, []string{"dlv_3", "dlv_4"})
	}
}

// What a claim and its outcome read does not grow with what waits behind them, nor with the number of keys (guarantee G6).
func TestOrderedClaimReadsNoBacklog(t *testing.T) {
	t.Parallel()
	reads := func(wait, keys int) (rows int64) {
		clock := storetest.NewClock()
		w := newWorld(t, storetest.Postgres(t, storetest.WithClock(clock)), clock)
		names := make([]string, wait)
		for i := range names {
			names[i] = fmt.Sprint("key ", i*keys/wait)
		}
		w.queue(names...)
		w.fails(errStop, func(tx *store.Tx) error {
			before := w.rowsRead(tx)
			claimed, err := tx.Claim(w.ctx, w.endpoint.ID, "a", 4, w.in(time.Minute))
			same(t, len(claimed), err, min(4, keys))
			behind, err := tx.ClaimBehind(w.ctx, claimed, "a", 4, 8, w.in(time.Minute))
			same(t, 0, errors.Join(err, tx.Complete(w.ctx, arrivals(append(claimed, behind...)))), 0)
			_, err = tx.NextDue(w.ctx, w.endpoint.ID, "a")
			same(t, 0, err, 0)
			rows = w.rowsRead(tx) - before
			return errStop
		})
		return rows
	}
	for _, keys := range []int{1, 20} {
		few, many := reads(100, keys), reads(3000, keys)
		if few == 0 || many > few+10 {
			t.Errorf("%d keys: %d rows read with 100 waiting, %d with 3,000", keys, few, many)
		}
	}
	if few, many := reads(3000, 20), reads(3000, 3000); many > few+10 {
		t.Errorf("%d rows read with 20 keys, %d with 3,000", few, many)
	}
}

// rowsRead counts the rows of deliveries and keys that the connection has read.
func (w *world) rowsRead(tx *store.Tx) (rows int64) {
	w.t.Helper()
	err := tx.Raw().QueryRowxContext(w.ctx, `SELECT SUM(COALESCE(seq_tup_read, 0) + COALESCE(idx_tup_fetch, 0)) FROM pg_stat_xact_user_tables
		WHERE relname LIKE 'delivery%' OR relname = 'order_head'`).Scan(&rows)
	same(w.t, 0, err, 0)
	return rows
}

// Nodes that accept, complete, resend and discard at the same time leave each key with one head.
func TestHeadsUnderManyNodes(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClockAt(time.Now())
	w := newWorld(t, storetest.Postgres(t, storetest.WithClock(clock)), clock)
	event := w.newEvents(1)[0]
	var wg sync.WaitGroup
	for n := range 6 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(n), 9))
			for range 60 {
				w.workAsNode(r, fmt.Sprint("node_", n), event.ID)
			}
		})
	}
	wg.Wait()
	w.inLine()
	var left int
	for range 1000 {
		clock.Advance(time.Hour)
		var claimed []store.Claimed
		w.write(func(tx *store.Tx) (err error) {
			claimed, err = tx.Claim(w.ctx, w.endpoint.ID, "last", 50, w.in(time.Minute))
			return err
		})
		if left = len(claimed); left == 0 {
			break
		}
		w.write(func(tx *store.Tx) error { return tx.Complete(w.ctx, arrivals(claimed)) })
	}
	w.inLine()
	open, err := w.db.CountDeliveries(w.ctx, store.DeliveryFilter{Statuses: []string{store.DeliveryPending, store.DeliveryRetrying}})
	held, heldErr := w.db.CountDeliveries(w.ctx, store.DeliveryFilter{Statuses: []string{store.DeliveryHeld}})
	if open > 0 && held == 0 || errors.Join(err, heldErr) != nil || left != 0 {
		t.Errorf("%d are still open, %v", open, err)
	}
}

// workAsNode does one of the things that nodes do at the same time. A deadlock that the database ended is no failure: the
// engine tries again.
func (w *world) workAsNode(r *rand.Rand, node, event string) {
	ctx := context.Background()
	err := w.db.Write(ctx, func(tx *store.Tx) error {
		if r.IntN(2) == 0 {
			rows := make([]store.Delivery, 1+r.IntN(4))
			for i := range rows {
				rows[i] = delivery(tx.NewID("dlv"), event, w.subscription, tx.Now)
				rows[i].OrderKey, rows[i].KeyExpiresAt = fmt.Sprint(r.IntN(3)), store.At(tx.Now.Add(10_000*time.Hour))
			}
			return tx.InsertDeliveries(ctx, rows)
		}
		if r.IntN(4) == 0 {
			rows, _, err := tx.Deliveries(ctx, store.DeliveryFilter{Page: store.Page{Number: 1, Size: 100}})
			if err != nil || len(rows) == 0 {
				return err
			}
			_, err = tx.Resend(ctx, rows[r.IntN(len(rows))].ID, "again", store.At(tx.Now.Add(10_000*time.Hour)))
			return err
		}
		claimed, err := tx.Claim(ctx, w.endpoint.ID, node, 3, store.At(tx.Now.Add(time.Minute)))
		if err != nil || len(claimed) == 0 {
			return err
		}
		behind, err := tx.ClaimBehind(ctx, claimed, node, 3, 6, store.At(tx.Now.Add(time.Minute)))
		if err != nil {
			return err
		}
		outcomes := arrivals(append(claimed, behind...))
		return tx.Complete(ctx, outcomes[:1+r.IntN(len(outcomes))])
	})
	if err != nil && !strings.Contains(err.Error(), "deadlock") {
		w.t.Error(err)
	}
}
