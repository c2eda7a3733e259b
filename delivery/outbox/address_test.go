package outbox

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"schakel/store"
	"schakel/store/storetest"
)

// Each of these tests takes the steps of an engine that is not started, so that an endpoint changes exactly between two of them.

// urlLog is a transport that records the addresses it sent to.
type urlLog struct {
	mu   sync.Mutex
	urls []string
}

func (a *urlLog) Send(_ context.Context, ep store.Endpoint, _ store.Claimed) Result {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.urls = append(a.urls, ep.URL)
	return delivered()
}

// steps is a chain whose engine stands still, and a second engine that the test moves.
type steps struct {
	*chain
	e  *Engine
	to *urlLog
	s  store.Subscription
}

func newSteps(t *testing.T, db *store.DB) *steps {
	c := newChain(t, db)
	c.stop()
	to := new(urlLog)
	e := New(Config{DB: db, Transports: map[string]Transport{store.EndpointWebhook: to}, Log: c.eng.cfg.Log, Circuit: CircuitPolicy{Failures: -1}})
	w := &steps{chain: c, e: e, to: to, s: c.partner("North", "nl.a")}
	w.change(func(ep *store.Endpoint) { ep.URL = "https://old.example.nl" })
	w.look()
	w.claims() // nothing waits, which the endpoint queue knows now
	return w
}

func (w *steps) look() {
	w.Helper()
	must(w, w.e.refreshQueues(w.Context()))
}

// change changes the endpoint without notifying the engine.
func (w *steps) change(fn func(ep *store.Endpoint)) {
	w.Helper()
	err := w.db.Write(w.Context(), func(tx *store.Tx) error {
		ep, err := tx.Endpoint(w.Context(), w.s.EndpointID)
		if err != nil {
			return err
		}
		fn(&ep)
		return tx.UpdateEndpoint(w.Context(), &ep)
	})
	must(w, err)
}

func (w *steps) move() { w.change(func(ep *store.Endpoint) { ep.URL = "https://new.example.nl" }) }

func (w *steps) commits(id string) {
	w.Helper()
	p := &pending{Submission: w.submission(w.own.ID, true, "nl.a", id), done: make(chan struct{})}
	if w.e.commit(w.Context(), []*pending{p}); p.err != nil {
		w.Fatal(p.err)
	}
}

func (w *steps) claims() {
	w.Helper()
	w.e.readyAll()
	must(w, w.e.claim(w.Context(), w.e.claimRequests()))
}

// wantSent waits for the senders, and checks the addresses they sent to.
func (w *steps) wantSent(want ...string) {
	w.Helper()
	w.e.senders.Wait()
	w.to.mu.Lock()
	defer w.to.mu.Unlock()
	if len(w.to.urls) != len(want) || len(want) == 1 && w.to.urls[0] != want[0] {
		w.Errorf("sent to %q, want %q", w.to.urls, want)
	}
}

// Rules: EDU-07a.
func TestNothingGoesToTheAddressBefore(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(w *steps){
		"it moves before the claim": func(w *steps) {
			w.e.mu.Lock()
			w.e.queues[w.s.EndpointID].ready = true // so that nothing is handed over
			w.e.mu.Unlock()
			w.commits("1")
			w.move()
			w.claims()
			w.wantSent("https://new.example.nl")
		},
		"it is paused before the claim": func(w *steps) {
			w.e.mu.Lock()
			w.e.queues[w.s.EndpointID].ready = true
			w.e.mu.Unlock()
			w.commits("1")
			w.change(func(ep *store.Endpoint) { ep.Status = store.EndpointPaused })
			w.claims()
			w.wantSent()
		},
		"it moves after the claim": func(w *steps) {
			w.e.mu.Lock()
			q := w.e.queues[w.s.EndpointID]
			q.ready = true
			ep := q.endpoint
			w.e.mu.Unlock()
			w.commits("1")
			var claimed []store.Claimed
			var epoch string
			w.write(func(tx *store.Tx) (err error) {
				if epoch, err = tx.FanoutEpoch(w.Context()); err == nil {
					claimed, err = tx.Claim(w.Context(), ep.ID, w.e.node, 10, store.At(tx.Now.Add(time.Hour)))
				}
				return err
			})
			w.move()
			if done := w.e.attempt(&sendTask{queue: q, ep: &ep, single: &claimed[0], epoch: epoch}, &claimed[0]); done.outcome != nil {
				w.Errorf("the attempt was made: %+v", done.outcome)
			}
			w.wantSent()
		},
		"it moves before the event comes in": func(w *steps) {
			w.move()
			w.commits("1")
			w.wantSent()
			if n := w.e.stats.handed.Load(); n != 0 {
				w.Errorf("%d deliveries were handed over by what was known before", n)
			}
			w.look()
			w.claims()
			w.wantSent("https://new.example.nl")
		},
		"it stays": func(w *steps) { // what the others rest on: an event is handed over at once
			w.commits("1")
			w.wantSent("https://old.example.nl")
			if n := w.e.stats.handed.Load(); n != 1 {
				w.Errorf("%d deliveries were handed over, want 1", n)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, func(t *testing.T, db *store.DB) { test(newSteps(t, db)) })
		})
	}
}

