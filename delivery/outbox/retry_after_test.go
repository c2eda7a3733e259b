package outbox

import (
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"time"

	"schakel/delivery/outbound"
	"schakel/delivery/webhook"
	"schakel/store"
	"schakel/store/storetest"
)

// call is a request that a busy receiver got and has not answered yet.
type call struct {
	key    string
	came   time.Time
	answer chan func(http.ResponseWriter)
}

// busy is a receiver that leaves each answer to the test.
type busy struct {
	*httptest.Server
	calls chan *call
	mu    sync.Mutex
	all   []*call
	takes bool // all that comes
}

func newBusy(t *testing.T) *busy {
	b := &busy{calls: make(chan *call, 10000)}
	b.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &call{key: r.Header.Get("Idempotency-Key"), came: time.Now(), answer: make(chan func(http.ResponseWriter), 1)}
		b.mu.Lock()
		b.all = append(b.all, c)
		if b.takes {
			c.answer <- taken
		}
		b.mu.Unlock()
		b.calls <- c
		(<-c.answer)(w)
	}))
	t.Cleanup(b.open)
	return b
}

// open has the receiver take whatever comes, and what it has not answered.
func (b *busy) open() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.takes = true
	for _, c := range b.all {
		select {
		case c.answer <- taken:
		default: // answered before
		}
	}
}

func taken(w http.ResponseWriter) { w.WriteHeader(http.StatusAccepted) }

func (b *busy) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.all)
}

func (b *busy) next(t *testing.T) *call {
	t.Helper()
	select {
	case c := <-b.calls:
		return c
	case <-time.After(time.Minute):
		t.Fatal("no request came within a minute")
		return nil
	}
}

// quiet fails when a request starts in the time given.
func (b *busy) quiet(t *testing.T, d time.Duration, when string) {
	t.Helper()
	before := b.count()
	time.Sleep(d)
	if n := b.count() - before; n != 0 {
		t.Errorf("%d requests started %s, want none", n, when)
	}
}

func (b *busy) transport(now func() time.Time) *Webhook {
	roots := x509.NewCertPool()
	roots.AddCert(b.Certificate())
	client := outbound.New(outbound.Config{AllowPrefixes: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, RootCAs: roots})
	return &Webhook{
		Sender:   webhook.NewSender(webhook.Config{Client: client, Now: now, Logger: slog.New(slog.DiscardHandler)}),
		Schedule: webhook.Schedule{Waits: []time.Duration{10 * time.Millisecond}, MaxAttempts: 500}, Now: now,
	}
}

// later is an answer that asks for a backoff of some seconds.
func later(status, seconds int, date bool) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		value := fmt.Sprint(seconds)
		if date {
			value = time.Now().Add(time.Duration(seconds+1) * time.Second).UTC().Format(http.TimeFormat)
		}
		w.Header().Set("Retry-After", value)
		w.WriteHeader(status)
	}
}

// busyChain has a backlog for a busy receiver at an endpoint that takes so many requests at once.
func busyChain(t *testing.T, db *store.DB, concurrency, events int, change ...func(*Config)) (*chain, *busy, store.Subscription) {
	b := newBusy(t)
	c := newChain(t, db, append([]func(*Config){func(cfg *Config) { cfg.Now = time.Now }}, append(change, func(cfg *Config) {
		cfg.Transports = map[string]Transport{store.EndpointWebhook: b.transport(cfg.Now)}
	})...)...)
	s := c.partner("North", "nl.a")
	c.changeEndpoint(s.EndpointID, func(e *store.Endpoint) { e.URL, e.MaxConcurrency, e.TimeoutMS = b.URL, int64(concurrency), 30_000 })
	c.paused(s, func() { c.accept("nl.a", numbers(events)...) })
	return c, b, s
}

