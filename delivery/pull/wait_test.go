package pull

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"schakel/store"
	"schakel/store/storetest"
)

type answer struct {
	got []Received
	err error
}

// waiting starts a call that waits, and returns when it does.
func (w *world) waiting(ctx context.Context, r Request) <-chan answer {
	w.Helper()
	done := make(chan answer, 1)
	go func() {
		got, err := w.pull.Receive(ctx, r)
		done <- answer{got, err}
	}()
	for w.pull.waiters.count() == 0 {
		select {
		case a := <-done:
			done <- a
			return done
		default:
		}
	}
	return done
}

func (w *waiters) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.byEndpoint)
}

// get waits for the answer, far longer than it should take and shorter than the call itself would wait.
func (w *world) get(done <-chan answer) answer {
	w.Helper()
	select {
	case a := <-done:
		return a
	case <-time.After(30 * time.Second):
		w.Fatal("the call went on waiting")
		return answer{}
	}
}

func TestLongPollWakesOnPublish(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		done := w.waiting(t.Context(), w.request(10, MaxWait))
		w.publish(1)
		if a := w.get(done); a.err != nil || len(a.got) != 1 {
			t.Errorf("got %+v", a)
		}
		if n := w.pull.waiters.count(); n != 0 {
			t.Errorf("%d waiters are left", n)
		}
	})
}

func TestLongPollWakesOnRelease(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.publish(1)
		got := w.wantCount(1)
		done := w.waiting(t.Context(), w.request(10, MaxWait))
		w.wantSettled(w.pull.Release(t.Context(), w.sub, tokens(got), 0))(1)
		if a := w.get(done); a.err != nil || len(a.got) != 1 || a.got[0].DeliveryCount != 2 {
			t.Errorf("got %+v", a)
		}
	})
}

// A client that lost its access while it waited gets nothing.
func TestLongPollAsksAgain(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		r, revoked := w.request(10, MaxWait), errors.New("revoked")
		r.Allowed = func(context.Context) error { return revoked }
		done := w.waiting(t.Context(), r)
		w.pull.Wake(nil)
		if a := w.get(done); !errors.Is(a.err, revoked) || len(a.got) != 0 {
			t.Errorf("got %+v", a)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done = w.waiting(ctx, Request{Subscription: w.empty(), Events: 1, Wait: MaxWait})
		cancel()
		if a := w.get(done); !errors.Is(a.err, context.Canceled) {
			t.Errorf("got %+v", a)
		}
	})
}

// empty is a subscription for which nothing waits.
func (w *world) empty() store.Subscription {
	return w.subscribe(store.Endpoint{ID: w.sub.EndpointID, PartnerID: w.sub.PartnerID})
}

// Calls that wait are answered when the program stops.
func TestLongPollStops(t *testing.T) {
	t.Parallel()
	clock, draining := storetest.NewClock(), make(chan struct{})
	w := newWorld(t, storetest.SQLite(t, storetest.WithClock(clock)), clock, func(c *Config) { c.Draining = draining })
	done := w.waiting(t.Context(), w.request(10, MaxWait))
	close(draining)
	if a := w.get(done); a.err != nil || len(a.got) != 0 {
		t.Errorf("got %+v", a)
	}
}

// More calls than are allowed to wait are answered at once.
func TestLongPollIsBounded(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	w := newWorld(t, storetest.SQLite(t, storetest.WithClock(clock)), clock, func(c *Config) { c.MaxWaiting = 1 })
	ctx, cancel := context.WithCancel(t.Context())
	first := w.waiting(ctx, w.request(1, MaxWait))
	got, err := w.pull.Receive(t.Context(), w.request(1, MaxWait))
	if err != nil || len(got) != 0 {
		t.Errorf("got %v, %v", got, err)
	}
	cancel()
	w.get(first)
}

// How long a call pauses, on a clock of its own.
func TestPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		draining := make(chan struct{})
		s := &Service{cfg: Config{Draining: draining}}
		wake := make(chan struct{}, 1)
		check := func(name string, next, end, took time.Duration, again bool) {
			t.Helper()
			start := time.Now()
			got, err := s.awaitSignal(t.Context(), wake, time.After(end), next)
			if passed := time.Since(start); err != nil || got != again || passed != took {
				t.Errorf("%s: %v after %v, %v; want %v after %v", name, got, passed, err, again, took)
			}
		}
		check("the next look", time.Second, time.Minute, time.Second, true)
		check("the end", time.Minute, 20*time.Second, 20*time.Second, false)
		time.AfterFunc(3*time.Second, func() { wake <- struct{}{} })
		check("woken", time.Minute, time.Minute, 3*time.Second, true)
		time.AfterFunc(2*time.Second, func() { close(draining) })
		check("stopping", time.Minute, time.Minute, 2*time.Second, false)
	})
}
