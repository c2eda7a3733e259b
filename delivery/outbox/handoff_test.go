package outbox

import (
	"context"
	"fmt"
	"testing"
	"time"

	"golang.org/x/time/rate"
	"schakel/store"
	"schakel/store/storetest"
)

func TestLaneTakes(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		change func(q *endpointQueue)
		free   int
		want   bool
	}{
		"idle":                          {func(*endpointQueue) {}, 100, true},
		"something older may wait":      {func(q *endpointQueue) { q.ready = true }, 100, false},
		"a retry is due":                {func(q *endpointQueue) { q.due = now }, 100, false},
		"a retry is due later":          {func(q *endpointQueue) { q.due = now.Add(time.Second) }, 100, true},
		"the endpoint is paused":        {func(q *endpointQueue) { q.endpoint.Status = store.EndpointPaused }, 100, false},
		"it asked for a pause":          {func(q *endpointQueue) { q.backoff.extend(now.Add(time.Second)) }, 100, false},
		"its pause is over, untried":    {func(q *endpointQueue) { q.backoff.extend(now.Add(-time.Second)) }, 100, false},
		"its circuit is open":           {func(q *endpointQueue) { q.circuit.openedAt = now.Add(-time.Hour) }, 100, false},
		"it takes batches":              {func(q *endpointQueue) { q.terms.events = 10 }, 100, false},
		"its rate is used up":           {func(q *endpointQueue) { q.limiter, q.endpoint.RatePerSecond, q.held = rate.NewLimiter(2, 2), 2, 2 }, 100, false},
		"it holds what it may":          {func(q *endpointQueue) { q.held = q.capacity() }, handedShare * 16, false},
		"more than it claims":           {func(q *endpointQueue) { q.held = q.capacity() }, handedShare * 100, true},
		"no more than its share":        {func(q *endpointQueue) { q.held = 100 }, handedShare * 100, false},
		"the engine has no room at all": {func(*endpointQueue) {}, 0, false},
	} {
		q := newEndpointQueue(store.Endpoint{Status: store.EndpointActive, MaxConcurrency: 2})
		q.ready = false
		tt.change(q)
		if got := q.takesDirect(now, tt.free); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// What is handed to its sender as it is written arrives once, is recorded like any other, and was not claimed.
// Rules: EDU-09.
func TestHandedOnce(t *testing.T) { // guarantee G1
	eachChain(t, func(t *testing.T, c *chain) {
		c.partner("North", "nl.a")
		const events = 200
		seen := make(map[string]int)
		for i := range events {
			id := c.accept("nl.a", fmt.Sprint("e", i)).Events[0].EventID
			got := c.rcv.wait(t)
			if got.EventID != id || len(got.Event.Data) == 0 || got.CreatedAt.IsZero() {
				t.Fatalf("accepted %s, got %+v", id, got)
			}
			seen[id]++
			c.until(id, store.DeliveryDelivered)
		}
		if len(seen) != events || c.eng.Stats().Handed == 0 {
			t.Errorf("%d arrived; %+v", len(seen), c.eng.Stats())
		}
		for id := range seen {
			rows, err := c.db.DeliveriesOf(t.Context(), id)
			if err != nil || len(rows) != 1 || rows[0].Attempts != 1 || rows[0].LeaseOwner != "" {
				t.Fatalf("%+v, %v", rows, err)
			}
			attempts, err := c.db.Attempts(t.Context(), rows[0].ID)
			if err != nil || len(attempts) != 1 {
				t.Fatalf("%+v, %v", attempts, err)
			}
		}
	})
}

// What was handed to a sender and waits for a slot does not go to a subscription that is revoked meanwhile.
// Rules: EDU-07.
func TestHandedAndRevoked(t *testing.T) { // guarantee G2
	eachChain(t, func(t *testing.T, c *chain) {
		s := c.partner("North", "nl.a")
		c.accept("nl.a", "first")
		c.rcv.wait(t)
		gate, started := make(chan struct{}), make(chan struct{}, 100)
		c.rcv.set(func(store.Claimed) Result {
			started <- struct{}{}
			<-gate
			return delivered()
		})
		var ids []string
		for i := range 40 {
			ids = append(ids, c.accept("nl.a", fmt.Sprint("e", i)).Events[0].EventID)
		}
		for range 4 { // as many as may run at once
			<-started
		}
		c.status(s, store.SubscriptionEnded)
		close(gate)
		waiting := 0
		for _, id := range ids {
			rows, err := c.db.DeliveriesOf(t.Context(), id)
			must(t, err)
			if rows[0].Status != store.DeliveryDelivered {
				waiting++
			}
		}
		c.stop()
		c.rcv.mu.Lock()
		defer c.rcv.mu.Unlock()
		if n := len(c.rcv.got); n != 5 {
			t.Errorf("%d attempts, want the first and the 4 that ran (%d waited)", n, waiting)
		}
	})
}

// A backlog starves neither what comes in nor itself: new events are accepted while thousands wait, and all arrive.
// Rules: EDU-09, EDU-19.
func TestBacklogStarvesNobody(t *testing.T) { // guarantee G1
	eachChain(t, func(t *testing.T, c *chain) {
		s := c.partner("North", "nl.a")
		const backlog = 3000
		c.status(s, store.SubscriptionPaused)
		for from := 0; from < backlog; from += 100 {
			var ids []string
			for i := range 100 {
				ids = append(ids, fmt.Sprint("old", from+i))
			}
			c.accept("nl.a", ids...)
		}
		c.status(s, store.SubscriptionApproved)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		came, old, accepted := 0, 0, 0
		for old < backlog { // one in for one out, until all that waited has come
			r, err := c.eng.Accept(ctx, c.submission(c.own.ID, true, "nl.a", fmt.Sprint("new", accepted)))
			if err != nil {
				t.Fatalf("after %d accepted and %d arrived: %v", accepted, came, err)
			}
			accepted += len(r.Events)
			for more := true; more; {
				select {
				case got := <-c.rcv.came:
					came++
					if got.Event.CEID[0] == 'o' {
						old++
					}
				default:
					more = false
				}
			}
		}
		for came < backlog+accepted {
			c.rcv.wait(t)
			came++
		}
		if accepted < 10 {
			t.Errorf("only %d were accepted while %d were delivered", accepted, backlog)
		}
	})
}

// An attempt that waited for its turn does not begin when its key expired meanwhile, nor when little is left of its lease.
//
// Rules: IDEM-12.
func TestAttemptsThatWaitedTooLong(t *testing.T) {
	t.Parallel()
	c := newChain(t, storetest.SQLite(t))
	sub := c.partner("North", "nl.a")
	ep, err := c.db.Endpoint(t.Context(), sub.EndpointID)
	must(t, err)
	now := time.Now()
	may := func() (bool, error) { return true, nil }
	for _, tt := range []struct {
		name       string
		lease, key time.Duration
		want       bool
	}{
		{"in time", time.Hour, time.Hour, true},
		{"the key expired", time.Hour, -time.Second, false},
		{"the lease is nearly over", time.Second, time.Hour, false},
	} {
		claimed := store.Claimed{Delivery: store.Delivery{
			SubscriptionID: sub.ID, DueAt: store.At(now.Add(tt.lease)), KeyExpiresAt: store.At(now.Add(tt.key)),
		}}
		if got := c.eng.mayBegin(t.Context(), newEndpointQueue(ep), &ep, &claimed, "", may); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// What was not tried because its lease is over may be in this node's hands again: that lease stays.
func TestAnEndedLeaseIsNotGivenBack(t *testing.T) {
	t.Parallel()
	c := newChain(t, storetest.SQLite(t))
	sub := c.partner("North", "nl.a")
	release := make(chan struct{})
	c.rcv.set(func(store.Claimed) Result { <-release; return delivered() })
	r := c.accept("nl.a", "1")
	var d store.Delivery
	c.waitFor(func() bool {
		d = c.until(r.Events[0].EventID, store.DeliveryPending)
		return d.LeaseOwner == c.eng.node
	})
	c.write(func(tx *store.Tx) error {
		lease := store.LeaseOf(&d)
		lease.Number-- // of the claim before
		old := sendResult{lease: lease, result: new(Result), subID: sub.ID}
		_, err := c.eng.writeOutcomes(t.Context(), tx, []sendResult{old})
		return err
	})
	if now, err := c.db.Delivery(t.Context(), d.ID); err != nil || now.LeaseOwner != c.eng.node {
		t.Errorf("lease of %q, %v, want that of this node", now.LeaseOwner, err)
	}
	close(release)
	c.until(r.Events[0].EventID, store.DeliveryDelivered)
}
