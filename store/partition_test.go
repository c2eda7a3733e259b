package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"schakel/store"
	"schakel/store/backup"
	"schakel/store/storetest"
)

const aDay = 24 * time.Hour

// onPostgres is a world whose tables are partitioned.
func onPostgres(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	clock := storetest.NewClock()
	return newWorld(t, storetest.Postgres(t, storetest.WithClock(clock)), clock)
}

func (w *world) makePartitions(span time.Duration) {
	w.t.Helper()
	w.write(func(tx *store.Tx) error { return tx.MakePartitions(w.ctx, span) })
}

// parts lists the partitions of a table with their numbers of rows.
func (w *world) parts(table string) (all []string) {
	w.t.Helper()
	read, _ := w.db.Pools()
	var names []string
	err := read.Select(&names, `SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
		WHERE i.inhparent = CAST($1 AS regclass) ORDER BY c.relname`, table)
	same(w.t, len(names) > 0, err, true)
	for _, name := range names {
		var n int
		same(w.t, 0, read.Get(&n, `SELECT COUNT(*) FROM `+name), 0)
		all = append(all, fmt.Sprintf("%s %d", strings.TrimPrefix(name, table+"_"), n))
	}
	return all
}

// Partitions are made for the days to come, once however often and by however many nodes; what came in before is moved.
func TestMakePartitions(t *testing.T) {
	w := onPostgres(t)
	w.newDeliveries(w.subscription, 3)
	for range 2 {
		w.makePartitions(aDay)
	}
	same(t, w.parts("event"), nil, []string{"20260314 3", "20260315 0", "20260316 0", "20260317 0", "default 0"})
	same(t, w.parts("delivery"), nil, w.parts("event"))
	w.clock.Advance(10 * aDay) // nothing made partitions meanwhile
	w.newDeliveries(w.subscription, 2)
	w.makePartitions(3 * aDay)
	same(t, w.parts("delivery"), nil, []string{"20260314 3", "20260315 0", "20260316 0", "20260317 0", "20260324 2", "20260327 0", "default 0"})
	for span, keep := range map[time.Duration]time.Duration{aDay: 30 * aDay, 2 * aDay: 41 * aDay, 92 * aDay: 0} {
		same(t, store.PartitionSpan(keep), nil, span)
	}
}

// The same event is one event, whatever days lie between (guarantee G4).
func TestOneEventOverManyDays(t *testing.T) {
	w := onPostgres(t)
	w.makePartitions(aDay)
	first := w.newEvents(1)[0]
	w.clock.Advance(2 * aDay)
	w.write(func(tx *store.Tx) error {
		again, other := first, first
		again.ID, other.ID, other.CEID = tx.NewID("evt"), tx.NewID("evt"), "other"
		gives(t, map[string]bool{other.ID: true})(tx.InsertEvents(w.ctx, []store.Event{again, other}))
		return nil
	})
	gives(t, first.ID)(w.db.EventIDByIdentity(w.ctx, first.ClientID, first.CESource, first.CEID))
	_, n, err := w.db.Events(w.ctx, store.EventFilter{CEID: first.CEID})
	same(t, n, err, 1)
}

// Days that are over go whole; what must stay of them stays, with all its deliveries and attempts, on whatever day they were.
func TestPruneDaysOfRandomHistory(t *testing.T) {
	w := onPostgres(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 3))
	var history []*past
	for range 12 {
		w.makePartitions(aDay)
		for range 12 {
			history = append(history, w.accept(r))
			if r.IntN(4) == 0 {
				w.change(history[r.IntN(len(history))], r)
			}
			if r.IntN(3) == 0 { // what a replay, or a late try, adds to an older event
				w.addLate(history[r.IntN(len(history))], r)
			}
			w.clock.Advance(time.Duration(r.IntN(5)) * time.Hour)
		}
		// The last days are young, and one that has begun to be old waits to be over.
		before := store.At(w.clock.Now().Add(-5 * aDay).Truncate(aDay))
		history = w.pruneAndJudge(history, before, 40)
		w.sameSenders()
	}
	for _, name := range w.parts("event") {
		if strings.HasPrefix(name, "20260314") {
			t.Errorf("the first day is still there: %v", w.parts("event"))
		}
	}
}

