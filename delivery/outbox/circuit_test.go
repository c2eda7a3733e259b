package outbox

import (
	"context"
	"slices"
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

// Rules: EDU-12.
func TestProbeOnRequest(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		c := newChain(t, db, func(cfg *Config) {
			cfg.Poll, cfg.Circuit = time.Hour, CircuitPolicy{Failures: 3, Wait: time.Hour}
		})
		s := c.partner("North", "nl.a")
		var broken atomic.Bool
		broken.Store(true)
		c.rcv.set(func(store.Claimed) Result {
			if broken.Load() {
				return failed(store.DeliveryRetrying, 503, time.Now().Add(2*time.Hour))
			}
			return delivered()
		})
		c.accept("nl.a", "1", "2", "3")
		ep := c.circuitIs(s.EndpointID, func(ep store.Endpoint) bool { return ep.Circuit == store.CircuitOpen })
		planned := ep.CircuitProbeAt
		c.probe(ep)
		ep = c.circuitIs(s.EndpointID, func(ep store.Endpoint) bool { return ep.CircuitProbeAt.After(planned.Time) })
		if got := len(c.rcv.snapshot()); got != 4 || !ep.CircuitPlannedAt.IsZero() || ep.Circuit != store.CircuitOpen {
			t.Errorf("%d attempts after a probe that failed; the endpoint is %+v", got, ep)
		}
		broken.Store(false)
		c.probe(ep)
		c.circuitIs(s.EndpointID, func(ep store.Endpoint) bool { return ep.Circuit == store.CircuitClosed })
		c.waitFor(func() bool { return c.count(store.DeliveryDelivered) == 1 })
		if got := len(c.rcv.snapshot()); got != 5 {
			t.Errorf("%d attempts after a probe that worked: the rest goes when it is due", got)
		}
	})
}

// circuitIs waits until the circuit of an endpoint is so, and returns the endpoint.
func (c *chain) circuitIs(id string, so func(store.Endpoint) bool) (ep store.Endpoint) {
	c.Helper()
	c.waitFor(func() bool {
		var err error
		ep, err = c.db.Endpoint(c.Context(), id)
		return err == nil && so(ep)
	})
	return ep
}

// probe asks for a probe as a portal does, which on PostgreSQL may be another process: that notifies this one through the database.
func (c *chain) probe(ep store.Endpoint) {
	c.Helper()
	must(c, c.db.Write(c.Context(), func(tx *store.Tx) error {
		delivery, err := tx.ProbeNow(c.Context(), &ep)
		if delivery == "" {
			c.Error("no delivery goes with the probe")
		}
		return err
	}))
	if c.db.Dialect() == store.SQLite {
		c.eng.Changed()
	}
}

// A probe that a person asked for does not notify people of an outage once more, nor keep them from being notified.
func TestAlertAfterAProbeOnRequest(t *testing.T) {
	t.Parallel()
	p := CircuitPolicy{Failures: 1, Wait: 16 * time.Minute, MaxWait: 16 * time.Minute, AlertAfter: 15 * time.Minute}
	start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
	for name, tc := range map[string]struct {
		probes []int // minutes
		asked  []int
		alerts []int
	}{
		"nobody asked":                {probes: []int{16, 32}, alerts: []int{16}},
		"asked after the alert":       {probes: []int{16, 18, 34}, asked: []int{18}, alerts: []int{16}},
		"asked before it":             {probes: []int{3, 19, 35}, asked: []int{3}, alerts: []int{19}},
		"the asked one is the first":  {probes: []int{10, 15, 31}, asked: []int{10, 15}, alerts: []int{15}},
		"asked twice before it began": {probes: []int{16, 18, 19}, asked: []int{18, 19}, alerts: []int{16}},
	} {
		c := circuit{}.after(false, start, p)
		var alerts []int
		for _, minute := range tc.probes {
			if slices.Contains(tc.asked, minute) {
				c.planned, c.probeAt = c.probeAt, at(minute)
			}
			before := c
			if c = c.after(false, at(minute), p); c.alerts(before, at(minute), p) {
				alerts = append(alerts, minute)
			}
		}
		if !slices.Equal(alerts, tc.alerts) {
			t.Errorf("%s: people are notified after %v minutes, want %v", name, alerts, tc.alerts)
		}
	}
}

type recordingNotifier struct {
	nopNotifier
	failing, suspended, quarantined, issues atomic.Int32
}

func (n *recordingNotifier) RequestQuarantined(context.Context, *store.Tx, store.Quarantine) error {
	n.quarantined.Add(1)
	return nil
}

