package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"schakel/delivery/event"
	"schakel/store"
	"schakel/store/storetest"
)

// acceptUntil accepts events with a subject whose expirytime is at a moment.
func (c *chain) acceptUntil(until, subject string, ids ...string) Receipt {
	c.Helper()
	s := Submission{ClientID: "cli_" + c.own.ID, PartnerID: c.own.ID, FromOwn: true, Key: uuid.NewString(), Fingerprint: []byte(ids[0])}
	for _, id := range ids {
		ev, err := event.ParseJSON(fmt.Appendf(nil, `{"specversion":"1.0","id":%q,"source":"urn:nld:oin:1","type":"nl.a","subject":%q,"expirytime":%q,"data":{}}`,
			id, subject, until), event.Limits{})
		must(c, err)
		s.Events = append(s.Events, ev)
	}
	r := c.take(s)
	return r
}

func rfc3339(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// expired waits until the delivery of an event is discarded because the event expired.
func (c *chain) expired(eventID string) store.Delivery {
	c.Helper()
	d := c.until(eventID, store.DeliveryDiscarded)
	if d.Reason != "event-expired" || d.Detail == "" || d.LeaseOwner != "" || !d.DueAt.IsZero() {
		c.Errorf("it is %s for %q (%q), leased to %q", d.Status, d.Reason, d.Detail, d.LeaseOwner)
	}
	return d
}

// An event whose expirytime has passed is not sent; one whose expirytime is to come, or cannot be read, is sent like any other.
//
// Rules: CE-24.
func TestExpiredEventsAreNotSent(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		queue := newReceiver()
		c := newChain(t, db, func(cfg *Config) { cfg.Transports[store.EndpointAMQP] = queue })
		s := c.partner("North", "nl.a")
		c.write(func(tx *store.Tx) error { // another endpoint that nothing expired goes to, by AMQP
			e := store.Endpoint{PartnerID: s.PartnerID, Name: "queue", Kind: store.EndpointAMQP, Status: store.EndpointActive, MaxConcurrency: 4, TimeoutMS: 1000}
			if err := tx.InsertEndpoint(t.Context(), &e); err != nil {
				return err
			}
			other := store.Subscription{PartnerID: s.PartnerID, EndpointID: e.ID, Status: store.SubscriptionApproved, Types: []string{"nl.a"}}
			return tx.InsertSubscription(t.Context(), &other)
		})
		over := c.acceptUntil(rfc3339(time.Now().Add(-time.Minute)), "a", "over")
		c.until(c.acceptUntil(rfc3339(time.Now().Add(time.Hour)), "a", "later").Events[0].EventID, store.DeliveryDelivered)
		c.until(c.acceptUntil("next week", "a", "unreadable").Events[0].EventID, store.DeliveryDelivered)
		c.expired(over.Events[0].EventID)
		c.waitFor(func() bool { return c.count(store.DeliveryDiscarded) == 2 && c.count(store.DeliveryDelivered) == 4 })
		for _, got := range append(c.rcv.snapshot(), queue.snapshot()...) {
			if got.Event.CEID == "over" {
				t.Error("it was sent after its expirytime")
			}
		}
	})
}

// clockChain is a chain on both databases with a clock that the test sets.
func clockChain(t *testing.T, fn func(c *chain, clock *storetest.Clock)) {
	storetest.EachClock(t, func(t *testing.T, db *store.DB, clock *storetest.Clock) {
		fn(newChain(t, db, func(cfg *Config) { cfg.Now = clock.Now }), clock)
	})
}

// failsUntil has the receiver fail until a moment by the clock, and ask for another try an hour later.
func (c *chain) failsUntil(clock *storetest.Clock, until time.Time) {
	c.rcv.set(func(store.Claimed) Result {
		now := store.At(clock.Now())
		if now.Before(until) {
			r := failed(store.DeliveryRetrying, 503, now.Add(time.Hour))
			r.Attempt.StartedAt = now
			return r
		}
		r := delivered()
		r.Attempt.StartedAt = now
		return r
	})
}

// An event that expires while its delivery waits for another try is discarded then, and what came behind it in order goes. Neither
// a person nor a job can resend it.
//
// Rules: CE-24, EDU-N09.
func TestEventExpiresWhileItWaits(t *testing.T) { // guarantee G5
	t.Parallel()
	clockChain(t, func(c *chain, clock *storetest.Clock) {
		s := c.partner("North", "nl.a")
		c.ordered(s, "subject")
		c.failsUntil(clock, clock.Now().Add(20*time.Minute))
		head := c.acceptUntil(rfc3339(clock.Now().Add(30*time.Minute)), "a", "head").Events[0].EventID
		next := c.acceptSubject("next", "a").EventID
		d := c.until(head, store.DeliveryRetrying)
		clock.Advance(29 * time.Minute)
		c.eng.Changed()
		c.acceptSubject("other", "b")
		c.waitFor(func() bool { return c.count(store.DeliveryDelivered) == 1 })
		c.until(head, store.DeliveryRetrying)
		clock.Advance(2 * time.Minute)
		c.until(next, store.DeliveryDelivered)
		c.expired(head)
		if sent := len(c.rcv.snapshot()); sent != 3 {
			c.Errorf("%d attempts, want one of each event", sent)
		}
		if n := c.eng.Stats().Expired; n != 1 {
			c.Errorf("the metric counts %d expired, want 1", n)
		}
		admin := Actor{Kind: "account", Name: "admin"}
		if err := c.eng.Resend(c.Context(), admin, d.ID); !errors.Is(err, ErrEventExpired) {
			c.Errorf("resend: %v, want that the event has expired", err)
		}
	})
}