// addLate adds a delivery and an attempt now to an event of before.
func (w *world) addLate(p *past, r *rand.Rand) {
	w.write(func(tx *store.Tx) error {
		there, err := tx.LockEvents(w.ctx, []string{p.event.ID})
		if err != nil || !there[p.event.ID] {
			return err
		}
		d := delivery(tx.NewID("dlv"), p.event.ID, w.subscription, tx.Now)
		d.Status = allStatuses[r.IntN(len(allStatuses))]
		p.statuses, p.changed = append(p.statuses, d.Status), append(p.changed, tx.Now)
		if err := tx.InsertDeliveries(w.ctx, []store.Delivery{d}); err != nil {
			return err
		}
		all, err := tx.DeliveriesOf(w.ctx, p.event.ID)
		if err != nil {
			return err
		}
		return tx.InsertAttempts(w.ctx, []store.Attempt{{DeliveryID: all[r.IntN(len(all))].ID, Number: 9, StartedAt: tx.Now}})
	})
}

// sameSenders checks that the sender of every event is known, and no other.
func (w *world) sameSenders() {
	w.t.Helper()
	read, _ := w.db.Pools()
	var events, senders []string
	same(w.t, 0, errors.Join(read.Select(&events, `SELECT id FROM event`), read.Select(&senders, `SELECT event_id FROM event_identity`)), 0)
	slices.Sort(events)
	slices.Sort(senders)
	same(w.t, senders, nil, events)
}

// A day goes without its rows being looked at one by one, unless somebody reads it for long: then it goes another time.
func TestBusyDayIsLeft(t *testing.T) {
	w := onPostgres(t)
	w.days(1, 20)
	w.clock.Advance(10 * aDay)
	before := store.At(w.clock.Now().Add(-5 * aDay))
	_, write := w.db.Pools()
	reader, err := write.Beginx()
	same(t, 0, err, 0)
	var n int
	same(t, 0, reader.Get(&n, `SELECT COUNT(*) FROM delivery`), 0)
	w.write(func(tx *store.Tx) error {
		p, err := tx.PruneEvents(w.ctx, before, "", 500)
		same(t, p.Rows, err, 0)
		return nil
	})
	same(t, w.parts("event")[0], nil, "20260314 20")
	w.fails(store.ErrBusy, func(tx *store.Tx) error { return tx.MakePartitions(w.ctx, aDay) })
	same(t, 0, reader.Rollback(), 0)
	same(t, w.pruneEvents(before, 500), nil, 20) // who sent them
	same(t, w.parts("event"), nil, []string{"default 0"})
	w.noOrphans()
}

// Whoever got an object is told that it is gone, and not that it never was, after its day went.
func TestReadersOfADayAreRemembered(t *testing.T) {
	w := onPostgres(t)
	w.makePartitions(aDay)
	id := w.newDeliveries(w.subscription, 1)[0]
	w.write(func(tx *store.Tx) error {
		claimed, err := tx.Claim(w.ctx, w.endpoint.ID, "a", 1, w.in(time.Minute))
		if err != nil {
			return err
		}
		_, err = tx.Raw().ExecContext(w.ctx, `INSERT INTO object (id, owner_id, partner_id, client_id, size, digest, created_at) VALUES ('obj_1', $1, 'x', 'y', 1, '', 1)`,
			claimed[0].EventID)
		return errors.Join(err, tx.Complete(w.ctx, arrivals(claimed)))
	})
	w.clock.Advance(10 * aDay)
	w.pruneEvents(store.At(w.clock.Now().Add(-5*aDay)), 500)
	_, err := w.db.Delivery(w.ctx, id)
	missing(t)(id, err)
	read, _ := w.db.Pools()
	var reader string
	err = read.Get(&reader, `SELECT partner_id FROM object_reader WHERE object_id = 'obj_1'`)
	same(t, reader, err, w.partner.ID)
}

