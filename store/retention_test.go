package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"schakel/store"
	"schakel/store/needs"
)

// prune runs one kind of pruning to its end, in steps of at most limit rows, and returns how many rows went.
func (w *world) prune(step func(tx *store.Tx, cursor string) (store.Pruned, error), limit int) (rows int64) {
	w.t.Helper()
	var p store.Pruned
	for range 10_000 {
		w.write(func(tx *store.Tx) (err error) {
			p, err = step(tx, p.Cursor)
			return err
		})
		if p.Rows > int64(limit) {
			w.t.Fatalf("one step removed %d rows, more than %d", p.Rows, limit)
		}
		if rows += p.Rows; p.Done {
			return rows
		}
	}
	w.t.Fatal("pruning does not come to an end")
	return rows
}

func (w *world) pruneEvents(before store.Time, limit int) int64 {
	w.t.Helper()
	return w.prune(func(tx *store.Tx, cursor string) (store.Pruned, error) {
		return tx.PruneEvents(w.ctx, before, cursor, limit)
	}, limit)
}

// past is one event of a history, as the test remembers it.
type past struct {
	event    store.Event
	accepted store.Time
	statuses []string
	changed  []store.Time
}

// needed reports whether the event must be there still, after everything before the moment was pruned.
func (p *past) needed(before store.Time) bool {
	if !p.accepted.Before(before.Time) {
		return true
	}
	for i, status := range p.statuses {
		closed := status == store.DeliveryDelivered || status == store.DeliveryDiscarded
		if !closed || !p.changed[i].Before(before.Time) {
			return true
		}
	}
	return false
}

var allStatuses = []string{
	store.DeliveryPending, store.DeliveryRetrying, store.DeliveryDelivered, store.DeliveryDelivered, store.DeliveryDelivered,
	store.DeliveryHeld, store.DeliveryDead, store.DeliveryDiscarded,
}

