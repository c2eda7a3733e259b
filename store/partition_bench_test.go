package store_test

import (
	"fmt"
	"testing"
	"time"

	"schakel/store"
	"schakel/store/storetest"
)

// BenchmarkDays shows what the engine's statements cost with one partition and with forty.
func BenchmarkDays(b *testing.B) {
	for _, days := range []int{1, 40} {
		b.Run(fmt.Sprintf("%d", days), func(b *testing.B) {
			clock := storetest.NewClock()
			w := newWorld(b, storetest.Postgres(b, storetest.WithClock(clock)), clock)
			w.days(days, 500)
			for _, limit := range []int{1, 64} {
				b.Run(fmt.Sprintf("claim and complete %d", limit), func(b *testing.B) { w.benchSending(b, limit) })
			}
			b.Run("claim nothing", func(b *testing.B) {
				for b.Loop() {
					w.write(func(tx *store.Tx) error { _, err := tx.Claim(w.ctx, "ept_none", "a", 64, w.in(time.Hour)); return err })
				}
			})
			b.Run("insert events 8", func(b *testing.B) {
				for b.Loop() {
					w.newEvents(8)
				}
			})
			b.Run("may start", func(b *testing.B) {
				lease := w.lease(w.newDeliveries(w.subscription, 1)[0], "a")
				for b.Loop() {
					if _, err := w.db.MayStart(w.ctx, lease, lease.DeliveryID); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

// days lets days pass, each with events that were delivered.
func (w *world) days(n, events int) {
	for range n {
		w.write(func(tx *store.Tx) error { return tx.MakePartitions(w.ctx, 24*time.Hour) })
		w.newDeliveries(w.subscription, events)
		w.write(func(tx *store.Tx) error {
			claimed, err := tx.Claim(w.ctx, w.endpoint.ID, "a", events, w.in(time.Minute))
			if err != nil {
				return err
			}
			return tx.Complete(w.ctx, arrivals(claimed))
		})
		w.clock.Advance(24 * time.Hour)
	}
	w.write(func(tx *store.Tx) error { return tx.MakePartitions(w.ctx, 24*time.Hour) })
}

func arrivals(claimed []store.Claimed) []store.Outcome {
	outcomes := make([]store.Outcome, len(claimed))
	for i, c := range claimed {
		c.Status, c.LastStatus = store.DeliveryDelivered, 202
		outcomes[i] = store.Outcome{Delivery: c.Delivery, Lease: store.LeaseOf(&c.Delivery), Attempt: store.Attempt{DeliveryID: c.ID, Number: 1, StartedAt: c.DueAt}}
	}
	return outcomes
}

func (w *world) benchSending(b *testing.B, limit int) {
	var claims, completes time.Duration
	for b.Loop() {
		b.StopTimer()
		w.newDeliveries(w.subscription, limit)
		b.StartTimer()
		var claimed []store.Claimed
		began := time.Now()
		w.write(func(tx *store.Tx) (err error) {
			claimed, err = tx.Claim(w.ctx, w.endpoint.ID, "a", limit, w.in(time.Hour))
			return err
		})
		claims += time.Since(began)
		began = time.Now()
		w.write(func(tx *store.Tx) error { return tx.Complete(w.ctx, arrivals(claimed)) })
		completes += time.Since(began)
	}
	b.ReportMetric(float64(claims.Microseconds())/float64(b.N), "claim-µs")
	b.ReportMetric(float64(completes.Microseconds())/float64(b.N), "complete-µs")
}
