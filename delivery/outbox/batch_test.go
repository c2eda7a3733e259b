package outbox

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"schakel/delivery/webhook"
	"schakel/store"
	"schakel/store/storetest"
)

// Rules: EDU-11, CE-56.
func TestBatchesAreFilledInOrder(t *testing.T) {
	eachBatchChain(t, func(t *testing.T, c *chain, h *hook) {
		s := c.partner("North", "nl.a")
		c.batches(h, s, func(*store.Endpoint) {})
		c.paused(s, func() { c.accept("nl.a", numbers(11)...) })
		c.waitFor(func() bool { return c.count(store.DeliveryDelivered) == 11 })
		var sizes []int
		var all []string
		for _, r := range h.all() {
			ids := r.ids(t)
			if r.batch() != (len(ids) > 1) || !slices.IsSorted(ids) {
				t.Errorf("%s with %v", r.kind, ids)
			}
			sizes, all = append(sizes, len(ids)), append(all, ids...)
		}
		slices.Sort(sizes)
		slices.Sort(all)
		if !slices.Equal(sizes, []int{1, 5, 5}) || !slices.Equal(all, numbers(11)) {
			t.Errorf("requests of %v events: %v", sizes, all)
		}
	})
}

func TestBatchesHeedTheirBytes(t *testing.T) {
	eachBatchChain(t, func(t *testing.T, c *chain, h *hook) {
		s := c.partner("North", "nl.a")
		const most = 400
		c.batches(h, s, func(e *store.Endpoint) { e.BatchEvents, e.BatchBytes = 1000, most })
		c.paused(s, func() { c.accept("nl.a", numbers(20)...) })
		c.waitFor(func() bool { return c.count(store.DeliveryDelivered) == 20 })
		for _, r := range h.all() {
			if n := len(r.ids(t)); len(r.body) > most || n < 2 {
				t.Errorf("%d events of %d bytes", n, len(r.body))
			}
		}
	})
}

// Rules: EDU-11, IDEM-09, IDEM-11.
func TestRetriedBatchIsTheSameToTheByte(t *testing.T) {
	eachBatchChain(t, func(t *testing.T, c *chain, h *hook) {
		s := c.partner("North", "nl.a")
		c.batches(h, s, func(*store.Endpoint) {})
		h.set(func(request) int {
			if len(h.all()) < 5 {
				return http.StatusServiceUnavailable
			}
			return http.StatusAccepted
		})
		var r Receipt
		c.paused(s, func() { r = c.accept("nl.a", numbers(4)...) })
		c.waitFor(func() bool { return len(h.all()) > 1 })
		c.accept("nl.a", "another") // does not slip in
		c.waitFor(func() bool { return c.count(store.DeliveryDelivered) == 5 })
		var batches []request
		for _, r := range h.all() {
			if r.batch() {
				batches = append(batches, r)
			}
		}
		if len(batches) < 3 || len(slices.Compact(slices.Clone(batches))) != 1 {
			t.Errorf("the batch was sent as %+v", batches)
		}
		d := c.until(r.Events[3].EventID, store.DeliveryDelivered)
		attempts, err := c.db.Attempts(t.Context(), d.ID)
		if err != nil || len(attempts) != len(batches) || `"`+d.IdempotencyKey+`"` != batches[0].key {
			t.Errorf("%d attempts, %v; key %s", len(attempts), err, d.IdempotencyKey)
		}
		for _, a := range attempts {
			if a.BatchID != d.BatchID || a.BatchID == "" || a.URL != "" {
				t.Errorf("attempt %+v", a)
			}
		}
	})
}

// Rules: EDU-11, IDEM-02, IDEM-11.
func TestOnePoisonousEventDoesNotHoldUpItsBatch(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		for _, code := range []int{400, 413, 415, 422} {
			t.Run(fmt.Sprint(code), func(t *testing.T) {
				c, h := newBatchChain(t, db)
				eventType := fmt.Sprint("nl.a", code)
				s := c.partner("North", eventType)
				c.batches(h, s, func(*store.Endpoint) {})
				h.set(func(r request) int {
					if strings.Contains(r.body, `"id":"`+fmt.Sprint(code)+`-002"`) {
						return code
					}
					return http.StatusAccepted
				})
				ids := numbers(4)
				for i := range ids {
					ids[i] = fmt.Sprintf("%d-%s", code, ids[i])
				}
				var r Receipt
				c.paused(s, func() { r = c.accept(eventType, ids...) })
				held := c.until(r.Events[2].EventID, store.DeliveryHeld)
				keys := map[string]bool{}
				for i, e := range r.Events {
					if i != 2 {
						keys[c.until(e.EventID, store.DeliveryDelivered).IdempotencyKey] = true
					}
				}
				got := h.all()
				if held.Attempts != 2 || len(got) != 5 || !got[0].batch() || len(keys) != 3 || keys[strings.Trim(got[0].key, `"`)] {
					t.Errorf("held %+v; requests %+v", held, got)
				}
				attempts, err := db.Attempts(t.Context(), held.ID)
				if err != nil || attempts[0].BatchID == "" || attempts[1].BatchID != "" {
					t.Errorf("attempts %+v, %v", attempts, err)
				}
				batch, err := db.Batch(t.Context(), attempts[0].BatchID)
				if err != nil || batch.Reason != store.BatchRejected {
					t.Errorf("batch %+v, %v", batch, err)
				}
			})
		}
	})
}

