package outbox

import (
	"log/slog"
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
	if err := e.Start(c.Context()); err != nil {
		c.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
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

// endpoint changes the state of an endpoint.
func (c *chain) endpoint(id, status string) {
	c.Helper()
	c.write(func(tx *store.Tx) error {
		ep, err := tx.Endpoint(c.Context(), id)
		if err != nil {
			return err
		}
		ep.Status = status
		return tx.UpdateEndpoint(c.Context(), &ep)
	})
}
