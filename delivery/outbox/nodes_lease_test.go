package outbox

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"testing"
	"time"

	"schakel/store"
	"schakel/store/storetest"
)

// A node that hangs longer than its lease is not waited for: another sends the same event under the same id and key. What
// the first has to say later changes nothing that the second has done.
//
// Rules: EDU-09, IDEM-11.
func TestNodeThatHangsLongerThanItsLease(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]Result{
		"it failed":  {Status: store.DeliveryDead, Attempt: store.Attempt{StatusCode: 400}},
		"it arrived": {Status: store.DeliveryDelivered, Attempt: store.Attempt{StatusCode: 202}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := storetest.NewClock()
			c := newChain(t, storetest.Postgres(t, storetest.WithClock(clock)), func(cfg *Config) { cfg.Now = clock.Now })
			hanging, goOn := make(chan struct{}), make(chan struct{})
			c.rcv.set(func(store.Claimed) Result {
				close(hanging)
				<-goOn
				late.Attempt.StartedAt = store.At(clock.Now())
				return late
			})
			c.partner("North", "nl.a")
			r := c.accept("nl.a", "1")
			<-hanging
			c.eng.closing.Store(true) // it starts nothing else, or it might take the delivery over from itself
			second := newReceiver()
			other := New(Config{
				DB: c.db, Ways: map[string]Way{store.EndpointWebhook: second}, Log: slog.New(slog.DiscardHandler), Now: clock.Now,
				Poll: 50 * time.Millisecond, Circuit: CircuitPolicy{Failures: -1},
			})
			if err := other.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = other.Stop(context.Background()) })
			other.wakeAll()
			select {
			case <-second.came:
				t.Error("sent while the lease of the other node runs")
			default:
			}
			clock.Advance(time.Minute)
			got := second.wait(t)
			delivered := c.until(r.Events[0].EventID, store.DeliveryDelivered)
			close(goOn)
			first := c.rcv.wait(t)
			if first.ID != got.ID || first.IdempotencyKey != got.IdempotencyKey || first.Event.CEID != got.Event.CEID {
				t.Errorf("sent as %s under %s, and as %s under %s", first.ID, first.IdempotencyKey, got.ID, got.IdempotencyKey)
			}
			c.waitFor(func() bool {
				tries, err := c.db.Attempts(t.Context(), got.ID)
				return err == nil && len(tries) == 2
			})
			now, err := c.db.Delivery(t.Context(), got.ID)
			if err != nil || now.Status != store.DeliveryDelivered || now.DeliveredAt != delivered.DeliveredAt {
				t.Errorf("the late outcome made of it %+v, %v", now, err)
			}
		})
	}
}

// wakeAll has every lane looked at.
func (e *Engine) wakeAll() {
	e.readyAll()
	signal(e.wake)
}

// A node whose ear is cut off finds its work by looking, and listens again.
func TestNodeThatHearsNothing(t *testing.T) {
	t.Parallel()
	url := storetest.PostgresURL(t)
	db, err := store.Open(t.Context(), url, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	admin, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	c := newChain(t, db)
	c.partner("North", "nl.a")
	intake := c.node(time.Hour, nil)
	for _, id := range []string{"1", "2", "3"} {
		if _, err := admin.ExecContext(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE datname = current_database() AND query LIKE 'LISTEN%'`); err != nil {
			t.Fatal(err)
		}
		r, err := intake.Accept(t.Context(), c.submission(c.own.ID, true, "nl.a", id))
		if err != nil {
			t.Fatal(err)
		}
		c.until(r.Events[0].EventID, store.DeliveryDelivered)
	}
}

// Once a change is made known on one node, another that heard nothing of it knows too when it asks before an attempt.
func TestChangeHoldsOnEveryNode(t *testing.T) { // guarantee G2
	t.Parallel()
	c := newChain(t, storetest.Postgres(t))
	s := c.partner("North", "nl.a")
	deaf := New(Config{DB: c.db})
	for i := range 20 {
		before, err := deaf.fanout.currentEpoch(t.Context(), c.db)
		if err != nil {
			t.Fatal(err)
		}
		c.status(s, []string{store.SubscriptionSuspended, store.SubscriptionApproved}[i%2])
		after, err := deaf.fanout.currentEpoch(t.Context(), c.db)
		if err != nil || after == before {
			t.Fatalf("after a change still at epoch %s, %v", after, err)
		}
	}
}

// A database that swallows what it is asked holds nobody up for ever: whoever waits gets an answer, and what follows goes on.
func TestDatabaseThatSaysNothing(t *testing.T) {
	t.Parallel()
	db := storetest.Postgres(t)
	c := newChain(t, db, func(cfg *Config) { cfg.Deadline = 100 * time.Millisecond })
	same := c.submission(c.own.ID, true, "nl.a", "1")
	undo := errors.New("undo")
	err := db.Write(t.Context(), func(tx *store.Tx) error {
		// Whoever writes the same key waits until this transaction ends.
		_, err := tx.InsertKeys(t.Context(), []store.IdempotencyKey{{
			ClientID: same.ClientID, Operation: operation, Key: same.Key, Fingerprint: []byte{1}, ResponseBody: []byte{1}, CreatedAt: tx.Now, ExpiresAt: tx.Now,
		}})
		if err != nil {
			return err
		}
		if _, err := c.eng.Accept(t.Context(), same); !errors.Is(err, ErrUnavailable) {
			t.Errorf("answered %v", err)
		}
		return undo
	})
	if !errors.Is(err, undo) {
		t.Fatal(err)
	}
	if r, err := c.eng.Accept(t.Context(), same); err != nil || r.Replayed {
		t.Errorf("then answered %+v, %v", r, err)
	}
}