// Guarantee G2 with batches: what was revoked is not sent again with the rest.
//
// Rules: EDU-13, IDEM-11.
func TestRevokedMemberLeavesItsBatch(t *testing.T) {
	eachBatchChain(t, func(t *testing.T, c *chain, h *hook) {
		s := c.partner("North", "nl.a")
		other := store.Subscription{PartnerID: s.PartnerID, EndpointID: s.EndpointID, Status: store.SubscriptionApproved, Types: []string{"nl.b"}}
		c.write(func(tx *store.Tx) error { return tx.InsertSubscription(c.Context(), &other) })
		c.batches(h, s, func(*store.Endpoint) {})
		revoked := make(chan struct{})
		h.set(func(r request) int {
			if !r.batch() {
				return http.StatusAccepted
			}
			if len(h.all()) == 1 {
				<-revoked
			}
			return http.StatusServiceUnavailable
		})
		c.paused(s, func() {
			c.accept("nl.a", "a1", "a2")
			c.accept("nl.b", "b1")
		})
		c.waitFor(func() bool { return len(h.all()) >= 1 })
		c.status(other, store.SubscriptionSuspended)
		close(revoked)
		c.waitFor(func() bool { return c.count(store.DeliveryDelivered) == 2 && c.count(store.DeliveryHeld) == 1 })
		got := h.all()
		if len(got) != 3 || len(got[0].ids(t)) != 3 {
			t.Fatalf("requests %+v", got)
		}
		for _, r := range got[1:] {
			if r.batch() || strings.Contains(r.body, `"b1"`) || r.key == got[0].key {
				t.Errorf("after the revocation: %+v", r)
			}
		}
		c.status(other, store.SubscriptionApproved)
		c.waitFor(func() bool { return c.count(store.DeliveryDelivered) == 3 })
	})
}

// A node that dies between freezing and sending, or before it wrote what came of it, leaves batches that go out the same.
//
// Rules: IDEM-09, IDEM-11.
func TestFrozenBatchSurvivesItsNode(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r := rand.New(rand.NewPCG(7, 9))
		for round := range 8 {
			c, h := newBatchChain(t, db)
			eventType := fmt.Sprint("nl.a", round)
			s := c.partner("North", eventType)
			n, events, bytes := 2+r.IntN(30), 2+r.Int64N(9), 200+r.Int64N(2000)
			c.batches(h, s, func(e *store.Endpoint) { e.BatchEvents, e.BatchBytes = events, bytes })
			c.pause(s.EndpointID)
			ids := numbers(n)
			for i := range ids {
				ids[i] = fmt.Sprint(round, "-", i, strings.Repeat("x", r.IntN(100)))
			}
			c.accept(eventType, ids...)
			dead := c.dies(s.EndpointID)
			c.endpoint(s.EndpointID, store.EndpointActive)
			c.waitFor(func() bool {
				left, err := db.CountDeliveries(t.Context(), store.DeliveryFilter{EndpointID: s.EndpointID, Statuses: []string{store.DeliveryPending, store.DeliveryRetrying}})
				return err == nil && left == 0
			})
			var sent []string
			for _, r := range h.all() {
				if r.batch() {
					sent = append(sent, r.key+r.body)
				}
			}
			slices.Sort(sent)
			slices.Sort(dead)
			if !slices.Equal(slices.Compact(sent), dead) { // on a busy machine one may go twice, with its key
				t.Fatalf("frozen %v, sent %v", dead, sent)
			}
			c.stop()
		}
	})
}

// dies claims for an endpoint as a node that dies right after, and returns what that would have sent.
func (c *chain) dies(endpointID string) (sent []string) {
	c.Helper()
	dead := New(Config{DB: c.db})
	ep, err := c.db.Endpoint(c.Context(), endpointID)
	must(c, err)
	q := newEndpointQueue(ep)
	var got claimedWork
	c.write(func(tx *store.Tx) (err error) {
		got, err = dead.claimQueue(context.Background(), tx, claimRequest{queue: q, room: 100, terms: q.terms})
		return err
	})
	for _, b := range got.batches {
		sent = append(sent, `"`+b.batch.IdempotencyKey+`"`+string(b.body))
	}
	c.write(func(tx *store.Tx) error { _, err := tx.FreeLeases(c.Context(), dead.node); return err }) // as when they end
	return sent
}

