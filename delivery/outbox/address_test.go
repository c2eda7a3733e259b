package outbox

import (
	"context"
	"sync"
	"testing"
	"time"

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

// look makes the engine read its endpoints.
func (w *steps) look() {
	w.Helper()
	if err := w.e.refreshQueues(w.Context()); err != nil {
		w.Fatal(err)
	}
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
	if err != nil {
		w.Fatal(err)
	}
}

func (w *steps) move() { w.change(func(ep *store.Endpoint) { ep.URL = "https://new.example.nl" }) }

// commits accepts an event.
func (w *steps) commits(id string) {
	w.Helper()
	p := &pending{Submission: w.submission(w.own.ID, true, "nl.a", id), done: make(chan struct{})}
	if w.e.commit(w.Context(), []*pending{p}); p.err != nil {
		w.Fatal(p.err)
	}
}

// claims claims the due deliveries once.
func (w *steps) claims() {
	w.Helper()
	w.e.readyAll()
	if err := w.e.claim(w.Context(), w.e.claimRequests()); err != nil {
		w.Fatal(err)
	}
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
