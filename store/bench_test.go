package store_test

import (
	"testing"
	"time"

	"schakel/store"
	"schakel/store/storetest"
)

const batch = 256

func eachBench(b *testing.B, fn func(b *testing.B, w *world)) {
	b.Run("sqlite", func(b *testing.B) {
		clock := storetest.NewClock()
		fn(b, newWorld(b, storetest.SQLite(b, storetest.WithClock(clock)), clock))
	})
	b.Run("postgres", func(b *testing.B) {
		clock := storetest.NewClock()
		fn(b, newWorld(b, storetest.Postgres(b, storetest.WithClock(clock)), clock))
	})
}

func perSecond(b *testing.B) {
	b.ReportMetric(float64(b.N*batch)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkInsertEvents writes 256 events of 1 KiB with a delivery each in a transaction.
func BenchmarkInsertEvents(b *testing.B) {
	eachBench(b, func(b *testing.B, w *world) {
		data := make([]byte, 1024)
		events, deliveries := make([]store.Event, batch), make([]store.Delivery, batch)
		for b.Loop() {
			w.write(func(tx *store.Tx) error {
				for i := range events {
					events[i] = w.event(tx.NewID("evt"))
					events[i].Data = data
					deliveries[i] = delivery(tx.NewID("dlv"), events[i].ID, w.subscription, tx.Now)
				}
				if _, err := tx.InsertEvents(w.ctx, events); err != nil {
					return err
				}
				return tx.InsertDeliveries(w.ctx, deliveries)
			})
		}
		perSecond(b)
	})
}

// BenchmarkClaimComplete claims 256 deliveries in a transaction and completes them in another.
func BenchmarkClaimComplete(b *testing.B) {
	eachBench(b, func(b *testing.B, w *world) {
		for b.Loop() {
			b.StopTimer()
			w.newDeliveries(w.subscription, batch)
			b.StartTimer()
			var rows []store.Claimed
			w.write(func(tx *store.Tx) (err error) {
				rows, err = tx.Claim(w.ctx, w.endpoint.ID, "a", batch, w.in(time.Minute))
				return err
			})
			outcomes := make([]store.Outcome, len(rows))
			for i, r := range rows {
				outcomes[i] = w.outcome(r.ID, "a", store.Delivery{Status: store.DeliveryDelivered, LastStatus: 202})
			}
			if len(rows) != batch {
				b.Fatalf("claimed %d", len(rows))
			}
			w.write(func(tx *store.Tx) error { return tx.Complete(w.ctx, outcomes) })
		}
		perSecond(b)
	})
}
