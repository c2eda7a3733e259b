package outbox

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"schakel/store"
	"schakel/store/storetest"
)

// jumpingClock runs as the machine's does, and can be set forward and back.
type jumpingClock struct{ by atomic.Int64 }

func (c *jumpingClock) now() time.Time { return time.Now().Add(time.Duration(c.by.Load())) }

func (c *jumpingClock) jump(d time.Duration) { c.by.Add(int64(d)) }

// jumping runs fn on both databases with an engine whose clock can jump.
func jumping(t *testing.T, fn func(c *chain, clock *jumpingClock)) {
	t.Helper()
	for name, open := range storetest.Both() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := &jumpingClock{}
			db := open(t, func(o *store.Options) { o.Now = clock.now })
			fn(newChain(t, db, func(cfg *Config) { cfg.Now = clock.now }), clock)
		})
	}
}

// TestClockJumps sets the clock a day forward and an hour back, again and again, while events come in and a third of
// the attempts fails. Nothing waits for the clock, everything arrives, and what must come in order does (guarantee G5).
//
// Rules: EDU-09, EDU-N09.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	jumping(t, func(c *chain, clock *jumpingClock) {
		c.partner("North", "nl.a")
		c.ordered(c.partner("South", "nl.a"), "subject")
		c.rcv.set(func(store.Claimed) Result {
			if rand.IntN(3) == 0 {
				now := clock.now()
				r := failed(store.DeliveryRetrying, 503, now.Add(20*time.Millisecond))
				r.Attempt.StartedAt = store.At(now)
				return r
			}
			return delivered()
		})
		const each = 4
		events := 0
		for _, jump := range []time.Duration{0, 24 * time.Hour, -time.Hour, -time.Hour, 2 * time.Hour, -25 * time.Hour} {
			clock.jump(jump)
			for range each {
				events++
				c.acceptSubject(fmt.Sprintf("%04d", events), "a")
			}
		}
		c.waitFor(func() bool { return c.count(store.DeliveryDelivered) == 2*events })
		last, before := map[string]string{}, map[string]store.Claimed{}
		for _, got := range c.rcv.snapshot() {
			if got.OrderKey == "" {
				continue
			}
			// A lease that the clock ended while its outcome was on the way is taken once more: the same attempt again, under
			// the same key. Nothing else may come behind a later event.
			sub, id := got.SubscriptionID, got.Event.CEID
			first, again := before[got.ID]
			if id < last[sub] && (!again || got.Attempts != first.Attempts || got.Lease <= first.Lease) {
				c.Errorf("event %s was sent after %s: attempt %d, lease %d", id, last[sub], got.Attempts, got.Lease)
			}
			last[sub], before[got.ID] = max(last[sub], id), got
		}
	})
}

// TestClockJumpsAtRest sets the clock back while no engine runs: what waited is due when one starts.
//
// Rules: EDU-09.
func TestClockJumpsAtRest(t *testing.T) {
	t.Parallel()
	jumping(t, func(c *chain, clock *jumpingClock) {
		s := c.partner("North", "nl.a")
		c.ordered(s, "subject")
		c.endpoint(s.EndpointID, store.EndpointPaused)
		c.acceptSubject("1", "a")
		c.stop()
		clock.jump(-time.Hour)
		c.eng = New(c.eng.cfg)
		must(c, c.eng.Start(c.Context()))
		c.acceptSubject("2", "a")
		c.endpoint(s.EndpointID, store.EndpointActive)
		for _, want := range []string{"1", "2"} {
			if got := c.rcv.wait(c.T); got.Event.CEID != want {
				c.Errorf("%s came, want %s", got.Event.CEID, want)
			}
		}
	})
}

// TestClockJumpsAtTheStart sets the clock back before the loop that watches it first runs, as on a busy machine: it compares
// with what the clock showed when the engine started.
//
// Rules: EDU-09.
func TestClockJumpsAtTheStart(t *testing.T) {
	t.Parallel()
	jumping(t, func(c *chain, clock *jumpingClock) {
		before := clock.now()
		started, err := c.eng.startClock(c.Context())
		if err != nil || started.Before(before.Round(0)) {
			c.Errorf("the clock is compared with %s, and showed %s: %v", started, before, err)
		}
	})
}

// TestClockJumpsAndKeys repeats a request after the clock jumped: within the lifetime of its key it is answered from it,
// also when the clock was set back; and a lease that a jump ended leads to one more attempt under the same key.
//
// Rules: IDEM-07, IDEM-14.
func TestClockJumpsAndKeys(t *testing.T) {
	t.Parallel()
	jumping(t, func(c *chain, clock *jumpingClock) {
		c.partner("North", "nl.a")
		release := make(chan struct{})
		c.rcv.set(func(store.Claimed) Result { <-release; return delivered() })
		s := c.submission(c.own.ID, true, "nl.a", uuid.NewString())
		first := c.take(s)
		for _, jump := range []time.Duration{24 * time.Hour, -time.Hour, -24 * time.Hour} {
			clock.jump(jump) // the lease of the attempt that waits is over, and then it is far away
			again, err := c.eng.Accept(c.Context(), s)
			if err != nil || !again.Replayed || again.Events[0].EventID != first.Events[0].EventID {
				c.Errorf("after a jump of %s: %+v %v", jump, again, err)
			}
		}
		close(release)
		c.until(first.Events[0].EventID, store.DeliveryDelivered)
		for _, got := range c.rcv.snapshot() {
			if got.IdempotencyKey != c.rcv.snapshot()[0].IdempotencyKey {
				c.Errorf("an attempt under another key")
			}
		}
	})
}
