package outbox

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"schakel/store"
	"schakel/store/storetest"
)

// One event to three subscriptions is three keys and one id. All of it is in the outbox when the event was accepted, before
// anything is sent.
//
// Rules: IDEM-06, IDEM-09, IDEM-10, IDEM-I03, IDEM-X02, IDEM-X03.
func TestEachDeliveryHasAKeyOfItsOwn(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		c := newChain(t, db)
		release := make(chan struct{})
		c.rcv.set(func(store.Claimed) Result { <-release; return delivered() })
		defer close(release)
		for _, name := range []string{"North", "South", "East"} {
			c.partner(name, "nl.a")
		}
		keys := map[string]bool{}
		for _, accepted := range c.accept("nl.a", "1", "2").Events {
			rows, err := db.DeliveriesOf(t.Context(), accepted.EventID)
			if err != nil || len(rows) != 3 {
				t.Fatalf("%d deliveries, %v", len(rows), err)
			}
			for _, d := range rows {
				id, err := uuid.Parse(d.IdempotencyKey)
				if err != nil || id.Version() != 4 || id.Variant() != uuid.RFC4122 || d.KeyExpiresAt.IsZero() {
					t.Errorf("key %q until %v: %v", d.IdempotencyKey, d.KeyExpiresAt, err)
				}
				keys[d.IdempotencyKey] = true
			}
			if ev, err := db.Event(t.Context(), accepted.EventID); err != nil || ev.CEID != accepted.ID || ev.CESource != "urn:nld:oin:1" {
				t.Errorf("event %+v, %v", ev, err)
			}
		}
		if len(keys) != 6 {
			t.Errorf("%d keys for 6 deliveries", len(keys))
		}
	})
}

// Old and new version of a type run side by side: each subscription gets what it asked for.
//
// Rules: EDU-08, CE-16.
func TestVersionsOfATypeRunSideBySide(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		c := newChain(t, db)
		old, current, both := c.partner("Old", "nl.a.v1"), c.partner("New", "nl.a.v2"), c.partner("Both", "nl.a.v1", "nl.a.v2")
		c.accept("nl.a.v1", "1")
		c.accept("nl.a.v2", "2")
		c.waitFor(func() bool { return c.count(store.DeliveryDelivered) == 4 })
		got := map[string]string{}
		for _, d := range c.rcv.snapshot() {
			got[d.Delivery.SubscriptionID] += d.Event.CEType + " "
		}
		if got[old.ID] != "nl.a.v1 " || got[current.ID] != "nl.a.v2 " || len(got[both.ID]) != len("nl.a.v1 nl.a.v2 ") {
			t.Errorf("got %v", got)
		}
	})
}

// addresses is a transport that records the address of each attempt, and fails at all but the last address.
type addresses struct {
	went chan string
	last string // the address that takes
}

// Send implements Transport.
func (a *addresses) Send(_ context.Context, e store.Endpoint, _ store.Claimed) Result {
	a.went <- e.URL
	if e.URL == a.last {
		return delivered()
	}
	return failed(store.DeliveryRetrying, 503, time.Now().Add(50*time.Millisecond))
}

// After a partner changed its endpoint the old one gets nothing more, and what was waiting goes to the new one.
//
// Rules: EDU-07a, EDU-08.
func TestNewDeliveryPointGetsWhatWaits(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		transport := &addresses{went: make(chan string, 1000), last: "https://new.example.nl"}
		c := newChain(t, db, func(cfg *Config) { cfg.Transports = map[string]Transport{store.EndpointWebhook: transport} })
		s := c.partner("North", "nl.a")
		move := func(url string) {
			c.write(func(tx *store.Tx) error {
				e, err := tx.Endpoint(t.Context(), s.EndpointID)
				if err != nil {
					return err
				}
				e.URL = url
				return tx.UpdateEndpoint(t.Context(), &e)
			})
		}
		move("https://old.example.nl")
		c.accept("nl.a", "1", "2", "3")
		for range 3 {
			if url := <-transport.went; url != "https://old.example.nl" {
				t.Fatalf("went to %s", url)
			}
		}
		move("https://new.example.nl")
		c.waitFor(func() bool { return c.count(store.DeliveryDelivered) == 3 })
		for range len(transport.went) {
			<-transport.went
		}
		c.accept("nl.a", "4")
		if url := <-transport.went; url != transport.last {
			t.Errorf("a later event went to %s", url)
		}
	})
}
