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

// A key with a backlog is sent without a claim for each delivery, in order, and stops at the first that does not arrive: what
// was claimed behind it is given back, and goes when that one has arrived (guarantee G5).
func TestRunStopsAtTheFirstFailure(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		c := newChain(t, db)
		sub := c.partner("North", "nl.a")
		c.ordered(sub, "subject")
		c.endpoint(sub.EndpointID, store.EndpointPaused)
		const events = 60
		var last Accepted
		for n := range events {
			last = c.acceptSubject(fmt.Sprintf("%03d", n), "a")
		}
		failedOnce := false
		c.rcv.set(func(d store.Claimed) Result {
			if d.Event.CEID == "040" && !failedOnce {
				failedOnce = true
				return failed(store.DeliveryRetrying, 503, time.Now().Add(50*time.Millisecond))
			}
			return delivered()
		})
		c.endpoint(sub.EndpointID, store.EndpointActive)
		c.until(last.EventID, store.DeliveryDelivered)
		var came []string
		runs := 0
		for _, d := range c.rcv.snapshot() {
			came = append(came, d.Event.CEID)
			if !d.Behind {
				runs++
			}
		}
		if len(came) != events+1 || !slices.IsSorted(came) || came[40] != "040" || came[41] != "040" {
			t.Errorf("came as %v", came)
		}
		if runs > events/3 {
			t.Errorf("%d deliveries were claimed in %d claims", events, runs)
		}
	})
}
