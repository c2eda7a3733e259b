package pull

import (
	"errors"
	"sync"
	"testing"
	"time"

	"schakel/store"
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
		if err := w.pull.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
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