// accept adds an event with up to four deliveries in any state, and attempts.
func (w *world) accept(r *rand.Rand) *past {
	p := &past{accepted: w.now()}
	w.write(func(tx *store.Tx) error {
		p.event = w.event(tx.NewID("evt"))
		if _, err := tx.InsertEvents(w.ctx, []store.Event{p.event}); err != nil {
			return err
		}
		for range r.IntN(5) {
			d := delivery(tx.NewID("dlv"), p.event.ID, w.subscription, tx.Now)
			d.Status = allStatuses[r.IntN(len(allStatuses))]
			p.statuses, p.changed = append(p.statuses, d.Status), append(p.changed, tx.Now)
			if err := tx.InsertDeliveries(w.ctx, []store.Delivery{d}); err != nil {
				return err
			}
			for n := range r.IntN(4) {
				a := store.Attempt{DeliveryID: d.ID, Number: int64(n), StartedAt: tx.Now, ResponseBody: []byte("body")}
				if err := tx.InsertAttempts(w.ctx, []store.Attempt{a}); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return p
}

// change gives one delivery of the event another state now.
func (w *world) change(p *past, r *rand.Rand) {
	deliveries, err := w.db.DeliveriesOf(w.ctx, p.event.ID)
	if err != nil || len(deliveries) != len(p.statuses) {
		w.t.Fatalf("event %s has %d deliveries, want %d: %v", p.event.ID, len(deliveries), len(p.statuses), err)
	}
	if len(deliveries) == 0 {
		return
	}
	slices.SortFunc(deliveries, func(a, b store.Delivery) int { return strings.Compare(a.ID, b.ID) })
	i := r.IntN(len(deliveries))
	p.statuses[i], p.changed[i] = allStatuses[r.IntN(len(allStatuses))], w.now()
	w.write(func(tx *store.Tx) error {
		_, err := tx.Raw().ExecContext(w.ctx, tx.Raw().Rebind(`UPDATE delivery SET status = ?, updated_at = ? WHERE id = ?`),
			p.statuses[i], w.now(), deliveries[i].ID)
		return err
	})
}

// A random history, pruned at random moments, never loses an event that is open, dead or young, nor any of its deliveries;
// a young event sent again is still known; and what is over goes, whole.
func TestPruneRandomHistory(t *testing.T) {
	needs.Unraced(t)
	each(t, func(t *testing.T, w *world) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		r := rand.New(rand.NewPCG(seed, 1))
		keep := 30 * 24 * time.Hour
		var history []*past
		for range 60 {
			for range 1 + r.IntN(4) {
				history = append(history, w.accept(r))
			}
			w.clock.Advance(time.Duration(r.IntN(72)) * time.Hour)
			w.change(history[r.IntN(len(history))], r)
			if r.IntN(3) == 0 {
				history = w.pruneAndJudge(history, store.At(w.clock.Now().Add(-keep)), 1+r.IntN(40))
			}
		}
	})
}

// pruneAndJudge prunes and compares what is left with what must be. It returns the history that is left.
func (w *world) pruneAndJudge(history []*past, before store.Time, limit int) (left []*past) {
	w.pruneEvents(before, limit)
	for _, p := range history {
		deliveries, err := w.db.DeliveriesOf(w.ctx, p.event.ID)
		same(w.t, err, nil, nil)
		if !p.needed(before) {
			if _, err := w.db.Event(w.ctx, p.event.ID); err == nil || len(deliveries) > 0 {
				w.t.Fatalf("event of %v, %v, is still there", p.accepted, p.statuses)
			}
			continue
		}
		left = append(left, p)
		if len(deliveries) != len(p.statuses) {
			w.t.Fatalf("event of %v has %d deliveries left of %v", p.accepted, len(deliveries), p.statuses)
		}
		w.write(func(tx *store.Tx) error {
			again := p.event
			again.ID = tx.NewID("evt")
			fresh, err := tx.InsertEvents(w.ctx, []store.Event{again})
			if len(fresh) > 0 {
				w.t.Fatalf("event of %v, sent again, was taken for a new one", p.accepted)
			}
			return err
		})
	}
	w.noOrphans()
	return left
}

// noOrphans checks that no delivery is without its event, and no attempt without its delivery.
func (w *world) noOrphans() {
	w.t.Helper()
	read, _ := w.db.Pools()
	var n int
	err := read.Get(&n, `SELECT (SELECT COUNT(*) FROM delivery d WHERE NOT EXISTS (SELECT 1 FROM event e WHERE e.id = d.event_id))
		+ (SELECT COUNT(*) FROM attempt a WHERE NOT EXISTS (SELECT 1 FROM delivery d WHERE d.id = a.delivery_id))`)
	same(w.t, n, err, 0)
}

// One event with many deliveries and attempts goes in steps of the limit too.
func TestPruneWideEvent(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		e := w.newEvents(1)[0]
		w.write(func(tx *store.Tx) error {
			var deliveries []store.Delivery
			var attempts []store.Attempt
			for range 120 {
				d := delivery(tx.NewID("dlv"), e.ID, w.subscription, tx.Now)
				d.Status = store.DeliveryDelivered
				deliveries = append(deliveries, d)
				for n := range 3 {
					attempts = append(attempts, store.Attempt{DeliveryID: d.ID, Number: int64(n), StartedAt: tx.Now})
				}
			}
			if err := tx.InsertDeliveries(w.ctx, deliveries); err != nil {
				return err
			}
			return tx.InsertAttempts(w.ctx, attempts)
		})
		w.clock.Advance(time.Hour)
		same(t, w.pruneEvents(w.now(), 50), nil, int64(1+120+360))
		w.noOrphans()
	})
}

func TestPruneAttemptBodies(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ids := w.newDeliveries(w.subscription, 4)
		for i, status := range []string{store.DeliveryDelivered, store.DeliveryDiscarded, store.DeliveryDead, store.DeliveryPending} {
			w.write(func(tx *store.Tx) error {
				_, err := tx.Raw().ExecContext(w.ctx, tx.Raw().Rebind(`UPDATE delivery SET status = ? WHERE id = ?`), status, ids[i])
				return err
			})
		}
		attempt := func(n int64) {
			w.write(func(tx *store.Tx) error {
				for _, id := range ids {
					a := store.Attempt{DeliveryID: id, Number: n, StartedAt: tx.Now, ResponseBody: []byte("body")}
					if err := tx.InsertAttempts(w.ctx, []store.Attempt{a}); err != nil {
						return err
					}
				}
				return nil
			})
		}
		attempt(1)
		before := w.in(time.Hour)
		w.clock.Advance(2 * time.Hour)
		attempt(2)
		step := func(tx *store.Tx, cursor string) (store.Pruned, error) {
			return tx.PruneAttemptBodies(w.ctx, before, cursor, 3)
		}
		same(t, w.prune(step, 3), nil, int64(2))
		for i, want := range []string{"[ body]", "[ body]", "[body body]", "[body body]"} {
			attempts, err := w.db.Attempts(w.ctx, ids[i])
			var bodies []string
			for _, a := range attempts {
				bodies = append(bodies, string(a.ResponseBody))
			}
			same(t, fmt.Sprint(bodies), err, want)
		}
	})
}