func (n *recordingNotifier) IssuesOpened(_ context.Context, _ *store.Tx, issues []store.Issue) error {
	n.issues.Add(int32(len(issues)))
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

// An attempt that fails while a person resumes the endpoint was made before: it neither suspends it again nor opens its circuit.
func TestCircuitOfAnAttemptBeforeTheResumption(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		c := newChain(t, db)
		s := c.partner("North", "nl.a")
		down, err := db.Endpoint(t.Context(), s.EndpointID)
		must(t, err)
		c.endpoint(s.EndpointID, store.EndpointSuspended)
		c.endpoint(s.EndpointID, store.EndpointActive)
		now := time.Now()
		circuit{failures: 2, openedAt: now.Add(-time.Hour), probeAt: now.Add(time.Hour)}.row(&down)
		c.eng.saveCircuits(t.Context(), []circuitChange{{queue: &endpointQueue{}, endpoint: down, suspend: true}})
		ep, err := db.Endpoint(t.Context(), s.EndpointID)
		must(t, err)
		if ep.Status != store.EndpointActive || ep.Circuit != store.CircuitClosed {
			t.Errorf("%s, circuit %s", ep.Status, ep.Circuit)
		}
		c.accept("nl.a", "1")
		c.waitFor(func() bool { return c.count(store.DeliveryDelivered) == 1 })
	})
}

// A circuit that opened is not closed by what the database says of it until that knows; what a person changed counts at once.
func TestCircuitThatIsNotSavedYet(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		c := newChain(t, db, func(cfg *Config) {
			cfg.Circuit = CircuitPolicy{Failures: 1, Wait: time.Nanosecond, MaxWait: time.Nanosecond}
		})
		s := c.partner("North", "nl.a")
		e := New(c.eng.cfg) // one that does not run
		must(t, e.refreshQueues(t.Context()))
		q := e.queues[s.EndpointID]
		again := func() bool {
			e.queuesEpoch = ""
			must(t, e.refreshQueues(t.Context()))
			return q.circuit.open()
		}
		ep := q.endpoint
		failed := sendResult{queue: q, ep: &ep, outcome: &store.Outcome{}, result: &Result{Attempt: store.Attempt{StatusCode: 500}}}
		changes := e.moveCircuits([]sendResult{failed})
		if !again() {
			t.Error("it closed before it was saved")
		}
		before := e.circuitMoves
		e.saveCircuits(t.Context(), changes)
		if q.learn(ep, before); !q.circuit.open() {
			t.Error("what was read before it was saved closed it")
		}
		if !again() {
			t.Error("it was not saved")
		}
		e.moveCircuits([]sendResult{failed})
		c.write(func(tx *store.Tx) error {
			ep, err := tx.Endpoint(t.Context(), s.EndpointID)
			must(t, err)
			ep.Circuit, ep.CircuitFailures, ep.CircuitOpenedAt, ep.CircuitProbeAt = store.CircuitClosed, 0, store.Time{}, store.Time{}
			must(t, tx.UpdateEndpoint(t.Context(), &ep))
			return tx.SaveCircuit(t.Context(), &ep)
		})
		if again() {
			t.Error("a person resumed the endpoint, and it stays open")
		}
		elsewhere, ended := q.endpoint, failed
		elsewhere.URL += "/before"
		ended.ep = &elsewhere
		if changes := e.moveCircuits([]sendResult{ended}); len(changes) > 0 || q.circuit.open() {
			t.Error("an attempt at the address before counts for the one now")
		}
	})
}

func TestEndpointThatStaysDownIsSuspended(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		notifier := &recordingNotifier{}
		c := newChain(t, db, func(cfg *Config) {
			cfg.Notifier = notifier
			cfg.Circuit = CircuitPolicy{Failures: 2, Wait: 50 * time.Millisecond, MaxWait: 50 * time.Millisecond, AlertAfter: 200 * time.Millisecond}
		})
		s := c.partner("North", "nl.a")
		c.rcv.set(func(store.Claimed) Result { return failed(store.DeliveryRetrying, 503, time.Now()) })
		c.accept("nl.a", "1", "2", "3")
		c.waitFor(func() bool { return notifier.failing.Load() > 0 })
		c.stop()
		c.eng.cfg.Circuit.SuspendAfter = time.Millisecond // days went by
		c.eng = New(c.eng.cfg)
		must(t, c.eng.Start(t.Context()))
		c.waitFor(func() bool {
			ep, err := db.Endpoint(t.Context(), s.EndpointID)
			return err == nil && ep.Status == store.EndpointSuspended
		})
		c.waitFor(func() bool { return notifier.suspended.Load() > 0 })
		if notifier.failing.Load() != 1 || notifier.suspended.Load() != 1 {
			t.Errorf("people were told %d times that it fails and %d times that it is suspended", notifier.failing.Load(), notifier.suspended.Load())
		}
		c.rcv.set(func(store.Claimed) Result { return delivered() })
		c.endpoint(s.EndpointID, store.EndpointActive)
		c.waitFor(func() bool { return c.count(store.DeliveryDelivered) == 3 })
	})
}
