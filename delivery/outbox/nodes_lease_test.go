package outbox

import (
	"database/sql"
	"errors"
	"log/slog"
	"testing"
	"time"

	"schakel/store"
	"schakel/store/storetest"
)

// A node that lives keeps what it has claimed, also past the lease: it has yet to write what became of it. Once it is silent it
// is not waited for: another sends the same event under the same id and key. What the first has to say later changes nothing
// that the second has done.
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
			c := newChain(t, storetest.Postgres(t, storetest.WithClock(clock)), func(cfg *Config) {
				cfg.Now, cfg.Lease = clock.Now, time.Hour // it beats when the test has it beat
			})
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
			c.eng.closing.Store(true) // it starts nothing else
			beat(t, c.eng)
			second := newReceiver()
			other := New(Config{
				DB: c.db, Transports: map[string]Transport{store.EndpointWebhook: second}, Log: slog.New(slog.DiscardHandler), Now: clock.Now,
				Circuit: CircuitPolicy{Failures: -1},
			})
			// Its loops stand still: the test takes their steps, so that no time decides.
			beat(t, other)
			look(t, other)
			clock.Advance(2 * time.Hour)
			beat(t, other)
			look(t, other)
			if n := len(second.snapshot()); n != 0 {
				t.Errorf("%d sent while the other node lives", n)
			}
			// The first beats once by itself when it starts, which may be now.
			c.waitFor(func() bool {
				nodes, err := c.db.Nodes(t.Context())
				for _, n := range nodes {
					if n.ID == c.eng.node {
						err = errors.Join(err, other.takeOver(t.Context(), n))
					}
				}
				beat(t, other)
				look(t, other)
				return err == nil && len(second.snapshot()) > 0
			})
			go other.completeLoop(t.Context())
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

func beat(t *testing.T, e *Engine) {
	t.Helper()
	if err := e.beat(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// look does what the dispatcher does when it is woken.
func look(t *testing.T, e *Engine) {
	t.Helper()
	e.readyAll()
	if err := errors.Join(e.refreshQueues(t.Context()), e.claimDue(t.Context())); err != nil {
		t.Fatal(err)
	}
}

// A node is dead when its count stood still for long enough while another could look, and not because that one was away.
func TestWhoIsSilentIsDead(t *testing.T) {
	t.Parallel()
	e := New(Config{DB: storetest.Postgres(t), Lease: time.Minute}) // a beat every 10 s
	began := time.Now()
	at := func(seconds int, beats int64) (dead int) {
		return len(e.silentNodes([]store.Node{{ID: e.node, Beats: 1}, {ID: "node_b", Beats: beats}}, began.Add(time.Duration(seconds)*time.Second)))
	}
	for _, step := range []struct {
		at    int
		beats int64
		dead  int
	}{
		{0, 1, 0},
		{10, 1, 0},
		{20, 1, 0},
		{30, 2, 0},
		{40, 2, 0},
		{50, 2, 0},
		{60, 2, 0},
		{300, 2, 0}, // the database was away for minutes
		{310, 2, 0},
		{320, 2, 0},
		{330, 3, 0}, // and the node beats again
		{340, 3, 0},
		{350, 3, 0},
		{360, 3, 0},
		{370, 3, 1}, // now it is dead
	} {
		if dead := at(step.at, step.beats); dead != step.dead {
			t.Errorf("after %d s with %d beats: %d dead, want %d", step.at, step.beats, dead, step.dead)
		}
	}
}

// A node that was taken for dead begins nothing that it had claimed before without asking whether it is still its own; one that
// cannot beat begins nothing at all.
func TestNodeThatWasTakenForDead(t *testing.T) {
	t.Parallel()
	e := New(Config{DB: storetest.Postgres(t), Log: slog.New(slog.DiscardHandler)})
	if hold, sure := e.claimsHold(); !hold || !sure {
		t.Error("before the first beat")
	}
	beat(t, e)
	if hold, sure := e.claimsHold(); !hold || !sure {
		t.Error("after the first beat")
	}
	nodes, err := e.cfg.DB.Nodes(t.Context())
	if err != nil || len(nodes) != 1 {
		t.Fatal(nodes, err)
	}
	if err := e.takeOver(t.Context(), nodes[0]); err != nil {
		t.Fatal(err)
	}
	beat(t, e)
	if hold, sure := e.claimsHold(); !hold || sure {
		t.Error("it is sure of what it claimed before it was taken for dead")
	}
	e.heartbeat.lastBeat = time.Now().Add(-e.cfg.Lease)
	if hold, _ := e.claimsHold(); hold {
		t.Error("it holds its claims though it has been silent for a lease")
	}
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
		before, err := deaf.fanout.currentEpoch(t.Context(), c.db, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		c.status(s, []string{store.SubscriptionSuspended, store.SubscriptionApproved}[i%2])
		after, err := deaf.fanout.currentEpoch(t.Context(), c.db, time.Now)
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
