package store_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"schakel/store"
	"schakel/store/needs"
	"schakel/store/storetest"
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
	needs.Unraced(t)
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
					gives(t, l.Total)(tx.CountListed(w.ctx, f))
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
		gives(t, []string{"attempts", "endpoint-suspended", "gone", "rejected", "server-error"})(w.db.DeliveryReasons(w.ctx, "", "retrying", "held", "dead", "discarded"))
		gives(t, []string{"gone"})(w.db.DeliveryReasons(w.ctx, few.ID, "dead"))
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

// The queries of the engine that run all the time, and the index each must use. None may read the delivery table from
// end to end: it holds everything that was ever delivered.
var hotQueries = map[string]planned{
	"claim": {"delivery_due", func(w *world, tx *store.Tx) error {
		_, err := tx.Claim(w.ctx, w.endpoint.ID, "a", 10, w.now())
		return err
	}},
	"claim in order": {"behind", func(w *world, tx *store.Tx) error {
		_, err := tx.Claim(w.ctx, w.endpoint.ID, "a", 10, w.now())
		return err
	}},
	"claim behind": {"delivery_order", func(w *world, tx *store.Tx) error {
		head := store.Delivery{ID: "dlv_0", SubscriptionID: w.subscription.ID, OrderKey: "a"}
		_, err := tx.ClaimBehind(w.ctx, []store.Claimed{{Delivery: head}}, "a", 10, 10, w.now())
		return err
	}},
	"next expiry":    {"delivery_expires", func(w *world, tx *store.Tx) error { _, err := tx.NextExpiry(w.ctx); return err }},
	"expired events": {"delivery_expires", func(w *world, tx *store.Tx) error { _, err := tx.ExpireEvents(w.ctx, 10); return err }},
	"pull":           {"delivery_subscription", pullOnce},
	"pull due":       {"delivery_subscription", func(w *world, tx *store.Tx) error { _, err := tx.PullDue(w.ctx, w.subscription.ID); return err }},
	"pull expire":    {"delivery_leased", func(w *world, tx *store.Tx) error { _, err := tx.PullExpire(w.ctx, 3, 10); return err }},
	"next due":       {"delivery_due", func(w *world, tx *store.Tx) error { _, err := tx.NextDue(w.ctx, w.endpoint.ID, "a"); return err }},
	"hold stopped":   {"delivery_subscription", func(w *world, tx *store.Tx) error { _, err := tx.HoldStopped(w.ctx, 10); return err }},
	"release held":   {"delivery_", func(w *world, tx *store.Tx) error { _, err := tx.ReleaseHeld(w.ctx, 10); return err }},
	"backlogs":       {"delivery_", func(w *world, tx *store.Tx) error { _, err := tx.Backlogs(w.ctx); return err }},
	"free leases":    {"delivery_", func(w *world, tx *store.Tx) error { _, err := tx.FreeLeases(w.ctx, "a"); return err }},
	"due mails":      {"mail_due", func(w *world, tx *store.Tx) error { _, err := tx.ClaimMails(w.ctx, 10, w.now()); return err }},
	"dead letters":   {"delivery_", deadLetters},
	"discarded":      {"delivery_", deliveryPage(store.DeliveryFilter{Statuses: []string{store.DeliveryDiscarded}})},
	"of a replay":    {"delivery_replay", deliveryPage(store.DeliveryFilter{ReplayOf: "rsd_1"})},
	"of a partner":   {"delivery_partner", deliveryPage(store.DeliveryFilter{PartnerID: "ptn_1"})},
	// The owner of an endpoint or a subscription is found first, and its deliveries by that.
	"of an endpoint": {"delivery_partner", func(w *world, tx *store.Tx) error {
		return deliveryPage(store.DeliveryFilter{EndpointID: w.endpoint.ID})(w, tx)
	}},
	"of a subscription": {"delivery_partner", func(w *world, tx *store.Tx) error {
		return deliveryPage(store.DeliveryFilter{SubscriptionID: w.subscription.ID})(w, tx)
	}},
	"failed since":    {"delivery_", deliveryPage(store.DeliveryFilter{Statuses: []string{store.DeliveryHeld, store.DeliveryDead}, From: store.At(time.UnixMicro(1))})},
	"replays waiting": {"delivery_replay_open", func(w *world, tx *store.Tx) error { _, err := tx.ReplaysWaiting(w.ctx, w.endpoint.ID); return err }},
	"what it got": {"delivery_event", func(w *world, tx *store.Tx) error {
		_, err := tx.DeliveriesFor(w.ctx, "sub_1", []string{"evt_1", "evt_2"})
		return err
	}},
	"event's": {"delivery_event", func(w *world, tx *store.Tx) error { _, err := tx.DeliveriesOf(w.ctx, "evt_1"); return err }},
	"by CloudEvent": {"event_identity", func(w *world, tx *store.Tx) error {
		_, err := tx.CountDeliveries(w.ctx, store.DeliveryFilter{CEID: "x"})
		return err
	}},
	"by correlation":      {"event_correlation", deliveryPage(store.DeliveryFilter{CEID: "x"})},
	"by MsgId":            {"amqp_message_msg", deliveryPage(store.DeliveryFilter{CEID: "x"})},
	"by correlationId":    {"amqp_message_correlation", deliveryPage(store.DeliveryFilter{CEID: "x"})},
	"of event":            {"delivery_event", deliveryPage(store.DeliveryFilter{CEID: "x"})},
	"issues of event":     {"delivery_event", issuePage(store.IssueFilter{Named: "x"})},
	"issues of a subject": {"event_subject", issuePage(store.IssueFilter{Subject: "x"})},
	"events": {"event_correlation", func(w *world, tx *store.Tx) error {
		_, _, err := tx.Events(w.ctx, store.EventFilter{CEID: "x"})
		return err
	}},
}

