package store_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"schakel/store"
)

// Without statistics the planner reads whole tables, so the program makes them, and renews those that changes made old.
func TestOptimizeMakesStatistics(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.million(5000)
		read, _ := w.db.Pools()
		query := `SELECT COALESCE(MAX(CAST(stat AS INTEGER)), 0) FROM sqlite_stat1 WHERE tbl = 'delivery' AND stat NOT LIKE '0%'`
		if w.db.Dialect() == store.Postgres {
			query = `SELECT COALESCE(MAX(reltuples), 0)::bigint FROM pg_class WHERE relname LIKE 'delivery\_%' AND relkind = 'r' AND relname <> 'delivery_batch'`
		}
		noErr(t, w.db.Checkpoint(w.ctx))
		var before, after int64
		w.eventually(func() bool { // PostgreSQL counts changes a moment later
			noErr(t, w.db.Optimize(w.ctx))
			noErr(t, read.Get(&before, query))
			return before >= 5000
		})
		w.crowdBlock(w.in(1).Time, 60_000, w.partner.ID, "delivered", "")
		if w.db.Dialect() == store.Postgres {
			w.eventually(func() bool {
				noErr(t, w.db.Optimize(w.ctx))
				noErr(t, read.Get(&after, query))
				return after >= 60_000
			})
			return
		}
		noErr(t, w.db.Optimize(w.ctx))
		noErr(t, read.Get(&after, query))
		if after < 50_000 {
			t.Errorf("the planner knows of %d deliveries, want about 65000", after)
		}
	})
}

// Lists and counts with many deliveries: each part of a list is read in the order of an index, and none is collected and sorted.
func TestListsReadNoMoreThanTheyShow(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		const per = 12_000 // more than is counted
		few := w.crowd(per)
		for name, f := range crowdLists(w.partner.ID, few.ID) {
			f.Page = store.Page{Number: 1, Size: 25}
			t.Run(name, func(t *testing.T) {
				w.fails(errStop, func(tx *store.Tx) error {
					recorder := tx.Record()
					l, err := tx.DeliveryList(w.ctx, f)
					noErr(t, err)
					statements := recorder.Statements
					n, err := tx.CountListed(w.ctx, f)
					same(t, n, err, l.Total)
					most := 3 * store.ListBound
					if f.EventType != "" {
						most = 4 * store.SearchBound
					}
					if plan := w.plan(tx, statements); w.db.Dialect() == store.SQLite {
						wantIndexOrder(t, plan)
					} else if read := w.rowsScanned(tx, statements); read > most {
						t.Errorf("%d rows read:\n%s", read, plan)
					}
					return errStop
				})
			})
		}
	})
}

// wantIndexOrder wants every scan of deliveries to be in the order of its index: only the merged page is sorted.
func wantIndexOrder(t *testing.T, plan string) {
	t.Helper()
	if strings.Contains(plan, "SCAN p ") {
		return // what is read partner by partner is merged
	}
	lines := strings.Split(plan, "\n")
	for i, line := range lines {
		if strings.Contains(line, "delivery") && !strings.Contains(line, "INDEX") {
			t.Errorf("no index: %s\n%s", line, plan)
		}
		if strings.Contains(line, "delivery") && i+1 < len(lines) && strings.Contains(lines[i+1], "TEMP B-TREE") {
			t.Errorf("collected and sorted: %s\n%s", line, plan)
		}
	}
}

var actualRows = regexp.MustCompile(`Scan.* on delivery.*actual rows=(\d+) loops=(\d+)|Rows Removed by Filter: (\d+)`)

// rowsScanned runs statements and adds up how many rows PostgreSQL read of tables and indexes.
func (w *world) rowsScanned(tx *store.Tx, statements []store.Statement) (n int) {
	w.t.Helper()
	for _, s := range statements {
		rows, err := tx.Raw().QueryxContext(w.ctx, `EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) `+s.Query, s.Args...) //nolint:sqlclosecheck // closed in the same round
		noErr(w.t, err)
		for rows.Next() {
			line, err := rows.SliceScan()
			noErr(w.t, err)
			text, _ := line[0].(string)
			for _, m := range actualRows.FindAllStringSubmatch(text, -1) {
				n += atoi(m[1])*max(1, atoi(m[2])) + atoi(m[3])
			}
		}
		noErr(w.t, rows.Close())
	}
	return n
}

func atoi(s string) (n int) {
	for _, r := range s {
		n = n*10 + int(r-'0')
	}
	return n
}

// A list agrees with a plain look at all rows, page by page and behind page numbers.
func TestListsShowWhatThereIs(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		few := w.crowd(40)
		read, _ := w.db.Pools()
		for name, f := range crowdLists(w.partner.ID, few.ID) {
			var want []string
			query := `SELECT id FROM delivery WHERE (partner_id = ? OR ? = '') AND (reason = ? OR ? = '') AND (event_type = ? OR ? = '')`
			args := []any{f.PartnerID, f.PartnerID, f.Reason, f.Reason, f.EventType, f.EventType}
			for _, in := range [][]string{f.Statuses, f.Reasons} {
				column := map[bool]string{true: `status`, false: `reason`}[slices.Equal(in, f.Statuses)]
				if len(in) > 0 {
					query += ` AND ` + column + ` IN ('` + strings.Join(in, `', '`) + `')`
				}
			}
			noErr(t, read.Select(&want, read.Rebind(query+` ORDER BY id DESC`), args...))
			var got []string
			for page := 1; ; page++ {
				f.Page = store.Page{Number: page, Size: 7}
				l, err := w.db.DeliveryList(w.ctx, f)
				noErr(t, err)
				if l.Total != len(want) || l.Older != "" {
					t.Errorf("%s: total %d, want %d", name, l.Total, len(want))
				}
				for _, d := range l.Rows {
					got = append(got, d.ID)
				}
				if len(l.Rows) < 7 {
					break
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: got %v, want %v", name, got, want)
			}
			ids, err := w.db.DeliveryIDs(w.ctx, f, 10)
			slices.Reverse(want)
			same(t, slices.Equal(ids, want[:min(10, len(want))]), err, true)
			if len(want) > 3 {
				f.BeforeID, f.Page = want[3], store.Page{Number: 1, Size: 10}
				l, err := w.db.DeliveryList(w.ctx, f)
				same(t, [2]int{len(l.Rows), l.Total}, err, [2]int{3, 3})
			}
		}
		reasons, err := w.db.DeliveryReasons(w.ctx, "", "retrying", "held", "dead", "discarded")
		same(t, reasons, err, []string{"attempts", "endpoint-suspended", "gone", "rejected", "server-error"})
		reasons, err = w.db.DeliveryReasons(w.ctx, few.ID, "dead")
		same(t, reasons, err, []string{"gone"})
	})
}

// eventually waits up to a minute for a condition.
func (w *world) eventually(holds func() bool) {
	w.t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatal("it did not come about within a minute")
		}
	}
}
