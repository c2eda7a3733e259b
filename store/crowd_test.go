package store_test

import (
	"fmt"
	"testing"
	"time"

	"schakel/store"
)

// crowd fills the delivery table for the shape that makes lists slow: per deliveries of each state of one partner, in blocks so that the
// newest all have one state, and few of another partner stand among the oldest. The program makes the statistics.
func (w *world) crowd(per int) store.Partner {
	w.t.Helper()
	few := store.Partner{Name: "Kleine school", Status: store.PartnerApproved}
	w.write(func(tx *store.Tx) error { return tx.InsertPartner(w.ctx, &few) })
	at := w.now().Add(-24 * time.Hour)
	for i, s := range []struct{ partner, status, reason string }{
		{few.ID, "pending", ""},
		{few.ID, "dead", "gone"},
		{few.ID, "delivered", ""},
		{few.ID, "held", "rejected"},
		{w.partner.ID, "pending", ""},
		{w.partner.ID, "held", "endpoint-suspended"},
		{w.partner.ID, "retrying", "server-error"},
		{w.partner.ID, "delivered", ""},
		{w.partner.ID, "dead", "attempts"},
	} {
		n := per
		if s.partner == few.ID {
			n = 3
		}
		w.crowdBlock(at.Add(time.Duration(i)*time.Hour), n, s.partner, s.status, s.reason)
	}
	noErr(w.t, w.db.Optimize(w.ctx))
	if w.db.Dialect() == store.Postgres && per > 1000 {
		read, _ := w.db.Pools()
		w.eventually(func() bool { // PostgreSQL counts changes a moment later
			var known int
			noErr(w.t, w.db.Optimize(w.ctx))
			noErr(w.t, read.Get(&known, `SELECT COALESCE(SUM(reltuples), 0)::bigint FROM pg_class
				WHERE relname LIKE 'delivery\_%' AND relkind = 'r' AND relname <> 'delivery_batch'`))
			return known >= 4*per
		})
	}
	return few
}

func (w *world) crowdBlock(at time.Time, n int, partner, status, reason string) {
	w.t.Helper()
	series := `WITH RECURSIVE s (i) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT i + 1 FROM s WHERE i < ?)`
	id := `? || printf('%015d', i)`
	if w.db.Dialect() == store.Postgres {
		series = `WITH s AS (SELECT i FROM generate_series(1, CAST(? AS BIGINT)) i)`
		id = `CAST(? AS TEXT) || lpad(i::text, 15, '0')`
	}
	due := `NULL`
	if status == "pending" || status == "retrying" {
		due = micros(at)
	}
	_, write := w.db.Pools()
	prefix := store.IDAt("dlv", at)
	_, err := write.ExecContext(w.ctx, write.Rebind(fmt.Sprintf(`INSERT INTO delivery (id, event_id, subscription_id, endpoint_id, partner_id, event_type,
			status, reason, idempotency_key, key_expires_at, due_at, created_at, updated_at, delivered_at) %s
		SELECT %s, 'evt_' || i, '%s', '%s', '%s', 'nl.type.' || (i %% 7), '%s', '%s', 'key-' || i, 0, %s, %s + i, %s + i, NULL FROM s`,
		series, id, w.subscription.ID, w.endpoint.ID, partner, status, reason, due, micros(at), micros(at))), n, prefix[:len(prefix)-15])
	noErr(w.t, err)
}

func noErr(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// crowdLists lists the lists and counts of the pages of administrators (without a partner) and of partners.
func crowdLists(partner, few string) map[string]store.DeliveryFilter {
	type filter = store.DeliveryFilter
	lists := map[string]filter{}
	for whose, id := range map[string]string{"all": "", "crowd": partner, "few": few} {
		for _, status := range []string{"", "pending", "retrying", "delivered", "held", "dead", "discarded"} {
			f := filter{PartnerID: id}
			if status != "" {
				f.Statuses = []string{status}
			}
			lists[whose+" "+status] = f
		}
		lists[whose+" rejected"] = filter{PartnerID: id, Statuses: []string{"held"}, Reasons: []string{"rejected", "request", "unexpected"}}
		lists[whose+" troubled"] = filter{PartnerID: id, Statuses: []string{"retrying", "held", "dead"}}
		lists[whose+" open"] = filter{PartnerID: id, Statuses: []string{"pending", "retrying"}}
		lists[whose+" reason"] = filter{PartnerID: id, Reason: "attempts"}
		lists[whose+" type"] = filter{PartnerID: id, EventType: "nl.type.3"}
		lists[whose+" no type"] = filter{PartnerID: id, EventType: "nl.none"}
		lists[whose+" dead type"] = filter{PartnerID: id, Statuses: []string{"dead"}, EventType: "nl.none"}
		lists[whose+" dead reason"] = filter{PartnerID: id, Statuses: []string{"dead"}, Reason: "gone"}
	}
	return lists
}

// BenchmarkCrowd reads one page of each list, and its count, with 100,000 deliveries of each state of one partner.
func BenchmarkCrowd(b *testing.B) {
	eachBench(b, func(b *testing.B, w *world) {
		few := w.crowd(100_000)
		for name, f := range crowdLists(w.partner.ID, few.ID) {
			f.Page = store.Page{Number: 1, Size: 25}
			b.Run(name, func(b *testing.B) {
				for b.Loop() {
					if _, err := w.db.DeliveryList(w.ctx, f); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N), "ms/page")
			})
		}
	})
}