// One event to three subscriptions is three keys and one id. All of it is in the outbox when the event was accepted, before
// anything is sent.
//
// Rules: IDEM-06, IDEM-09, IDEM-10, IDEM-I03, IDEM-X02, IDEM-X03.
func TestEachDeliveryHasAKeyOfItsOwn(t *testing.T) {
	eachChain(t, func(t *testing.T, c *chain) {
		release := make(chan struct{})
		c.rcv.set(func(store.Claimed) Result { <-release; return delivered() })
		defer close(release)
		for _, name := range []string{"North", "South", "East"} {
			c.partner(name, "nl.a")
		}
		keys := map[string]bool{}
		for _, accepted := range c.accept("nl.a", "1", "2").Events {
			rows, err := c.db.DeliveriesOf(t.Context(), accepted.EventID)
			if err != nil || len(rows) != 3 {
				t.Fatalf("%d deliveries, %v", len(rows), err)
			}
			for _, d := range rows {
				id, err := uuid.Parse(d.IdempotencyKey)
				if err != nil || id.Version() != 4 || id.Variant() != uuid.RFC4122 || d.KeyExpiresAt.IsZero() {
					t.Errorf("key %q until %v: %v", d.IdempotencyKey, d.KeyExpiresAt, err)
				}
				keys[d.IdempotencyKey] = true
			}
			if ev, err := c.db.Event(t.Context(), accepted.EventID); err != nil || ev.CEID != accepted.ID || ev.CESource != "urn:nld:oin:1" {
				t.Errorf("event %+v, %v", ev, err)
			}
		}
		if len(keys) != 6 {
			t.Errorf("%d keys for 6 deliveries", len(keys))
		}
	})
}

// Old and new version of a type run side by side: each subscription gets what it asked for.
//
// Rules: EDU-08, CE-16.
func TestVersionsOfATypeRunSideBySide(t *testing.T) {
	eachChain(t, func(t *testing.T, c *chain) {
		old, current, both := c.partner("Old", "nl.a.v1"), c.partner("New", "nl.a.v2"), c.partner("Both", "nl.a.v1", "nl.a.v2")
		c.accept("nl.a.v1", "1")
		c.accept("nl.a.v2", "2")
		c.waitFor(func() bool { return c.count(store.DeliveryDelivered) == 4 })
		got := map[string]string{}
		for _, d := range c.rcv.snapshot() {
			got[d.Delivery.SubscriptionID] += d.Event.CEType + " "
		}
		if got[old.ID] != "nl.a.v1 " || got[current.ID] != "nl.a.v2 " || len(got[both.ID]) != len("nl.a.v1 nl.a.v2 ") {
			t.Errorf("got %v", got)
		}
	})
}

// addresses is a transport that records the address of each attempt, and fails at all but the last address.
type addresses struct {
	went chan string
	last string // the address that takes
}

func (a *addresses) Send(_ context.Context, e store.Endpoint, _ store.Claimed) Result {
	a.went <- e.URL
	if e.URL == a.last {
		return delivered()
	}
	return failed(store.DeliveryRetrying, 503, time.Now().Add(50*time.Millisecond))
}

// After a partner changed its endpoint the old one gets nothing more, and what was waiting goes to the new one.
//
// Rules: EDU-07a, EDU-08.
func TestNewDeliveryPointGetsWhatWaits(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		transport := &addresses{went: make(chan string, 1000), last: "https://new.example.nl"}
		c := newChain(t, db, func(cfg *Config) { cfg.Transports = map[string]Transport{store.EndpointWebhook: transport} })
		s := c.partner("North", "nl.a")
		move := func(url string) {
			c.changeEndpoint(s.EndpointID, func(e *store.Endpoint) { e.URL = url })
		}
		move("https://old.example.nl")
		c.accept("nl.a", "1", "2", "3")
		for range 3 {
			if url := <-transport.went; url != "https://old.example.nl" {
				t.Fatalf("went to %s", url)
			}
		}
		move("https://new.example.nl")
		c.waitFor(func() bool { return c.count(store.DeliveryDelivered) == 3 })
		for range len(transport.went) {
			<-transport.went
		}
		c.accept("nl.a", "4")
		if url := <-transport.went; url != transport.last {
			t.Errorf("a later event went to %s", url)
		}
	})
}
