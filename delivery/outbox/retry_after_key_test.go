package outbox

import (
	"testing"
	"time"

	"schakel/delivery/webhook"
	"schakel/store"
	"schakel/store/storetest"
)

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
		if err != nil {
			t.Fatal(err)
		}
		keys := make(map[string]bool)
		for _, d := range rows {
			keys[d.IdempotencyKey] = true
			if d.Reason != webhook.ReasonKeyExpired || d.Detail == "" {
				t.Errorf("delivery %s is dead for %q: %q", d.ID, d.Reason, d.Detail)
			}
			if err := c.eng.Resend(t.Context(), Actor{Kind: "user", Name: "Ann"}, d.ID); err != nil {
				t.Fatal(err)
			}
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
