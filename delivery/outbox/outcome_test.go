package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
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
