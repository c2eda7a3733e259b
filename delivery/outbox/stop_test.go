package outbox

import (
	"context"
	"testing"
	"time"

	"schakel/store"
	"schakel/store/storetest"
)

// An engine that stops while a receiver hangs gives the attempt back in time for the parts that stop after it: the stop succeeds,
// and the event goes again under the same key.
//
// Rules: EDU-09, IDEM-11.
func TestStopWhileAReceiverHangs(t *testing.T) { // guarantee G1
	t.Parallel()
	for _, batches := range []int64{0, 10} {
		storetest.Each(t, func(t *testing.T, db *store.DB) {
			const events = 30
			c, b, s := busyChain(t, db, 2, 0)
			c.write(func(tx *store.Tx) error {
				e, err := tx.Endpoint(t.Context(), s.EndpointID)
				if err != nil {
					return err
				}
				e.BatchEvents = batches
				return tx.UpdateEndpoint(t.Context(), &e)
			})
			c.paused(s, func() { c.accept("nl.a", numbers(events)...) })
			hanging := []string{b.next(t).key, b.next(t).key}
			ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
			defer cancel()
			if err := c.eng.Stop(ctx); err != nil {
				t.Errorf("stop: %v", err)
			}
			if until, _ := ctx.Deadline(); time.Until(until) < 300*time.Millisecond {
				t.Errorf("%s are left for the parts that stop later", time.Until(until))
			}
			rows, _, err := db.Deliveries(t.Context(), store.DeliveryFilter{Page: store.Page{Number: 1, Size: events}})
			if err != nil || len(rows) != events {
				t.Fatalf("%d deliveries, %v", len(rows), err)
			}
			for _, d := range rows {
				if d.LeaseOwner != "" || d.Status != store.DeliveryPending && d.Status != store.DeliveryRetrying {
					t.Errorf("delivery %s is %s, leased to %q", d.ID, d.Status, d.LeaseOwner)
				}
			}
			b.open()
			c.node(50*time.Millisecond, map[string]Transport{store.EndpointWebhook: b.transport(time.Now)})
			c.waitFor(func() bool { return c.count(store.DeliveryDelivered) == events })
			for _, key := range hanging {
				if b.times(key) != 2 {
					t.Errorf("key %s was sent %d times, want once more after the stop", key, b.times(key))
				}
			}
		})
	}
}

// times counts the requests with a key.
func (b *busy) times(key string) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.all {
		if c.key == key {
			n++
		}
	}
	return n
}

// A transport that does not heed the end of its context keeps nobody waiting beyond the time of the stop.
func TestStopDoesNotWaitForever(t *testing.T) {
	t.Parallel()
	c := newChain(t, storetest.SQLite(t))
	goOn := make(chan struct{})
	c.rcv.set(func(store.Claimed) Result { <-goOn; return delivered() })
	c.partner("North", "nl.a")
	c.accept("nl.a", "1")
	c.waitFor(func() bool { return len(c.rcv.snapshot()) == 1 })
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	if err := c.eng.Stop(ctx); err != nil {
		t.Error(err)
	}
	close(goOn)
	c.eng.senders.Wait()
}
