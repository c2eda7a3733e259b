package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"schakel/store"
	"schakel/store/storetest"
)

func failed(status string, code int64, due time.Time) Result {
	return Result{Status: status, Reason: "test", Detail: "it failed", DueAt: due, Attempt: store.Attempt{StatusCode: code, StartedAt: store.At(time.Now())}}
}

// Rules: EDU-09, IDEM-09, IDEM-X02, CE-05, EDU-N10.
func TestRetryKeepsIDAndKey(t *testing.T) { // EDU-09, IDEM-09
	eachChain(t, func(t *testing.T, c *chain) {
		c.partner("North", "nl.a")
		var tries atomic.Int32
		c.rcv.set(func(store.Claimed) Result {
			if tries.Add(1) < 4 {
				return failed(store.DeliveryRetrying, 503, time.Now().Add(20*time.Millisecond))
			}
			return delivered()
		})
		r := c.accept("nl.a", "1")
		first := c.rcv.wait(t)
		for range 3 {
			next := c.rcv.wait(t)
			if next.IdempotencyKey != first.IdempotencyKey || next.Event.CEID != "1" {
				t.Errorf("retry with key %s and id %s", next.IdempotencyKey, next.Event.CEID)
			}
		}
		d := c.until(r.Events[0].EventID, store.DeliveryDelivered)
		attempts, err := c.db.Attempts(t.Context(), d.ID)
		if err != nil || len(attempts) != 4 || attempts[3].Number != 4 || attempts[0].NextAt.IsZero() {
			t.Errorf("attempts %+v, %v", attempts, err)
		}
	})
}

// Rules: EDU-18, EDU-N11, IDEM-I08.
func TestDeadLetterComesBackOnlyByResend(t *testing.T) {
	eachChain(t, func(t *testing.T, c *chain) {
		s := c.partner("North", "nl.a")
		for _, tt := range []struct {
			name   string
			code   int64
			status string
			newKey bool
		}{
			{"after 503 the key stays", 503, store.DeliveryDead, false},
			{"after 400 the key is spent", 400, store.DeliveryHeld, true},
			{"after 429 the key stays", 429, store.DeliveryDead, false},
		} {
			c.rcv.set(func(store.Claimed) Result { return failed(tt.status, tt.code, time.Time{}) })
			r := c.accept("nl.a", tt.name)
			first := c.rcv.wait(t)
			d := c.until(r.Events[0].EventID, tt.status)
			c.rcv.set(func(store.Claimed) Result { return delivered() })
			if err := c.eng.Resend(t.Context(), Actor{PartnerID: "ptn_other"}, d.ID); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s: another partner resends: %v", tt.name, err)
			}
			if err := c.eng.Resend(t.Context(), Actor{Kind: "account", PartnerID: s.PartnerID}, d.ID); err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			again := c.rcv.wait(t)
			if again.Event.CEID != first.Event.CEID || (again.IdempotencyKey != first.IdempotencyKey) != tt.newKey {
				t.Errorf("%s: first %s, then %s", tt.name, first.IdempotencyKey, again.IdempotencyKey)
			}
			c.until(r.Events[0].EventID, store.DeliveryDelivered)
		}
	})
}

// Rules: EDU-07, EDU-N11.
func TestNoResendToASubscriptionThatEnded(t *testing.T) { // guarantee G2
	eachChain(t, func(t *testing.T, c *chain) {
		s := c.partner("North", "nl.a")
		c.rcv.set(func(store.Claimed) Result { return failed(store.DeliveryDead, 500, time.Time{}) })
		r := c.accept("nl.a", "1")
		d := c.until(r.Events[0].EventID, store.DeliveryDead)
		c.status(s, store.SubscriptionEnded)
		if err := c.eng.Resend(t.Context(), Actor{}, d.ID); !errors.Is(err, ErrNotResendable) {
			t.Errorf("error %v, want ErrNotResendable", err)
		}
		if err := c.eng.Discard(t.Context(), Actor{}, d.ID, " "); !errors.Is(err, ErrReasonMissing) {
			t.Errorf("discard without a reason: %v", err)
		}
		if err := c.eng.Discard(t.Context(), Actor{Name: "Anna"}, d.ID, "subscription ended"); err != nil {
			t.Error(err)
		}
		c.until(r.Events[0].EventID, store.DeliveryDiscarded)
		if log, n, err := c.db.Audits(t.Context(), store.AuditFilter{Action: "delivery.discarded"}); n != 1 || log[0].ActorName != "Anna" {
			t.Errorf("audit %+v, %v", log, err)
		}
	})
}

