package outbox

import (
	"testing"
	"time"

	"schakel/delivery/webhook"
	"schakel/store"
	"schakel/store/storetest"
)

// A member of a batch that is dead goes by itself when a person resends it, and so under a key of its own: by the key of the batch a
// receiver that had handled it would answer for all of the batch, or reject it for its other content. That holds after a 503 as
// well, where an event that was alone keeps its key.
//
// Rules: IDEM-11, EDU-11.
func TestDeadMemberIsResentUnderItsOwnKey(t *testing.T) {
	t.Parallel()
	for name, status := range map[string]int{"after 503": 503, "after 501": 501, "after 409": 409} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, func(t *testing.T, db *store.DB) {
				h := newHook(t)
				transport := h.transport()
				transport.Schedule = webhook.Schedule{Waits: []time.Duration{10 * time.Millisecond}, MaxAttempts: 2}
				c := newChain(t, db, func(cfg *Config) { cfg.Transports = map[string]Transport{store.EndpointWebhook: transport} })
				s := c.partner("North", "nl.a")
				c.batches(h, s, func(*store.Endpoint) {})
				h.set(func(request) int { return status })
				var r Receipt
				c.paused(s, func() { r = c.accept("nl.a", "1", "2", "3") })
				c.waitFor(func() bool { return c.count(store.DeliveryDead) == 3 })
				keys := map[string]bool{}
				for _, got := range h.all() {
					if !got.batch() || len(got.ids(t)) != 3 {
						t.Fatalf("before the resend came %+v", got)
					}
					keys[got.key] = true
				}
				if len(keys) != 1 {
					t.Fatalf("the batch was sent under %d keys, want 1", len(keys))
				}
				before := len(h.all())
				h.set(func(request) int { return 202 })
				d := c.until(r.Events[1].EventID, store.DeliveryDead)
				if d.LastStatus != int64(status) {
					t.Fatalf("last status %d, want %d", d.LastStatus, status)
				}
				if err := c.eng.Resend(t.Context(), Actor{Kind: "account", Name: "admin"}, d.ID); err != nil {
					t.Fatal(err)
				}
				c.until(r.Events[1].EventID, store.DeliveryDelivered)
				for _, got := range h.all()[before:] {
					if got.batch() || keys[got.key] {
						t.Errorf("resent as %+v, want alone under a key of its own", got)
					}
				}
			})
		})
	}
}
