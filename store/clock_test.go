package store_test

import (
	"testing"
	"time"

	"schakel/store"
)

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
