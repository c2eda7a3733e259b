package outbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"schakel/store"
	"schakel/store/storetest"
)

// node adds another engine on the database of a chain.
func (c *chain) node(poll time.Duration, transports map[string]Transport) *Engine {
	c.Helper()
	e := New(Config{DB: c.db, Transports: transports, Log: slog.New(slog.DiscardHandler), Poll: poll, Circuit: CircuitPolicy{Failures: -1}})
	must(c, e.Start(c.Context()))
	c.Cleanup(func() { _ = e.Stop(c.Context()) })
	return e
}

func TestOtherNodesAreToldOfWork(t *testing.T) {
	t.Parallel()
	// Only a notification can wake the node that delivers.
	c := newChain(t, storetest.Postgres(t), func(cfg *Config) { cfg.Poll = time.Hour })
	c.partner("North", "nl.a")
	intake := c.node(time.Hour, nil) // takes events in and delivers nothing
	c.accept("nl.a", "first")
	c.rcv.wait(t)
	r, err := intake.Accept(t.Context(), c.submission(c.own.ID, true, "nl.a", "told"))
	must(t, err)
	if got := c.rcv.wait(t); got.Event.CEID != "told" {
		t.Errorf("%s came", got.Event.CEID)
	}
	c.until(r.Events[0].EventID, store.DeliveryDelivered)
}

func TestNodesShareTheWork(t *testing.T) {
	t.Parallel()
	c := newChain(t, storetest.Postgres(t))
	s := c.partner("North", "nl.a")
	second := newReceiver()
	c.node(200*time.Millisecond, map[string]Transport{store.EndpointWebhook: second})
	const events = 400
	for range events / 50 {
		ids := make([]string, 50)
		for i := range ids {
			ids[i] = uuid.NewString()
		}
		c.accept("nl.a", ids...)
	}
	c.waitFor(func() bool { return c.count(store.DeliveryDelivered) == events })
	times := map[string]int{}
	for _, got := range append(c.rcv.snapshot(), second.snapshot()...) {
		times[got.ID]++
	}
	for id, n := range times {
		if n != 1 {
			t.Errorf("delivery %s was sent %d times", id, n)
		}
	}
	if len(times) != events {
		t.Errorf("%d deliveries were sent, want %d", len(times), events)
	}
	c.status(s, store.SubscriptionSuspended)
	c.accept("nl.a", "after")
	if got := c.count(store.DeliveryPending); got != 0 {
		t.Errorf("%d deliveries for a revoked subscription", got)
	}
}

// What a node had claimed when it was killed is free within the lease, however long its attempts may take.
//
// Rules: EDU-09, EDU-N01.
func TestWorkOfADeadNodeIsTakenOver(t *testing.T) {
	t.Parallel()
	c := newChain(t, storetest.Postgres(t), func(cfg *Config) { cfg.Lease = time.Second })
	s := c.partner("North", "nl.a")
	c.endpoint(s.EndpointID, store.EndpointPaused)
	r := c.accept("nl.a", "1")
	// What a node leaves behind that was killed right after it claimed: its last beat, and a claim that is long to last. The
	// engine may have claimed the delivery for an endpoint that it took for active; it gives it back.
	c.waitFor(func() bool {
		var claimed []store.Claimed
		c.write(func(tx *store.Tx) (err error) {
			if _, err := tx.Beat(t.Context(), "node_dead"); err != nil {
				return err
			}
			claimed, err = tx.Claim(t.Context(), s.EndpointID, "node_dead", 10, store.At(tx.Now.Add(time.Hour)))
			return err
		})
		return len(claimed) == 1
	})
	c.endpoint(s.EndpointID, store.EndpointActive)
	c.until(r.Events[0].EventID, store.DeliveryDelivered)
	c.waitFor(func() bool {
		nodes, err := c.db.Nodes(t.Context())
		return err == nil && len(nodes) == 1 && nodes[0].ID == c.eng.node
	})
}

func (c *chain) endpoint(id, status string) {
	c.Helper()
	c.changeEndpoint(id, func(ep *store.Endpoint) { ep.Status = status })
}

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
	must(t, e.beat(t.Context()))
}

// look does what the dispatcher does when it is woken.
func look(t *testing.T, e *Engine) {
	t.Helper()
	e.readyAll()
	must(t, errors.Join(e.refreshQueues(t.Context()), e.claimDue(t.Context())))
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
	must(t, e.takeOver(t.Context(), nodes[0]))
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
	must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	must(t, db.Migrate(t.Context()))
	admin, err := sql.Open("pgx", url)
	must(t, err)
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
		must(t, err)
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
		must(t, err)
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
	c := newChain(t, storetest.Postgres(t), func(cfg *Config) { cfg.Deadline = 2 * time.Second })
	same := c.submission(c.own.ID, true, "nl.a", "1")
	undo := errors.New("undo")
	err := c.db.Write(t.Context(), func(tx *store.Tx) error {
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

// BenchmarkTwoNodes takes events in and hands them over on one node and on two that share a PostgreSQL: two must not be
// slower than one. All are in one process, on the processors of one machine.
func BenchmarkTwoNodes(b *testing.B) {
	for _, nodes := range []int{1, 2} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			db := storetest.Postgres(b)
			first, own := benchEngine(b, db, "http://127.0.0.1:9/")
			must(b, first.Stop(b.Context()))
			var sent atomic.Int64
			all := make(chan struct{})
			way := countingTransport(func() {
				if sent.Add(1) == int64(b.N) {
					close(all)
				}
			})
			engines := make([]*Engine, nodes)
			for i := range engines {
				engines[i] = New(Config{DB: db, Log: slog.New(slog.DiscardHandler), Transports: map[string]Transport{store.EndpointWebhook: way}})
				must(b, engines[i].Start(b.Context()))
				defer func() { _ = engines[i].Stop(b.Context()) }()
			}
			var turn atomic.Int64
			b.SetParallelism(64)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					accept(b, engines[int(turn.Add(1))%nodes], own)
				}
			})
			<-all
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

type countingTransport func()

func (w countingTransport) Send(context.Context, store.Endpoint, store.Claimed) Result {
	w()
	return delivered()
}
