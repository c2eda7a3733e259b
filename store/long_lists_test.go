package store_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"schakel/store"
)

// Lists beside deliveries read no more than they show and count: no table from end to end, and none is collected and sorted.
func TestLongListsReadNoMoreThanTheyShow(t *testing.T) {
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
					total, err := list.read(tx)
					same(t, total, err, store.ListBound+1)
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