// A dead letter whose event expired since stays where it is: neither a person nor a job resends it.
func TestExpiredDeadLettersAreNotResent(t *testing.T) {
	t.Parallel()
	clockChain(t, func(c *chain, clock *storetest.Clock) {
		c.partner("North", "nl.a")
		c.rcv.set(func(store.Claimed) Result {
			r := failed(store.DeliveryDead, 400, time.Time{})
			r.Attempt.StartedAt = store.At(clock.Now())
			return r
		})
		d := c.until(c.acceptUntil(rfc3339(clock.Now().Add(time.Minute)), "a", "1").Events[0].EventID, store.DeliveryDead)
		clock.Advance(2 * time.Minute)
		admin := Actor{Kind: "account", Name: "admin"}
		if err := c.eng.Resend(c.Context(), admin, d.ID); !errors.Is(err, ErrEventExpired) {
			c.Errorf("resend: %v, want that the event has expired", err)
		}
		j, err := c.eng.StartJob(c.Context(), admin, ActionResend, store.DeliveryFilter{Until: store.At(clock.Now().Add(time.Hour))}, "")
		must(c, err)
		if j = c.ended(j.ID); j.Done != 0 || j.Refused != 1 {
			c.Errorf("the job resent %d and refused %d, want 0 and 1", j.Done, j.Refused)
		}
		if got := c.until(d.EventID, store.DeliveryDead); got.Attempts != 1 {
			c.Errorf("%d attempts, want 1", got.Attempts)
		}
	})
}

// Of a batch that waits for another try a member expires: it is not sent again, and the others go by themselves.
//
// Rules: CE-24, EDU-11.
func TestMemberOfABatchExpires(t *testing.T) {
	t.Parallel()
	for name, open := range storetest.Both() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := storetest.NewClock()
			h := newHook(t)
			transport := h.transport()
			transport.Now = clock.Now
			c := newChain(t, open(t, storetest.WithClock(clock)), func(cfg *Config) {
				cfg.Now, cfg.Transports = clock.Now, map[string]Transport{store.EndpointWebhook: transport}
			})
			s := c.partner("North", "nl.a")
			c.batches(h, s, func(*store.Endpoint) {})
			h.set(func(request) int { return 503 })
			var short string
			c.paused(s, func() {
				c.accept("nl.a", "1", "2")
				short = c.acceptUntil(rfc3339(clock.Now().Add(time.Minute)), "a", "short").Events[0].EventID
			})
			c.until(short, store.DeliveryRetrying)
			c.waitFor(func() bool { return c.count(store.DeliveryRetrying) == 3 })
			before := len(h.all())
			h.set(func(request) int { return 202 })
			clock.Advance(2 * time.Minute)
			c.eng.Changed()
			c.waitFor(func() bool { return c.count(store.DeliveryDelivered) == 2 })
			c.expired(short)
			for _, r := range h.all()[before:] {
				if slices.Contains(r.ids(t), "short") {
					t.Errorf("after its expirytime it was sent in %s", r.body)
				}
			}
		})
	}
}

// stuckPeople records the endpoints it was notified of.
type stuckPeople struct {
	nopNotifier
	mu    sync.Mutex
	heard []string
}

func (p *stuckPeople) DeliveriesStuck(_ context.Context, _ *store.Tx, notices []store.DeliveryNotice) ([]bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	notified := make([]bool, len(notices))
	for i, n := range notices {
		p.heard = append(p.heard, n.EndpointID+" "+n.Status)
		notified[i] = true
	}
	return notified, nil
}

func (p *stuckPeople) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.heard)
}

// People are notified of what a receiver rejects, once, whatever the number of deliveries and of nodes; of later ones in an hour.
func TestPeopleAreToldOfHeldDeliveriesOnce(t *testing.T) {
	t.Parallel()
	for name, open := range storetest.Both() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := storetest.NewClockAt(time.Now())
			db := open(t, storetest.WithClock(clock))
			people := &stuckPeople{}
			c := newChain(t, db, func(cfg *Config) { cfg.Notifier, cfg.Now = people, clock.Now })
			s := c.partner("North", "nl.a")
			c.rcv.set(func(store.Claimed) Result { return failed(store.DeliveryHeld, 400, time.Time{}) })
			c.accept("nl.a", "1", "2", "3")
			c.waitFor(func() bool { return c.count(store.DeliveryHeld) == 3 })

			nodes := make([]*Engine, 4)
			for i := range nodes {
				nodes[i] = New(Config{DB: db, Notifier: people, Now: clock.Now, Log: slog.New(slog.DiscardHandler)})
			}
			tell := func() {
				var all sync.WaitGroup
				for _, n := range nodes {
					all.Go(func() {
						if err := n.notifyStuck(t.Context()); err != nil {
							t.Error(err)
						}
					})
				}
				all.Wait()
			}
			tell()
			if n := people.count(); n != 0 {
				t.Fatalf("told before those right behind the first were counted: %q", people.heard)
			}
			clock.Advance(noticeGather)
			c.waitFor(func() bool { return people.count() > 0 })
			c.accept("nl.a", "4")
			c.waitFor(func() bool { return c.count(store.DeliveryHeld) == 4 })
			tell()
			if n := people.count(); n != 1 {
				t.Fatalf("told %d times within the hour: %q", n, people.heard)
			}
			clock.Advance(noticeEach)
			tell()
			c.waitFor(func() bool { return people.count() >= 2 })
			tell()
			if n := people.count(); n != 2 || people.heard[1] != s.EndpointID+" "+store.DeliveryHeld {
				t.Errorf("told %d times after the hour: %q", n, people.heard)
			}
		})
	}
}
