package pull

import (
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"schakel/store"
	"schakel/store/storetest"
)

func TestReceiveAndAcknowledge(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.wantCount(0)
		bodies := w.publish(3)
		got := w.receive(2)
		for i, g := range got {
			if string(g.JSON) != bodies[i] || g.DeliveryCount != 1 {
				t.Errorf("received %s (%d), want %s", g.JSON, g.DeliveryCount, bodies[i])
			}
		}
		other := w.subscribe(store.Endpoint{ID: w.sub.EndpointID, PartnerID: w.sub.PartnerID})
		w.wantSettled(w.pull.Acknowledge(t.Context(), other, tokens(got)))(0, CodeUnknownToken, CodeUnknownToken)
		w.wantSettled(w.pull.Acknowledge(t.Context(), w.sub, append(tokens(got), "x", "")))(2, CodeUnknownToken, CodeUnknownToken)
		w.wantSettled(w.pull.Acknowledge(t.Context(), w.sub, tokens(got)))(2)
		w.wantSettled(w.pull.Reject(t.Context(), w.sub, tokens(got)))(0, CodeLockLost, CodeLockLost)
		w.wantCount(1)
	})
}

// A consumer that crashes between receive and acknowledge gets the events again (EDU-17).
//
// Rules: EDU-17.
func TestLeaseEnds(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.publish(1)
		got := w.wantCount(1)
		w.clock.Advance(DefaultLease - time.Microsecond)
		w.wantCount(0)
		w.wantSettled(w.pull.Renew(t.Context(), w.sub, tokens(got), 10*time.Second))(1)
		w.clock.Advance(10*time.Second - time.Microsecond)
		w.wantCount(0)
		w.clock.Advance(time.Microsecond)
		w.wantSettled(w.pull.Acknowledge(t.Context(), w.sub, tokens(got)))(0, CodeLockLost)
		w.wantSettled(w.pull.Renew(t.Context(), w.sub, tokens(got), 0))(0, CodeLockLost)
		if again := w.wantCount(1); again[0].DeliveryCount != 2 || string(again[0].JSON) != string(got[0].JSON) {
			t.Errorf("received %+v again", again)
		}
	})
}

func TestReleaseAndReject(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.publish(3)
		got := tokens(w.wantCount(3))
		w.wantSettled(w.pull.Release(t.Context(), w.sub, got[:1], 0))(1)
		w.wantSettled(w.pull.Release(t.Context(), w.sub, got[1:2], MaxDelay))(1)
		w.wantSettled(w.pull.Reject(t.Context(), w.sub, got[2:]))(1)
		w.wantSettled(w.pull.Acknowledge(t.Context(), w.sub, tokens(w.wantCount(1))))(1)
		w.clock.Advance(MaxDelay)
		w.wantCount(1)
		n, err := w.db.CountDeliveries(t.Context(), store.DeliveryFilter{Statuses: []string{store.DeliveryHeld}, Reason: store.ReasonRejected})
		if err != nil || n != 1 {
			t.Errorf("%d in the error queue, %v", n, err)
		}
	})
}

func TestDeadAfterTooManyReceives(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.publish(1)
		for range 3 {
			w.wantCount(1)
			w.clock.Advance(DefaultLease)
		}
		must(t, w.pull.Sweep(t.Context()))
		w.wantCount(0)
		n, err := w.db.CountDeliveries(t.Context(), store.DeliveryFilter{Statuses: []string{store.DeliveryDead}, Reason: store.ReasonCountExceeded})
		if err != nil || n != 1 {
			t.Errorf("%d dead letters, %v", n, err)
		}
	})
}

func TestBounds(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		many := make([]string, MaxTokens+1)
		_, noTokens := w.pull.Acknowledge(t.Context(), w.sub, nil)
		_, manyTokens := w.pull.Reject(t.Context(), w.sub, many)
		_, delay := w.pull.Release(t.Context(), w.sub, many[:1], MaxDelay+1)
		_, lease := w.pull.Renew(t.Context(), w.sub, many[:1], MaxLease+1)
		wrong := map[string]error{"none": noTokens, "too many": manyTokens, "delay": delay, "lease": lease}
		for name, change := range map[string]func(*Request){
			"no events": func(r *Request) { r.Events = 0 }, "many events": func(r *Request) { r.Events = MaxEvents + 1 },
			"long wait": func(r *Request) { r.Wait = MaxWait + 1 }, "wait < 0": func(r *Request) { r.Wait = -1 },
			"short lease": func(r *Request) { r.Lease = 1 }, "long lease": func(r *Request) { r.Lease = MaxLease + 1 },
		} {
			r := w.request(1, 0)
			change(&r)
			_, wrong[name] = w.pull.Receive(t.Context(), r)
		}
		for name, err := range wrong {
			if e, ok := errors.AsType[*InputError](err); !ok || e.Field == "" {
				t.Errorf("%s: %v", name, err)
			}
		}
		w.write(func(tx *store.Tx) error {
			e := store.Endpoint{PartnerID: w.sub.PartnerID, Kind: store.EndpointWebhook, Status: store.EndpointActive}
			err := tx.InsertEndpoint(t.Context(), &e)
			w.sub.EndpointID = e.ID
			return err
		})
		_, receive := w.pull.Receive(t.Context(), w.request(1, 0))
		_, settle := w.pull.Acknowledge(t.Context(), w.sub, many[:1])
		if !errors.Is(receive, ErrNotPull) || !errors.Is(settle, ErrNotPull) {
			t.Errorf("of a webhook: %v, %v", receive, settle)
		}
	})
}