// After the first answer with Retry-After nothing starts until its time is over, whatever was claimed ahead; then a single
// request tries, and the others follow one by one more. No attempt and no key is used up by what had to wait.
//
// Rules: EDU-10.
func TestRetryAfterHoldsTheEndpoint(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		concurrency, status int
		date                bool
	}{{1, 429, false}, {1, 503, false}, {16, 429, false}, {16, 503, true}, {1, 429, true}} {
		t.Run(fmt.Sprintf("%d at once, %d, date %t", tt.concurrency, tt.status, tt.date), func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, func(t *testing.T, db *store.DB) {
				const events = 200
				c, b, _ := busyChain(t, db, tt.concurrency, events)
				began := make([]*call, tt.concurrency)
				for i := range began {
					began[i] = b.next(t)
				}
				first := time.Now()
				began[0].answer <- later(tt.status, 1, tt.date)
				b.quiet(t, 300*time.Millisecond, "after the first answer")
				for _, other := range began[1:] { // they had begun before; they ask for the same
					other.answer <- later(tt.status, 1, tt.date)
				}
				probe := b.next(t)
				if waited := probe.came.Sub(first); waited < time.Second {
					t.Errorf("the first request of all came %s after an answer that asked for 1s", waited)
				}
				b.quiet(t, 200*time.Millisecond, "beside the probe")
				again := time.Now()
				probe.answer <- later(tt.status, 1, tt.date)
				probe = b.next(t)
				if waited := probe.came.Sub(again); waited < time.Second {
					t.Errorf("a request came %s after the probe was sent away for 1s", waited)
				}
				b.quiet(t, 200*time.Millisecond, "beside the second probe")
				probe.answer <- taken
				b.rampUp(t, tt.concurrency)
				c.waitFor(func() bool { return c.count(store.DeliveryDelivered) == events })
				b.unharmed(t, c, events)
			})
		})
	}
}

// rampUp takes requests that follow a probe, first two at once, and then as many as the endpoint takes in the end.
func (b *busy) rampUp(t *testing.T, concurrency int) {
	t.Helper()
	waiting := []*call{b.next(t)}
	for width := 2; width <= concurrency; width *= 2 {
		for len(waiting) < width {
			waiting = append(waiting, b.next(t))
		}
		b.quiet(t, 20*time.Millisecond, fmt.Sprintf("beside %d after the probe", width))
		for _, c := range waiting {
			c.answer <- taken
		}
		waiting = nil
	}
	for _, c := range waiting {
		c.answer <- taken
	}
	b.open()
}

// unharmed checks that each event kept one key, and that its attempts are the requests that came.
func (b *busy) unharmed(t *testing.T, c *chain, events int) {
	t.Helper()
	b.mu.Lock()
	requests := len(b.all)
	keys := make(map[string]bool)
	for _, call := range b.all {
		keys[call.key] = true
	}
	b.mu.Unlock()
	if len(keys) != events {
		t.Errorf("%d keys for %d events", len(keys), events)
	}
	rows, _, err := c.db.Deliveries(t.Context(), store.DeliveryFilter{Page: store.Page{Number: 1, Size: events}})
	if err != nil || len(rows) != events {
		t.Fatalf("%d deliveries, %v", len(rows), err)
	}
	attempts := 0
	for _, d := range rows {
		attempts += int(d.Attempts)
	}
	if attempts != requests {
		t.Errorf("%d attempts were counted for %d requests", attempts, requests)
	}
}

// Two nodes share the backoff of an endpoint, and its probe.
//
// Rules: EDU-10.
func TestRetryAfterHoldsOtherNodes(t *testing.T) {
	t.Parallel()
	for _, concurrency := range []int{1, 16} {
		t.Run(fmt.Sprintf("%d at once", concurrency), func(t *testing.T) {
			t.Parallel()
			const events = 400
			second := make(chan *Engine, 1)
			c, b, s := busyChain(t, storetest.Postgres(t), concurrency, 0)
			c.pause(s.EndpointID)
			second <- c.node(200*time.Millisecond, map[string]Transport{store.EndpointWebhook: b.transport(time.Now)})
			for n := range events / 100 {
				ids := make([]string, 100)
				for i := range ids {
					ids[i] = fmt.Sprint(n, " ", i)
				}
				c.accept("nl.a", ids...)
			}
			c.endpoint(s.EndpointID, store.EndpointActive)
			began := make([]*call, 2*concurrency) // both nodes send as much as they may
			for i := range began {
				began[i] = b.next(t)
			}
			first := time.Now()
			began[0].answer <- later(429, 3, false)
			time.Sleep(300 * time.Millisecond) // until the other node has learned of it
			for _, other := range began[1:] {
				other.answer <- later(429, 1, false) // a shorter backoff ends no longer one
			}
			b.quiet(t, time.Second, "within the pause")
			probe := b.next(t)
			if waited := probe.came.Sub(first); waited < 3*time.Second {
				t.Errorf("a request came %s after an answer that asked for 3s", waited)
			}
			b.quiet(t, 500*time.Millisecond, "beside the probe, on either node")
			probe.answer <- taken
			b.rampUp(t, 1)
			c.waitFor(func() bool { return c.count(store.DeliveryDelivered) == events })
			b.unharmed(t, c, events)
		})
	}
}

