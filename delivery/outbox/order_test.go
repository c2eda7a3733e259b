package outbox

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"schakel/delivery/event"
	"schakel/store"
	"schakel/store/storetest"
)

// ordered makes a subscription want its events in order of an attribute.
func (c *chain) ordered(s store.Subscription, attribute string) {
	c.Helper()
	c.write(func(tx *store.Tx) error {
		s, err := tx.Subscription(c.Context(), s.ID)
		if err != nil {
			return err
		}
		s.OrderBy = attribute
		return tx.UpdateSubscription(c.Context(), &s)
	})
}

func (c *chain) acceptSubject(id, subject string) Accepted {
	c.Helper()
	ev, err := event.ParseJSON(fmt.Appendf(nil, `{"specversion":"1.0","id":%q,"source":"urn:nld:oin:1","type":"nl.a","subject":%q}`, id, subject), event.Limits{})
	if err != nil {
		c.Fatal(err)
	}
	r, err := c.eng.Accept(c.Context(), Submission{ClientID: "cli_a", PartnerID: c.own.ID, FromOwn: true, Events: []event.Event{ev}})
	if err != nil {
		c.Fatal(err)
	}
	return r.Events[0]
}

// Rules: EDU-N09.
func TestEventsWithTheSameKeyComeInOrder(t *testing.T) { // guarantee G5
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		c := newChain(t, db)
		c.ordered(c.partner("North", "nl.a"), "subject")
		c.rcv.set(func(store.Claimed) Result {
			if rand.IntN(3) == 0 {
				return failed(store.DeliveryRetrying, 503, time.Now().Add(10*time.Millisecond))
			}
			return delivered()
		})
		const subjects, each = 5, 12
		for n := range each {
			for s := range subjects {
				c.acceptSubject(fmt.Sprintf("%d-%02d", s, n), fmt.Sprint(s))
			}
		}
		c.waitFor(func() bool { return c.count(store.DeliveryDelivered) == subjects*each })
		came := map[string][]string{}
		for _, got := range c.rcv.snapshot() {
			came[got.Event.CESubject] = append(came[got.Event.CESubject], got.Event.CEID)
		}
		for subject, ids := range came {
			if !slices.IsSorted(ids) {
				t.Errorf("subject %s came as %v", subject, ids)
			}
		}
	})
}

func TestRejectedEventHoldsThoseBehindIt(t *testing.T) { // guarantee G5
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		c := newChain(t, db)
		c.ordered(c.partner("North", "nl.a"), "subject")
		c.rcv.set(func(d store.Claimed) Result {
			if d.Event.CEID == "1" {
				return failed(store.DeliveryHeld, 400, time.Time{})
			}
			return delivered()
		})
		first := c.acceptSubject("1", "a")
		rejected := c.until(first.EventID, store.DeliveryHeld)
		second := c.acceptSubject("2", "a")
		c.until(c.acceptSubject("3", "b").EventID, store.DeliveryDelivered) // another key goes on
		waiting := c.until(second.EventID, store.DeliveryPending)
		if behind, err := db.WaitsFor(t.Context(), waiting.ID); err != nil || behind != rejected.ID {
			t.Errorf("it waits for %q, want %q (%v)", behind, rejected.ID, err)
		}
		if err := c.eng.Discard(t.Context(), Actor{Name: "Anna"}, rejected.ID, "sent by hand"); err != nil {
			t.Fatal(err)
		}
		c.until(second.EventID, store.DeliveryDelivered)
	})
}