// Rules: CE-74.
func TestForbiddenSuspendsTheEndpoint(t *testing.T) { // CE-74: 403
	eachChain(t, func(t *testing.T, c *chain) {
		s := c.partner("North", "nl.a")
		c.rcv.set(func(store.Claimed) Result {
			r := failed(store.DeliveryHeld, 403, time.Time{})
			r.Reason, r.SuspendEndpoint = store.ReasonEndpointSuspended, true
			return r
		})
		r := c.accept("nl.a", "1")
		c.until(r.Events[0].EventID, store.DeliveryHeld)
		ep, err := c.db.Endpoint(t.Context(), s.EndpointID)
		if err != nil || ep.Status != store.EndpointSuspended || ep.StatusReason == "" {
			t.Fatalf("endpoint %+v, %v", ep, err)
		}
		c.rcv.set(func(store.Claimed) Result { return delivered() })
		c.endpoint(s.EndpointID, store.EndpointActive)
		c.until(r.Events[0].EventID, store.DeliveryDelivered)
	})
}

// Rules: CE-64, CE-74.
func TestGoneEndsTheSubscription(t *testing.T) { // CE-64, CE-74: 410
	eachChain(t, func(t *testing.T, c *chain) {
		s := c.partner("North", "nl.a")
		c.rcv.set(func(store.Claimed) Result {
			r := failed(store.DeliveryDead, 410, time.Time{})
			r.EndSubscription = true
			return r
		})
		c.accept("nl.a", "1", "2", "3")
		c.waitFor(func() bool { return c.count(store.DeliveryDead) == 3 })
		if sub, err := c.db.Subscription(t.Context(), s.ID); err != nil || sub.Status != store.SubscriptionEnded {
			t.Errorf("subscription %+v, %v", sub, err)
		}
		if r := c.accept("nl.a", "4"); len(r.Events) != 1 || c.count(store.DeliveryPending) != 0 {
			t.Error("an event accepted after the end has a delivery")
		}
	})
}

func TestOneSlowEndpointDoesNotSlowTheOthers(t *testing.T) { // guarantee G6
	eachChain(t, func(t *testing.T, c *chain) {
		slow, fast := c.partner("Slow", "nl.a"), c.partner("Fast", "nl.a")
		release := make(chan struct{})
		defer close(release)
		c.rcv.set(func(d store.Claimed) Result {
			if d.EndpointID == slow.EndpointID {
				<-release
			}
			return delivered()
		})
		for range 50 {
			c.accept("nl.a", c.db.NewID("ce"), c.db.NewID("ce"))
		}
		c.waitFor(func() bool {
			n, err := c.db.CountDeliveries(t.Context(), store.DeliveryFilter{Statuses: []string{store.DeliveryDelivered}, EndpointID: fast.EndpointID})
			return err == nil && n == 100
		})
	})
}

func TestJobResendsAllThatMatch(t *testing.T) {
	eachChain(t, func(t *testing.T, c *chain) {
		north, south := c.partner("North", "nl.a"), c.partner("South", "nl.a")
		c.rcv.set(func(store.Claimed) Result { return failed(store.DeliveryDead, 500, time.Time{}) })
		for range 5 {
			ids := make([]string, 50)
			for i := range ids {
				ids[i] = c.db.NewID("ce")
			}
			c.accept("nl.a", ids...)
		}
		c.waitFor(func() bool { return c.count(store.DeliveryDead) == 500 })
		c.rcv.set(func(store.Claimed) Result { return delivered() })
		j, err := c.eng.StartJob(t.Context(), Actor{Name: "Anna", PartnerID: north.PartnerID}, ActionResend, store.DeliveryFilter{PartnerID: south.PartnerID}, "")
		if err != nil || j.Total != 250 {
			t.Fatalf("job %+v, %v", j, err)
		}
		c.waitFor(func() bool { return c.count(store.DeliveryDelivered) == 250 })
		if n, _ := c.db.CountDeliveries(t.Context(), store.DeliveryFilter{Statuses: []string{store.DeliveryDead}, PartnerID: south.PartnerID}); n != 250 {
			t.Errorf("a partner's job changed another partner's deliveries: %d left", n)
		}
		if _, err := c.eng.StartJob(t.Context(), Actor{}, ActionDiscard, store.DeliveryFilter{}, ""); !errors.Is(err, ErrReasonMissing) {
			t.Errorf("discard without a reason: %v", err)
		}
		j, err = c.eng.StartJob(t.Context(), Actor{Name: "Anna"}, ActionDiscard, store.DeliveryFilter{Statuses: []string{store.DeliveryDead}}, "test data")
		must(t, err)
		c.waitFor(func() bool {
			done, err := c.db.ResendJob(t.Context(), j.ID)
			return err == nil && done.Status == store.JobDone && done.Done == 250
		})
	})
}