func TestPruneAuditAndMails(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		add := func() {
			w.write(func(tx *store.Tx) error {
				if err := tx.InsertAudit(w.ctx, store.Audit{ActorKind: "system", Action: "x"}); err != nil {
					return err
				}
				for _, status := range []string{store.MailPending, store.MailSent, store.MailFailed} {
					m := store.Mail{Recipient: "a@example.nl"}
					if err := tx.InsertMail(w.ctx, &m); err != nil {
						return err
					}
					m.Status = status
					if err := tx.UpdateMail(w.ctx, &m); err != nil {
						return err
					}
				}
				return nil
			})
		}
		for range 3 {
			add()
		}
		w.clock.Advance(time.Hour)
		before := w.now()
		add()
		same(t, w.prune(func(tx *store.Tx, c string) (store.Pruned, error) { return tx.PruneAudit(w.ctx, before, c, 2) }, 2), nil, 3)
		same(t, w.prune(func(tx *store.Tx, c string) (store.Pruned, error) { return tx.PruneMails(w.ctx, before, c, 2) }, 2), nil, 6)
		_, audits, err := w.db.Audits(w.ctx, store.AuditFilter{})
		same(t, audits, err, 1)
		_, mails, err := w.db.Mails(w.ctx, store.Page{})
		same(t, mails, err, 3+3)
	})
}

// Rules: E2.
func TestPruneExpired(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		soon, later := w.in(time.Hour), w.in(3*time.Hour)
		for i, expires := range []store.Time{soon, soon, later} {
			name := fmt.Sprint(i)
			same(t, w.db.SessionSave(w.ctx, []byte(name), []byte("x"), expires.Time), nil, nil)
			_, err := w.db.UseOnce(w.ctx, name, expires.Time)
			same(t, err, nil, nil)
			w.write(func(tx *store.Tx) error {
				if err := tx.InsertLink(w.ctx, []byte(name), "reset", name, expires); err != nil {
					return err
				}
				_, err := tx.InsertKeys(w.ctx, []store.IdempotencyKey{{
					ClientID: w.client.ID, Operation: "x", Key: name, Fingerprint: []byte{1}, ResponseBody: []byte{1}, CreatedAt: tx.Now, ExpiresAt: expires,
				}})
				return err
			})
		}
		w.write(func(tx *store.Tx) error { return tx.SaveThrottle(w.ctx, store.Throttle{Bucket: "a", Failures: 3}) })
		expired := func(tx *store.Tx, c string) (store.Pruned, error) { return tx.PruneExpired(w.ctx, tx.Now, c, 3) }
		same(t, w.prune(expired, 3), nil, 0)
		w.clock.Advance(time.Hour)
		same(t, w.prune(expired, 3), nil, 8)
		w.clock.Advance(31 * 24 * time.Hour)
		same(t, w.prune(expired, 3), nil, 5)
	})
}

// Pruning finds its rows by an index that is there anyway: it costs intake nothing.
func TestPrunePlans(t *testing.T) {
	steps := map[string]func(w *world, tx *store.Tx) (store.Pruned, error){
		"events": func(w *world, tx *store.Tx) (store.Pruned, error) {
			return tx.PruneEvents(w.ctx, w.in(time.Hour), "", 500)
		},
		"bodies": func(w *world, tx *store.Tx) (store.Pruned, error) {
			return tx.PruneAttemptBodies(w.ctx, w.in(time.Hour), "", 500)
		},
		"audit": func(w *world, tx *store.Tx) (store.Pruned, error) {
			return tx.PruneAudit(w.ctx, w.in(time.Hour), "", 500)
		},
		"mails": func(w *world, tx *store.Tx) (store.Pruned, error) {
			return tx.PruneMails(w.ctx, w.in(time.Hour), "", 500)
		},
		"expired": func(w *world, tx *store.Tx) (store.Pruned, error) { return tx.PruneExpired(w.ctx, w.now(), "", 500) },
	}
	each(t, func(t *testing.T, w *world) {
		w.write(func(tx *store.Tx) error {
			d := delivery(tx.NewID("dlv"), w.newEventIn(tx), w.subscription, tx.Now)
			d.Status = store.DeliveryDelivered
			if err := tx.InsertDeliveries(w.ctx, []store.Delivery{d}); err != nil {
				return err
			}
			return tx.InsertAttempts(w.ctx, []store.Attempt{{DeliveryID: d.ID, StartedAt: tx.Now}})
		})
		w.clock.Advance(time.Minute)
		for name, step := range steps {
			t.Run(name, func(t *testing.T) {
				w.fails(errStop, func(tx *store.Tx) error {
					recorder := tx.Record()
					if _, err := step(w, tx); err != nil {
						return err
					}
					plan := w.plan(tx, recorder.Statements)
					for _, table := range []string{"event", "delivery", "attempt", "audit", "idempotency_key"} {
						if strings.Contains(plan, "SCAN "+table+"\n") || strings.Contains(plan, "Seq Scan on "+table+"\n") {
							t.Errorf("reads %s from end to end:\n%s", table, plan)
						}
					}
					return errStop
				})
			})
		}
	})
}

func (w *world) newEventIn(tx *store.Tx) string {
	e := w.event(tx.NewID("evt"))
	if _, err := tx.InsertEvents(w.ctx, []store.Event{e}); err != nil {
		w.t.Fatal(err)
	}
	return e.ID
}