// What a released program wrote stays where it is, as the first partition, and goes when it is old like any other day.
func TestTablesOfBeforeBecomeAPartition(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClockAt(time.Now())
	db, err := store.Open(t.Context(), storetest.PostgresURL(t), store.Options{Now: clock.Now})
	same(t, 0, err, 0)
	t.Cleanup(func() { _ = db.Close() })
	same(t, 0, db.MigrateTo(t.Context(), 10), 0)
	read, write := db.Pools()
	for _, query := range []string{
		`INSERT INTO event (id, partner_id, client_id, ce_id, ce_source, ce_type, attributes, data_kind, accepted_at) SELECT $1 || n, 'p', 'c', 'id-' || n, 's', 't', '', 1, 1 FROM generate_series(100, 299) n`,
		`INSERT INTO delivery (id, event_id, subscription_id, endpoint_id, partner_id, event_type, status, idempotency_key, key_expires_at, created_at, updated_at)
			SELECT replace($1, 'evt', 'dlv') || n, $1 || n, 's', 'e', 'p', 't', CASE WHEN n = 150 THEN 'dead' ELSE 'delivered' END, 'k', 1, 1, 1 FROM generate_series(100, 299) n`,
		`INSERT INTO attempt (id, delivery_id, number, started_at, duration_us) SELECT replace($1, 'evt', 'att') || n, replace($1, 'evt', 'dlv') || n, 1, 1, 1 FROM generate_series(100, 299) n`,
	} {
		_, err := write.Exec(query, store.IDAt("evt", clock.Now())[:27])
		same(t, 0, err, 0)
	}
	same(t, 0, db.Migrate(t.Context()), 0)
	w := newWorld(t, db, clock)
	w.makePartitions(aDay)
	same(t, w.parts("event")[0], nil, clock.Advance(aDay).UTC().Format("20060102")+" 0")
	same(t, w.parts("attempt")[3:], nil, []string{"before 200", "default 0"})
	w.write(func(tx *store.Tx) error {
		again := w.event(tx.NewID("evt"))
		again.ClientID, again.CESource, again.CEID = "c", "s", "id-120"
		fresh, err := tx.InsertEvents(w.ctx, []store.Event{again})
		same(t, len(fresh), err, 0)
		return nil
	})
	clock.Advance(10 * aDay)
	same(t, w.pruneEvents(store.At(clock.Now().Add(-5*aDay)), 500), nil, 199) // who sent them
	same(t, w.parts("attempt"), nil, []string{"default 1"})
	var dead string
	err = read.Get(&dead, `SELECT d.status FROM event e JOIN delivery d ON d.event_id = e.id JOIN attempt a ON a.delivery_id = d.id`)
	same(t, dead, err, "dead")
	w.sameSenders()
}

// What is restored into PostgreSQL is known by its senders, and days can follow it.
func TestRestoredEventsAreKnown(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	from := newWorld(t, storetest.SQLite(t, storetest.WithClock(clock)), clock)
	sent := from.newEvents(1)[0]
	file := backupOf(t, from.db)
	b, err := backup.Open(t.Context(), bytes.NewReader(file), int64(len(file)))
	same(t, 0, err, 0)
	url := storetest.PostgresURL(t)
	same(t, 0, b.Restore(t.Context(), url, store.Options{}), 0)
	db, err := store.Open(t.Context(), url, store.Options{Now: clock.Now})
	same(t, 0, err, 0)
	t.Cleanup(func() { _ = db.Close() })
	w := &world{t: t, ctx: t.Context(), db: db, clock: clock}
	w.makePartitions(aDay)
	same(t, w.parts("event"), nil, []string{"20260315 0", "20260316 0", "20260317 0", "before 1", "default 0"})
	w.write(func(tx *store.Tx) error {
		sent.ID = tx.NewID("evt")
		fresh, err := tx.InsertEvents(w.ctx, []store.Event{sent})
		same(t, len(fresh), err, 0)
		return nil
	})
	w.sameSenders()
}

// What is asked by id, as all that happens for every event is, looks into the one partition that the id tells.
func TestOnePartitionIsRead(t *testing.T) {
	w := onPostgres(t)
	w.days(6, 2)
	id := w.newDeliveries(w.subscription, 1)[0]
	d, err := w.db.Delivery(w.ctx, id)
	same(t, 0, err, 0)
	lease := store.Lease{DeliveryID: id, Owner: "a"}
	for name, run := range map[string]func(tx *store.Tx) error{
		"event":     func(tx *store.Tx) error { _, err := tx.Event(w.ctx, d.EventID); return err },
		"delivery":  func(tx *store.Tx) error { _, err := tx.Delivery(w.ctx, id); return err },
		"may start": func(tx *store.Tx) error { _, err := tx.MayStart(w.ctx, lease, lease.DeliveryID); return err },
		"give back": func(tx *store.Tx) error { return tx.Unclaim(w.ctx, []store.Lease{lease}) },
		"complete": func(tx *store.Tx) error {
			return tx.Complete(w.ctx, []store.Outcome{{Lease: lease, Delivery: store.Delivery{ID: id, Status: store.DeliveryDead}, Attempt: store.Attempt{DeliveryID: id, StartedAt: tx.Now}}})
		},
	} {
		w.fails(errStop, func(tx *store.Tx) error {
			recorder := tx.Record()
			if err := run(tx); err != nil {
				return err
			}
			for _, s := range recorder.Statements {
				plan := strings.Join(w.explain(tx, `EXPLAIN (COSTS OFF) `+s.Query, s.Args), "\n")
				for _, other := range []string{"_202603[0-9]+", "default"} {
					if parts := regexp.MustCompile(`on (event|delivery)_`+other).FindAllString(plan, -1); len(parts) > 2 || other == "default" && len(parts) > 0 {
						t.Errorf("%s reads %v:\n%s", name, parts, plan)
					}
				}
			}
			return errStop
		})
	}
}
