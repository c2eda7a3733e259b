package store_test

import (
	"fmt"
	"strconv"
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

// million fills the delivery table with n rows of a hundred partners with two endpoints each: nearly all delivered, one in
// a hundred dead, and what the newest partner gets pending. Rows are a millisecond apart, the newest at the clock's time.
func (w *world) million(n int) {
	w.t.Helper()
	const block = 10_000
	for from := 0; from < n; from += block {
		w.millionBlock(w.now().Add(-time.Duration(n-from)*time.Millisecond), from, min(from+block, n))
	}
	noErr(w.t, w.db.Optimize(w.ctx))
}

// millionBlock adds the rows behind the from-th up to the until-th, with ids that tell the moment.
func (w *world) millionBlock(at time.Time, from, until int) {
	series := `WITH RECURSIVE s (i) AS (SELECT CAST(? AS BIGINT) UNION ALL SELECT i + 1 FROM s WHERE i < ?)`
	id := `? || printf('%015d', i)`
	if w.db.Dialect() == store.Postgres {
		series = `WITH s AS (SELECT i FROM generate_series(CAST(? AS BIGINT), CAST(? AS BIGINT)) i)`
		id = `CAST(? AS TEXT) || lpad(i::text, 15, '0')`
	}
	_, write := w.db.Pools()
	prefix := store.IDAt("dlv", at)
	_, err := write.ExecContext(w.ctx, write.Rebind(`INSERT INTO delivery (id, event_id, subscription_id, endpoint_id, partner_id, event_type,
			status, reason, idempotency_key, key_expires_at, due_at, created_at, updated_at, delivered_at) `+series+`
		SELECT `+id+`, 'evt_' || i, CASE i % 200 WHEN 7 THEN '`+w.subscription.ID+`' ELSE 'sub_' || (i % 200) END,
			CASE i % 200 WHEN 7 THEN '`+w.endpoint.ID+`' ELSE 'ept_' || (i % 200) END,
			CASE i % 100 WHEN 7 THEN '`+w.partner.ID+`' ELSE 'ptn_' || (i % 100) END, 'nl.type.' || (i % 7),
			CASE WHEN i % 100 = 99 THEN 'pending' WHEN i % 101 = 0 THEN 'dead' ELSE 'delivered' END, CASE WHEN i % 101 = 0 THEN 'gone' ELSE '' END,
			'key-' || i, 0, CASE WHEN i % 100 = 99 THEN i ELSE NULL END, `+micros(at)+` + i, `+micros(at)+` + i, NULL FROM s`),
		from+1, until, prefix[:len(prefix)-15])
	noErr(w.t, err)
}

func micros(t time.Time) string { return strconv.FormatInt(t.UnixMicro(), 10) }

// BenchmarkLists reads one page of the list of deliveries, with its count, out of a million.
func BenchmarkLists(b *testing.B) {
	eachBench(b, func(b *testing.B, w *world) {
		w.million(1_000_000)
		type filter = store.DeliveryFilter
		hour := store.At(w.now().Add(-10 * time.Minute))
		for _, c := range []struct {
			name string
			f    filter
		}{
			{"all", filter{}},
			{"pending", filter{Statuses: []string{"pending"}}},
			{"delivered", filter{Statuses: []string{"delivered"}}},
			{"dead", filter{Statuses: []string{"dead"}}},
			{"open", filter{Statuses: []string{"pending", "retrying"}}},
			{"retrying", filter{Statuses: []string{"retrying"}}},
			{"discarded", filter{Statuses: []string{"discarded"}}},
			{"partner", filter{PartnerID: w.partner.ID}},
			{"partner dead", filter{PartnerID: w.partner.ID, Statuses: []string{"dead"}}},
			{"endpoint", filter{EndpointID: w.endpoint.ID}},
			{"endpoint none", filter{EndpointID: "ept_none"}},
			{"endpoint pending", filter{EndpointID: w.endpoint.ID, Statuses: []string{"pending"}}},
			{"subscription", filter{SubscriptionID: w.subscription.ID}},
			{"type", filter{EventType: "nl.type.3"}},
			{"type none", filter{EventType: "nl.none"}},
			{"reason", filter{Reason: "gone"}},
			{"from", filter{From: hour}},
			{"until", filter{Until: hour}},
			{"until none", filter{Until: store.At(w.now().Add(-24 * time.Hour))}},
			{"from none", filter{From: w.now()}},
			{"last page", filter{Page: store.Page{Number: 400, Size: 25}}},
		} {
			if c.f.Size == 0 {
				c.f.Page = store.Page{Number: 1, Size: 25}
			}
			b.Run(c.name, func(b *testing.B) {
				for b.Loop() {
					if _, _, err := w.db.Deliveries(w.ctx, c.f); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N), "ms/page")
			})
		}
	})
}
