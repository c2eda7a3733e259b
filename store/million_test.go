package store_test

import (
	"strconv"
	"testing"
	"time"

	"schakel/store"
)

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
	if err != nil {
		w.t.Fatal(err)
	}
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