// Rules: EDU-11.
func TestBatchWaitsToBeFilled(t *testing.T) {
	eachBatchChain(t, func(t *testing.T, c *chain, h *hook) {
		s := c.partner("North", "nl.a")
		c.batches(h, s, func(e *store.Endpoint) { e.BatchEvents, e.BatchWaitMS = 4, 3_600_000 })
		for _, id := range numbers(7) {
			c.accept("nl.a", id)
		}
		c.waitFor(func() bool { return c.count(store.DeliveryDelivered) == 4 })
		if got := h.all(); len(got) != 1 || !slices.Equal(got[0].ids(t), numbers(4)) {
			t.Errorf("requests %+v", got)
		}
		// The rest goes once it has waited as long as it may, which is no time at all now.
		c.batches(h, s, func(e *store.Endpoint) { e.BatchEvents, e.BatchWaitMS = 4, 1 })
		c.waitFor(func() bool { return c.count(store.DeliveryDelivered) == 7 })
		if got := h.all(); len(got) != 2 || len(got[1].ids(t)) != 3 {
			t.Errorf("requests %+v", got)
		}
	})
}

func TestResentMemberGoesByItself(t *testing.T) {
	eachBatchChain(t, func(t *testing.T, c *chain, h *hook) {
		s := c.partner("North", "nl.a")
		c.batches(h, s, func(*store.Endpoint) {})
		h.set(func(r request) int {
			if r.batch() {
				return http.StatusNotFound
			}
			return http.StatusAccepted
		})
		var r Receipt
		c.paused(s, func() { r = c.accept("nl.a", "1", "2") })
		d := c.until(r.Events[0].EventID, store.DeliveryHeld)
		must(t, c.eng.Resend(t.Context(), Actor{Kind: "account"}, d.ID))
		again := c.until(r.Events[0].EventID, store.DeliveryDelivered)
		if got := h.all(); len(got) != 2 || got[1].batch() || again.IdempotencyKey == d.IdempotencyKey {
			t.Errorf("requests %+v; key %s, was %s", got, again.IdempotencyKey, d.IdempotencyKey)
		}
	})
}

// What comes in together goes in batches without a claim; what fills no batch goes too, unless the endpoint asks to wait for more
// or has as many requests under way as it takes. That is so while nothing may wait for the endpoint: so no poll and no
// notification of what was set up before may come between.
//
// Rules: EDU-11, IDEM-11.
func TestBatchesAreHandedOver(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		wait   int64 // of batches, seconds
		busy   bool
		handed int
	}{
		{name: "at once", handed: 12},
		{name: "waiting for more", wait: 1, handed: 10},
		{name: "all slots taken", busy: true, handed: 10},
	} {
		t.Run(c.name, func(t *testing.T) { handBatchesOver(t, c.wait*1000, c.busy, c.handed) })
	}
}

func handBatchesOver(t *testing.T, waitMS int64, busy bool, handed int) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := newHook(t)
		heard := make(chan struct{}, 1)
		c := newChain(t, db, func(cfg *Config) {
			cfg.Transports, cfg.Poll = map[string]Transport{store.EndpointWebhook: h.transport()}, time.Hour
			cfg.OnReady = func(endpoints map[string]struct{}) {
				if _, last := endpoints["ept_last"]; last {
					signal(heard)
				}
			}
		})
		s := c.partner("North", "nl.a")
		c.batches(h, s, func(ep *store.Endpoint) { ep.BatchWaitMS = waitMS })
		if db.Dialect() == store.Postgres { // notifications come in their order
			c.waitFor(func() bool {
				c.write(func(tx *store.Tx) error { return tx.Notify(t.Context(), "node_other ept_last") })
				select {
				case <-heard:
					return true
				default:
					return false // it may not listen yet
				}
			})
		}
		c.waitFor(func() bool {
			c.eng.mu.Lock()
			defer c.eng.mu.Unlock()
			return c.eng.queues[s.EndpointID].acceptsDirect(time.Now())
		})
		if busy {
			q := c.eng.queues[s.EndpointID]
			q.requests.Add(int64(cap(q.slots)))
		}
		c.accept("nl.a", numbers(12)...)
		c.waitFor(func() bool { return c.count(store.DeliveryDelivered) == 12 })
		if got := c.eng.stats.handed.Load(); got != int64(handed) {
			t.Errorf("%d deliveries were handed over, want %d", got, handed)
		}
		rows, _, err := db.Deliveries(t.Context(), store.DeliveryFilter{EndpointID: s.EndpointID})
		must(t, err)
		for _, d := range rows {
			b, err := db.Batch(t.Context(), d.BatchID)
			if err != nil || d.IdempotencyKey != b.IdempotencyKey || !slices.Contains(b.Members, d.ID) || d.KeyExpiresAt != b.KeyExpiresAt {
				t.Errorf("delivery %+v of batch %+v, %v", d, b, err)
			}
		}
		got := h.all()
		slices.SortFunc(got, func(a, b request) int { return len(b.ids(t)) - len(a.ids(t)) }) // they go side by side
		if len(got) != 3 || slices.ContainsFunc(got, func(r request) bool { return !r.batch() }) || len(got[2].ids(t)) != 2 {
			t.Errorf("requests %+v", got)
		}
	})
}

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
				must(t, c.eng.Resend(t.Context(), Actor{Kind: "account", Name: "admin"}, d.ID))
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
