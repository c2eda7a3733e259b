package outbox

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"schakel/store"
	"schakel/store/storetest"
)

// Rules: EDU-12.
func TestCircuitAfter(t *testing.T) { // EDU-12
	t.Parallel()
	p := CircuitPolicy{Failures: 3, Wait: 10 * time.Second, MaxWait: 25 * time.Second, AlertAfter: 25 * time.Second}
	start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	c := circuit{}
	for _, step := range []struct {
		name    string
		worked  bool
		now     int
		open    bool
		probeAt int
	}{
		{"first failure", false, 0, false, 0},
		{"second failure", false, 1, false, 0},
		{"third failure opens", false, 2, true, 12},
		{"what was in flight changes nothing", false, 3, true, 12},
		{"the probe fails: twice the wait", false, 12, true, 32},
		{"again: the longest wait", false, 32, true, 57},
		{"the probe works: closed", true, 57, false, 0},
		{"one failure does not open it", false, 58, false, 0},
	} {
		before := c
		c = c.after(step.worked, at(step.now), p)
		if c.open() != step.open || step.open && !c.probeAt.Equal(at(step.probeAt)) {
			t.Errorf("%s: %+v", step.name, c)
		}
		if got := c.alerts(before, at(step.now), p); got != (step.now == 32) {
			t.Errorf("%s: people are told: %t", step.name, got)
		}
	}
	if c := (circuit{failures: 99}).after(false, start, CircuitPolicy{Failures: -1}); c.open() {
		t.Error("a circuit that never opens did")
	}
}

// Rules: EDU-12.
func TestOpenCircuitLetsOneProbeThrough(t *testing.T) { // EDU-12
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		c := newChain(t, db, func(cfg *Config) {
			cfg.Circuit = CircuitPolicy{Failures: 3, Wait: 300 * time.Millisecond, MaxWait: 300 * time.Millisecond}
		})
		s := c.partner("North", "nl.a")
		var broken atomic.Bool
		broken.Store(true)
		c.rcv.set(func(store.Claimed) Result {
			if broken.Load() {
				return failed(store.DeliveryRetrying, 503, time.Now())
			}
			return delivered()
		})
		c.accept("nl.a", "1", "2", "3", "4", "5", "6")
		c.waitFor(func() bool {
			ep, err := db.Endpoint(t.Context(), s.EndpointID)
			return err == nil && ep.Circuit == store.CircuitOpen && !ep.CircuitProbeAt.IsZero()
		})
		before := len(c.rcv.snapshot())
		c.waitFor(func() bool { return len(c.rcv.snapshot()) > before+1 }) // two probes at least
		if got := len(c.rcv.snapshot()); got > before+20 {
			t.Errorf("%d attempts while the circuit was open", got-before)
		}
		broken.Store(false)
		c.waitFor(func() bool { return c.count(store.DeliveryDelivered) == 6 })
		c.waitFor(func() bool {
			ep, err := db.Endpoint(t.Context(), s.EndpointID)
			return err == nil && ep.Circuit == store.CircuitClosed
		})
	})
}

// recordingNotifier records its notifications.
type recordingNotifier struct {
	nopNotifier
	failing, suspended, quarantined atomic.Int32
}

func (n *recordingNotifier) RequestQuarantined(context.Context, *store.Tx, store.Quarantine) error {
	n.quarantined.Add(1)
	return nil
}

func (n *recordingNotifier) EndpointFailing(context.Context, *store.Tx, store.Endpoint, string) error {
	n.failing.Add(1)
	return nil
}

func (n *recordingNotifier) EndpointSuspended(context.Context, *store.Tx, store.Endpoint, string) error {
	n.suspended.Add(1)
	return nil
}

func TestEndpointThatStaysDownIsSuspended(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		notifier := &recordingNotifier{}
		c := newChain(t, db, func(cfg *Config) {
			cfg.Notifier = notifier
			cfg.Circuit = CircuitPolicy{
				Failures: 2, Wait: 50 * time.Millisecond, MaxWait: 50 * time.Millisecond, AlertAfter: 200 * time.Millisecond, SuspendAfter: time.Second,
			}
		})
		s := c.partner("North", "nl.a")
		c.rcv.set(func(store.Claimed) Result { return failed(store.DeliveryRetrying, 503, time.Now()) })
		c.accept("nl.a", "1", "2", "3")
		c.waitFor(func() bool {
			ep, err := db.Endpoint(t.Context(), s.EndpointID)
			return err == nil && ep.Status == store.EndpointSuspended
		})
		if notifier.failing.Load() != 1 || notifier.suspended.Load() != 1 {
			t.Errorf("people were told %d times that it fails and %d times that it is suspended", notifier.failing.Load(), notifier.suspended.Load())
		}
		c.rcv.set(func(store.Claimed) Result { return delivered() })
		c.endpoint(s.EndpointID, store.EndpointActive)
		c.waitFor(func() bool { return c.count(store.DeliveryDelivered) == 3 })
	})
}