func TestStopWaitsForWhatIsInFlight(t *testing.T) {
	t.Parallel()
	c := newChain(t, storetest.SQLite(t))
	c.partner("North", "nl.a")
	started, release := make(chan struct{}), make(chan struct{})
	c.rcv.set(func(store.Claimed) Result { close(started); <-release; return delivered() })
	c.accept("nl.a", "1")
	<-started
	stopped := make(chan error)
	go func() { stopped <- c.eng.Stop(context.Background()) }()
	for !c.eng.closing.Load() {
		time.Sleep(time.Millisecond)
	}
	if _, err := c.eng.Accept(t.Context(), c.submission(c.own.ID, true, "nl.a", "2")); !errors.Is(err, ErrUnavailable) {
		t.Errorf("accepted while stopping: %v", err)
	}
	close(release)
	must(t, <-stopped)
	if c.count(store.DeliveryDelivered) != 1 {
		t.Error("the outcome of what was in flight is lost")
	}
	c.eng = New(Config{DB: c.db})
	if err := c.eng.Start(t.Context()); err != nil { // for the cleanup's stop
		t.Fatal(err)
	}
}

// Rules: IDEM-12, IDEM-13.
func TestExpiredKeyNeedsAPerson(t *testing.T) { // IDEM-12, IDEM-13
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		c := newChain(t, db, func(cfg *Config) { cfg.KeyLifetime = 2 * time.Second })
		c.partner("North", "nl.a")
		c.rcv.set(func(store.Claimed) Result {
			return failed(store.DeliveryRetrying, 503, time.Now().Add(2100*time.Millisecond))
		})
		r := c.accept("nl.a", "1")
		first := c.rcv.wait(t)
		d := c.until(r.Events[0].EventID, store.DeliveryDead)
		if d.Reason != "key-expired" || len(c.rcv.snapshot()) != 1 {
			t.Errorf("reason %q after %d attempts", d.Reason, len(c.rcv.snapshot()))
		}
		c.rcv.set(func(store.Claimed) Result { return delivered() })
		must(t, c.eng.Resend(t.Context(), Actor{}, d.ID))
		again := c.rcv.wait(t)
		if again.IdempotencyKey == first.IdempotencyKey || again.Event.CEID != first.Event.CEID || again.Event.CESource != first.Event.CESource {
			t.Errorf("resent as %s %s, first %s", again.Event.CEID, again.IdempotencyKey, first.IdempotencyKey)
		}
		c.until(r.Events[0].EventID, store.DeliveryDelivered)
	})
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	for _, h := range []http.Header{
		nil,
		{},
		{"A": nil},
		{"A": {}},
		{"Content-Type": {"text/plain"}, "Idempotency-Key": {`"8e03978e"`}, "Via": {"a", "b"}},
		{"X": {"a\\b <&> \x00\x7f é \xff \u2028"}, "Y\"": {""}},
	} {
		want := ""
		if len(h) > 0 {
			b, err := json.Marshal(h)
			must(t, err)
			want = string(b)
		}
		if got := headers(h); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// FuzzHeaders holds our own encoding against the library's.
func FuzzHeaders(f *testing.F) {
	f.Add("Content-Type", "text/plain", "a\x00")
	f.Add("", "\\", "\xff<")
	f.Fuzz(func(t *testing.T, name, one, two string) {
		h := http.Header{name: {one, two}, name + "x": {two}}
		want, err := json.Marshal(h)
		must(t, err)
		if got := headers(h); got != string(want) {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// TestSecrets unseals once, and again when the sealed secret changed.
func TestSecrets(t *testing.T) {
	t.Parallel()
	var cache secretCache
	opened := 0
	unseal := func(ep store.Endpoint) (string, error) {
		opened++
		if ep.TokenSecret == "broken" {
			return "", errors.New("sealed with another key")
		}
		return "plain " + ep.TokenSecret, nil
	}
	for i, tc := range []struct {
		id, sealed string
		opened     int
	}{{"a", "1", 1}, {"a", "1", 1}, {"b", "2", 2}, {"a", "3", 3}, {"b", "2", 3}, {"a", "broken", 4}, {"a", "broken", 5}, {"a", "3", 5}} {
		got, err := cache.open(store.Endpoint{ID: tc.id, TokenSecret: tc.sealed}, unseal)
		if broken := tc.sealed == "broken"; broken != (err != nil) || (!broken && got != "plain "+tc.sealed) || opened != tc.opened {
			t.Errorf("step %d: %q, %v, opened %d times", i, got, err, opened)
		}
	}
}

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
		waited, err := tx.ProbeNow(c.Context(), &ep)
		if !waited {
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
		c.eng.saveCircuits(t.Context(), []circuitChange{{endpoint: down, suspend: true}})
		ep, err := db.Endpoint(t.Context(), s.EndpointID)
		must(t, err)
		if ep.Status != store.EndpointActive || ep.Circuit != store.CircuitClosed {
			t.Errorf("%s, circuit %s", ep.Status, ep.Circuit)
		}
		c.accept("nl.a", "1")
		c.waitFor(func() bool { return c.count(store.DeliveryDelivered) == 1 })
	})
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
