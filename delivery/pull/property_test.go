package pull

import (
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"schakel/store"
)

// tally counts the acknowledgements of a property test.
type tally struct {
	mu           sync.Mutex
	acknowledged map[string]int // by CloudEvents id, how often an acknowledgement of another lock succeeded
}

func (l *tally) acknowledge(got []Received, s Settled) {
	l.mu.Lock()
	defer l.mu.Unlock()
	done := make(map[string]bool)
	for _, token := range s.Succeeded {
		done[token] = true
	}
	for _, g := range got {
		if done[g.LockToken] {
			l.acknowledged[eventID(g)]++
		}
	}
}

func eventID(g Received) string {
	_, rest, _ := strings.Cut(string(g.JSON), `"id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	return id
}

// Four consumers receive, acknowledge, release, reject, renew and crash as it comes, while the clock goes on. Every event
// ends in one place: acknowledged once, in the error queue, dead, or still to be received. None is lost (guarantee G1).
func TestVerbsAsTheyCome(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		const consumers, steps, total = 4, 40, 120
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		w.publish(total)
		l := &tally{acknowledged: make(map[string]int)}
		var group sync.WaitGroup
		for n := range consumers {
			group.Go(func() {
				r := rand.New(rand.NewPCG(seed, uint64(n)))
				var held []Received
				for range steps {
					held = w.step(r, held, l)
				}
			})
		}
		group.Wait()
		w.clock.Advance(MaxDelay + MaxLease)
		if err := w.pull.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.wantNoneLost(l, total)
	})
}

// step takes a random step with the deliveries a consumer holds, and returns those it holds then. A consumer that crashed has
// forgotten them.
func (w *world) step(r *rand.Rand, held []Received, l *tally) []Received {
	ctx := w.Context()
	some := held[:r.IntN(len(held)+1)]
	rest := held[len(some):]
	var s Settled
	var err error
	verb := r.IntN(8)
	if verb < 5 && len(some) == 0 {
		verb = 7
	}
	switch verb {
	case 0, 1:
		if s, err = w.pull.Acknowledge(ctx, w.sub, tokens(some)); err == nil {
			l.acknowledge(some, s)
		}
	case 2:
		_, err = w.pull.Release(ctx, w.sub, tokens(some), time.Duration(r.IntN(20))*time.Second)
	case 3:
		_, err = w.pull.Reject(ctx, w.sub, tokens(some[:1]))
		rest = held[1:]
	case 4:
		_, err = w.pull.Renew(ctx, w.sub, tokens(some), 20*time.Second)
		rest = held
	case 5:
		w.clock.Advance(time.Duration(r.IntN(15)) * time.Second)
		rest = held
	case 6:
		return nil
	default:
		var got []Received
		got, err = w.pull.Receive(ctx, w.request(1+r.IntN(10), 0))
		rest = append(held[:len(held):len(held)], got...)
		rest = rest[max(0, len(rest)-MaxTokens):]
	}
	if err != nil {
		w.Error(err)
	}
	return rest
}

func (w *world) wantNoneLost(l *tally, total int) {
	w.Helper()
	rows, n, err := w.db.Deliveries(w.Context(), store.DeliveryFilter{SubscriptionID: w.sub.ID})
	if err != nil || n != total {
		w.Fatalf("%d deliveries, %v; want %d", n, err, total)
	}
	counts := make(map[string]int)
	for _, d := range rows {
		counts[d.Status]++
		e, err := w.db.Event(w.Context(), d.EventID)
		if err != nil {
			w.Fatal(err)
		}
		times := l.acknowledged[e.CEID]
		if delivered := d.Status == store.DeliveryDelivered; delivered != (times == 1) {
			w.Errorf("%s is %s and was acknowledged %d times", e.CEID, d.Status, times)
		}
		w.wantStory(d)
	}
	w.Logf("%v", counts)
	if left := w.receive(MaxEvents); len(left) != min(MaxEvents, counts[store.DeliveryPending]+counts[store.DeliveryRetrying]) {
		w.Errorf("%d can be received, of %v", len(left), counts)
	}
}

// wantStory checks the attempts of a delivery: one for each receive, none left open, and only the last one acknowledged.
func (w *world) wantStory(d store.Delivery) {
	w.Helper()
	attempts, err := w.db.Attempts(w.Context(), d.ID)
	if err != nil || int64(len(attempts)) != d.Attempts || d.Attempts > 3 {
		w.Errorf("%s: %d attempts of %d, %v", d.ID, len(attempts), d.Attempts, err)
	}
	for i, a := range attempts {
		last := i == len(attempts)-1
		if a.ErrorKind == store.PullReceived || (a.ErrorKind == store.PullAcknowledged) != (last && d.Status == store.DeliveryDelivered) {
			w.Errorf("%s is %s, attempt %d of %d ended as %s", d.ID, d.Status, i+1, len(attempts), a.ErrorKind)
		}
	}
}