// Nothing is handed out from a subscription that is not approved, and the error gives the reason (guarantee G2).
func TestStopped(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.publish(1)
		for _, status := range []string{store.SubscriptionRequested, store.SubscriptionPaused, store.SubscriptionSuspended} {
			w.setSubscription(status)
			for name, sub := range map[string]func() store.Subscription{
				"as it is":  func() store.Subscription { s, _ := w.db.Subscription(t.Context(), w.sub.ID); return s },
				"as it was": func() store.Subscription { return w.sub },
			} {
				r := w.request(1, 0)
				r.Subscription = sub()
				got, err := w.pull.Receive(t.Context(), r)
				_, told := errors.AsType[*StoppedError](err)
				// What waits was perhaps held already by the engine's sweep; then there is nothing to reject.
				if len(got) > 0 || name == "as it is" && !told {
					t.Errorf("%s, %s: %d, %v", status, name, len(got), err)
				}
			}
		}
	})
}

// Consumers that receive at once never get the same delivery.
//
// Rules: EDU-17.
func TestConsumersAtOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		const consumers, total = 4, 200
		w.publish(total)
		var mu sync.Mutex
		var group sync.WaitGroup
		seen := make(map[string]int)
		for range consumers {
			group.Go(func() {
				for range total {
					got, err := w.pull.Receive(t.Context(), w.request(7, 0))
					if err != nil {
						t.Error(err)
					}
					if len(got) == 0 {
						return
					}
					mu.Lock()
					for _, g := range got {
						seen[string(g.JSON)]++
					}
					mu.Unlock()
				}
			})
		}
		group.Wait()
		for _, g := range w.receive(MaxEvents) { // rows may have been locked for a moment when a consumer looked
			seen[string(g.JSON)]++
		}
		for body, n := range seen {
			if n != 1 {
				t.Errorf("received %d times: %s", n, body)
			}
		}
		if len(seen) != total {
			t.Errorf("received %d of %d", len(seen), total)
		}
	})
}

func FuzzToken(f *testing.F) {
	for _, seed := range []string{token("dlv_01J", "lck_ABC"), token("dlv_01J", ""), "", "====", "ZGx2XzEgbGNrXzE", "ZGx2XzEAbGNrXzE", "Ã"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		lock, ok := parseToken(text)
		if !ok && lock != (store.PullLock{}) {
			t.Errorf("%q is no token and gives %+v", text, lock)
		}
		if ok && token(lock.DeliveryID, lock.LockID) != text {
			t.Errorf("%q has another form: %+v", text, lock)
		}
	})
}

func TestToken(t *testing.T) {
	t.Parallel()
	id, lock := "dlv_01JZ0000000000000000000000", store.NewLockID()
	if got, ok := parseToken(token(id, lock)); !ok || got != (store.PullLock{DeliveryID: id, LockID: lock}) {
		t.Errorf("got %+v, %v", got, ok)
	}
	if a, b := store.NewLockID(), store.NewLockID(); a == b {
		t.Error("two locks have the same id")
	}
}

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
		must(t, w.pull.Sweep(t.Context()))
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
		must(w, err)
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

// BenchmarkReceiveAcknowledge receives 100 events and acknowledges them, one consumer at a time.
func BenchmarkReceiveAcknowledge(b *testing.B) {
	for name, open := range storetest.Both() {
		b.Run(name, func(b *testing.B) {
			clock := storetest.NewClock()
			w := newWorld(b, open(b, storetest.WithClock(clock)), clock, nil)
			for b.Loop() {
				b.StopTimer()
				w.publish(MaxEvents)
				b.StartTimer()
				got := w.receive(MaxEvents)
				s, err := w.pull.Acknowledge(b.Context(), w.sub, tokens(got))
				if err != nil || len(s.Succeeded) != MaxEvents {
					b.Fatalf("acknowledged %d, %v", len(s.Succeeded), err)
				}
			}
			b.ReportMetric(float64(b.N*MaxEvents)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkReceiveAmongMany receives and gives back, with little and with much that waits for another subscription of
// the endpoint: what it costs must not depend on that.
func BenchmarkReceiveAmongMany(b *testing.B) {
	for _, waiting := range []int{100, 100_000} {
		b.Run(map[bool]string{true: "few", false: "many"}[waiting == 100], func(b *testing.B) {
			clock := storetest.NewClock()
			w := newWorld(b, storetest.SQLite(b, storetest.WithClock(clock)), clock, nil)
			for range waiting / 500 {
				w.publish(500)
			}
			w.sub = w.subscribe(store.Endpoint{ID: w.sub.EndpointID, PartnerID: w.sub.PartnerID})
			b.ResetTimer()
			for b.Loop() {
				b.StopTimer()
				w.publish(1)
				clock.Advance(time.Millisecond)
				b.StartTimer()
				if _, err := w.pull.Acknowledge(b.Context(), w.sub, tokens(w.receive(1))); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