func deadLetters(w *world, tx *store.Tx) error {
	_, _, err := tx.Deliveries(w.ctx, store.DeliveryFilter{Statuses: []string{store.DeliveryDead}, Page: store.Page{Number: 1, Size: 50}})
	return err
}

func issuePage(f store.IssueFilter) func(w *world, tx *store.Tx) error {
	f.Page = store.Page{Number: 1, Size: 25}
	return func(w *world, tx *store.Tx) error { _, _, err := tx.Issues(w.ctx, f); return err }
}

// deliveryPage reads the first page of a filtered list, with its count.
func deliveryPage(f store.DeliveryFilter) func(w *world, tx *store.Tx) error {
	f.Page = store.Page{Number: 1, Size: 25}
	return func(w *world, tx *store.Tx) error { _, _, err := tx.Deliveries(w.ctx, f); return err }
}

func pullOnce(w *world, tx *store.Tx) error {
	if _, err := tx.Raw().ExecContext(w.ctx, `UPDATE endpoint SET kind = 'pull'`); err != nil {
		return err
	}
	_, err := tx.PullClaim(w.ctx, store.PullClaim{SubscriptionID: w.subscription.ID, LockID: "lck_1", Limit: 10, Lease: w.now(), MaxReceives: 3})
	return err
}

// planned is a query and the index that it must use.
type planned struct {
	index string
	run   func(w *world, tx *store.Tx) error
}

// usesIndexes fails for a query whose plan has not its index, or a table read from end to end.
func usesIndexes(t *testing.T, w *world, queries map[string]planned, whole *regexp.Regexp) {
	t.Helper()
	for name, q := range queries {
		t.Run(name, func(t *testing.T) {
			var plan string
			w.fails(errStop, func(tx *store.Tx) error {
				recorder := tx.Record()
				if err := q.run(w, tx); err != nil {
					return err
				}
				plan = w.plan(tx, recorder.Statements)
				return errStop
			})
			if !strings.Contains(plan, q.index) || whole.MatchString(plan) {
				t.Errorf("want index %s and no full scan:\n%s", q.index, plan)
			}
		})
	}
}

