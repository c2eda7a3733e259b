package store_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"schakel/store"
	"schakel/store/needs"
)

// Lists beside deliveries read no more than they show and count: no table from end to end, and none is collected and sorted.
func TestLongListsReadNoMoreThanTheyShow(t *testing.T) {
	needs.Unraced(t)
	each(t, func(t *testing.T, w *world) {
		const rows = 40_000
		w.fillLists(rows)
		page := store.Page{Number: 1, Size: 25}
		message := func(f store.AMQPFilter) func(tx *store.Tx) (int, error) {
			f.Page = page
			return func(tx *store.Tx) (int, error) {
				_, total, err := tx.AMQPMessages(w.ctx, f)
				return total, err
			}
		}
		audits := func(f store.AuditFilter) func(tx *store.Tx) (int, error) {
			f.Page = page
			return func(tx *store.Tx) (int, error) {
				_, total, err := tx.Audits(w.ctx, f)
				return total, err
			}
		}
		for name, list := range map[string]struct {
			table string
			read  func(tx *store.Tx) (int, error)
		}{
			"attention":   {"amqp_message", message(store.AMQPFilter{Attention: true})},
			"quarantined": {"amqp_message", message(store.AMQPFilter{Statuses: []string{store.AMQPQuarantined}})},
			"matched":     {"amqp_message", message(store.AMQPFilter{Statuses: []string{store.AMQPMatched}})},
			"messages":    {"amqp_message", message(store.AMQPFilter{})},
			"audit":       {"audit", audits(store.AuditFilter{})},
			"by action":   {"audit", audits(store.AuditFilter{Action: "some.act"})},
			"by actor":    {"audit", audits(store.AuditFilter{ActorID: "acc_1"})},
			"by partner":  {"audit", audits(store.AuditFilter{PartnerID: "ptn_1"})},
			"mails":       {"mail", func(tx *store.Tx) (int, error) { _, total, err := tx.Mails(w.ctx, page); return total, err }},
			"quarantine": {"quarantine", func(tx *store.Tx) (int, error) {
				_, total, err := tx.Quarantines(w.ctx, store.QuarantineFilter{Page: page})
				return total, err
			}},
			"open": {"quarantine", func(tx *store.Tx) (int, error) {
				_, total, err := tx.Quarantines(w.ctx, store.QuarantineFilter{Status: store.QuarantineOpen, Page: page})
				return total, err
			}},
			"badge": {"quarantine", func(tx *store.Tx) (int, error) { return tx.CountQuarantined(w.ctx) }},
		} {
			t.Run(name, func(t *testing.T) {
				w.fails(errStop, func(tx *store.Tx) error {
					recorder := tx.Record()
					gives(t, store.ListBound+1)(list.read(tx))
					statements := recorder.Statements
					if w.db.Dialect() == store.SQLite {
						plan := w.plan(tx, statements)
						// A page of a list in several parts is merged from the ids of these parts.
						sorted := regexp.MustCompile(`(?:SCAN|SEARCH) ` + list.table + `\b.*\n.*TEMP B-TREE`)
						if name != "attention" && sorted.MatchString(plan) {
							t.Errorf("collected and sorted:\n%s", plan)
						}
					} else if read := w.scannedOf(tx, list.table, statements); read > 2*store.ListBound {
						t.Errorf("%d rows read:\n%s", read, w.plan(tx, statements))
					}
					return errStop
				})
			})
		}
	})
}

// fillLists fills the tables of long lists, so that the newest half of each is of another state than the oldest.
func (w *world) fillLists(n int) {
	w.t.Helper()
	series := `WITH RECURSIVE s (i) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT i + 1 FROM s WHERE i < ?)`
	id, blob := `printf('%015d', i)`, `x'7b7d'`
	if w.db.Dialect() == store.Postgres {
		series = `WITH s AS (SELECT i FROM generate_series(1, CAST(? AS BIGINT)) i)`
		id, blob = `lpad(i::text, 15, '0')`, `'\x7b7d'::bytea`
	}
	_, write := w.db.Pools()
	state := func(old, recent string) string {
		return fmt.Sprintf(`CASE WHEN i <= %d THEN '%s' ELSE '%s' END`, n/2, old, recent)
	}
	for _, insert := range []string{
		`INSERT INTO amqp_message (id, direction, kind, status, message_id, created_at, updated_at) ` + series +
			` SELECT 'amq_' || ` + id + `, 'out', 'business', ` + state("quarantined", "matched") + `, 'm' || i, i, i FROM s`,
		`INSERT INTO audit (id, at, actor_kind, actor_id, action, partner_id) ` + series +
			` SELECT 'aud_' || ` + id + `, i, 'account', ` + state("acc_1", "acc_2") + `, ` + state("some.act", "other.act") + `, ` + state("ptn_1", "ptn_2") + ` FROM s`,
		`INSERT INTO mail (id, recipient, subject, body, status, created_at) ` + series + ` SELECT 'mal_' || ` + id + `, 'a@example.nl', 's', 'b', 'sent', i FROM s`,
		`INSERT INTO quarantine (id, partner_id, client_id, idempotency_key, fingerprint, first_answer, release_key, status, events, created_at) ` + series +
			` SELECT 'qua_' || ` + id + `, 'ptn_1', 'cli_1', 'k' || i, ` + blob + `, ` + blob + `, 'r' || i, ` + state("open", "released") + `, 1, i FROM s`,
	} {
		_, err := write.ExecContext(w.ctx, write.Rebind(insert), n)
		noErr(w.t, err)
	}
	tables := []string{"amqp_message", "audit", "mail", "quarantine"}
	if w.db.Dialect() == store.SQLite {
		noErr(w.t, w.db.Optimize(w.ctx))
		return
	}
	for _, table := range tables { // as autovacuum does a while later
		_, err := write.ExecContext(w.ctx, `ANALYZE `+table)
		noErr(w.t, err)
	}
}

// scannedOf runs statements and adds up how many rows PostgreSQL read of a table.
func (w *world) scannedOf(tx *store.Tx, table string, statements []store.Statement) (n int) {
	w.t.Helper()
	scans := regexp.MustCompile(`Scan.* on ` + table + `\b.*actual rows=(\d+) loops=(\d+)|Rows Removed by Filter: (\d+)`)
	for _, s := range statements {
		var lines []string
		rows, err := tx.Raw().QueryxContext(w.ctx, `EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) `+s.Query, s.Args...) //nolint:sqlclosecheck // closed in the same round
		noErr(w.t, err)
		for rows.Next() {
			line, err := rows.SliceScan()
			noErr(w.t, err)
			lines = append(lines, fmt.Sprint(line[0]))
		}
		noErr(w.t, rows.Close())
		for _, m := range scans.FindAllStringSubmatch(strings.Join(lines, "\n"), -1) {
			n += atoi(m[1])*max(1, atoi(m[2])) + atoi(m[3])
		}
	}
	return n
}

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