// A Retry-After that is longer than the Idempotency-Keys live ends the deliveries that wait for it: each is a dead letter with its cause,
// none is tried, and what a person resends waits for its end too, under a new key.
//
// Rules: EDU-10, IDEM-12, IDEM-13.
func TestRetryAfterLongerThanTheKeyLives(t *testing.T) {
	t.Parallel()
	eachWithClock(t, func(t *testing.T, db *store.DB, clock *storetest.Clock) {
		const events = 20
		c, b, _ := busyChain(t, db, 1, events, func(cfg *Config) {
			cfg.Now, cfg.KeyLifetime, cfg.Poll = clock.Now, time.Hour, 50*time.Millisecond
		})
		first := b.next(t)
		first.answer <- later(429, 2*60*60, false)
		c.waitFor(func() bool { return c.count(store.DeliveryDead) == 1 })
		clock.Advance(61 * time.Minute)
		c.waitFor(func() bool { return c.count(store.DeliveryDead) == events })
		rows, _, err := db.Deliveries(t.Context(), store.DeliveryFilter{Page: store.Page{Number: 1, Size: events}})
		must(t, err)
		keys := make(map[string]bool)
		for _, d := range rows {
			keys[d.IdempotencyKey] = true
			if d.Reason != webhook.ReasonKeyExpired || d.Detail == "" {
				t.Errorf("delivery %s is dead for %q: %q", d.ID, d.Reason, d.Detail)
			}
			must(t, c.eng.Resend(t.Context(), Actor{Kind: "user", Name: "Ann"}, d.ID))
		}
		b.quiet(t, 300*time.Millisecond, "within the pause, after a resend")
		clock.Advance(59*time.Minute + time.Second)
		probe := b.next(t)
		b.quiet(t, 100*time.Millisecond, "beside the probe")
		if keys[probe.key[1:len(probe.key)-1]] {
			t.Errorf("key %s was used again after its life", probe.key)
		}
		probe.answer <- taken
		b.rampUp(t, 1)
		c.waitFor(func() bool { return c.count(store.DeliveryDelivered) == events })
	})
}

// The backoff of an endpoint outlives the process.
//
// Rules: EDU-10.
func TestRetryAfterOutlivesARestart(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		const events = 20
		c, b, s := busyChain(t, db, 1, events)
		first := b.next(t)
		began := time.Now()
		first.answer <- later(503, 2, false)
		c.waitFor(func() bool {
			e, err := db.Endpoint(t.Context(), s.EndpointID)
			return err == nil && !e.WaitUntil.IsZero()
		})
		c.stop()
		c.node(50*time.Millisecond, map[string]Transport{store.EndpointWebhook: b.transport(time.Now)})
		probe := b.next(t)
		if waited := probe.came.Sub(began); waited < 2*time.Second {
			t.Errorf("a request came %s after an answer that asked for 2s", waited)
		}
		b.quiet(t, 100*time.Millisecond, "beside the probe")
		probe.answer <- taken
		b.rampUp(t, 1)
		c.waitFor(func() bool { return c.count(store.DeliveryDelivered) == events })
		e, err := db.Endpoint(t.Context(), s.EndpointID)
		if err != nil || !e.WaitUntil.IsZero() || e.ProbeOwner != "" {
			t.Errorf("the wait was not ended: %v, %q, %v", e.WaitUntil, e.ProbeOwner, err)
		}
	})
}

// eachWithClock runs fn on each database with a clock of its own, which stands still.
func eachWithClock(t *testing.T, fn func(t *testing.T, db *store.DB, clock *storetest.Clock)) {
	t.Helper()
	storetest.EachClock(t, fn)
}