func TestPlans(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.newDeliveries(w.subscription, 3)
		usesIndexes(t, w, hotQueries, fullScan)
	})
}

// Of very many entries of the audit trail a page shows the newest of one object or of one kind, in the order of an index.
func TestAuditsAreFoundByTheirObject(t *testing.T) {
	newest := func(f store.AuditFilter) func(w *world, tx *store.Tx) error {
		return func(w *world, tx *store.Tx) error { _, err := tx.NewestAudits(w.ctx, f, 10); return err }
	}
	t.Parallel()
	clock := storetest.NewClock()
	usesIndexes(t, newWorld(t, storetest.SQLite(t, storetest.WithClock(clock)), clock), map[string]planned{
		"one object": {"audit_object", newest(store.AuditFilter{ObjectID: "acc_1"})},
		"one kind":   {"audit_kind", newest(store.AuditFilter{ObjectKind: "setting"})},
		"a partner":  {"audit_partner", newest(store.AuditFilter{PartnerID: "ptn_1"})},
	}, regexp.MustCompile(`SCAN|TEMP B-TREE`))
}

// fullScan finds a table read from end to end in the plans of either database. A scan of a partial index is none.
var fullScan = regexp.MustCompile(`SCAN (d|delivery|event|amqp_message)(\n|$)|Seq Scan on (delivery|mail|event|amqp_message)|SCAN (d|delivery) USING (COVERING )?INDEX (sqlite_auto|delivery_partner|delivery_event)`)

// plan explains statements as the database would run them.
func (w *world) plan(tx *store.Tx, statements []store.Statement) string {
	explain := `EXPLAIN QUERY PLAN `
	if w.db.Dialect() == store.Postgres {
		explain = `EXPLAIN (COSTS OFF) `
	}
	var plan strings.Builder
	for _, s := range statements {
		for _, line := range w.explain(tx, explain+s.Query, s.Args) {
			fmt.Fprintln(&plan, line)
		}
	}
	return w.withoutPartitions(plan.String())
}

var aliased = regexp.MustCompile(`\b(event|delivery|attempt) (event|delivery|attempt)(_\d+)?\b`)

// withoutPartitions gives the partitions in a plan, and their indexes, the names of what they are parts of.
func (w *world) withoutPartitions(plan string) string {
	w.t.Helper()
	if w.db.Dialect() != store.Postgres {
		return plan
	}
	read, _ := w.db.Pools()
	var pairs []struct{ Child, Parent string }
	err := read.Select(&pairs, `SELECT c.relname AS child, p.relname AS parent FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
		JOIN pg_class p ON p.oid = i.inhparent ORDER BY length(c.relname) DESC`)
	same(w.t, len(pairs) > 0, err, true)
	for _, p := range pairs {
		plan = strings.ReplaceAll(plan, p.Child, p.Parent)
	}
	return aliased.ReplaceAllString(plan, "$1")
}

func (w *world) explain(tx *store.Tx, query string, args []any) (lines []string) {
	w.t.Helper()
	if w.db.Dialect() == store.Postgres {
		// With three rows PostgreSQL reads a table whole; what matters is that it has a better way.
		if _, err := tx.Raw().ExecContext(w.ctx, `SET LOCAL enable_seqscan = off`); err != nil {
			w.t.Fatal(err)
		}
	}
	if lines, known, err := tx.Explain(w.ctx, query, args); known {
		same(w.t, 0, err, 0)
		return lines
	}
	rows, err := tx.Raw().QueryxContext(w.ctx, query, args...) //nolint:sqlclosecheck // it is; sqlx is not known
	noErr(w.t, err)
	defer rows.Close()
	for rows.Next() {
		values, err := rows.SliceScan()
		noErr(w.t, err)
		lines = append(lines, fmt.Sprint(values[len(values)-1]))
	}
	return lines
}
