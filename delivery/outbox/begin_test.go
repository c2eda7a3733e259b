package outbox

import (
	"testing"
	"time"

	"schakel/store"
	"schakel/store/storetest"
)

// An attempt that waited for its turn does not begin when its key expired meanwhile, nor when little is left of its lease.
//
// Rules: IDEM-12.
func TestAttemptsThatWaitedTooLong(t *testing.T) {
	t.Parallel()
	c := newChain(t, storetest.SQLite(t))
	sub := c.partner("North", "nl.a")
	ep, err := c.db.Endpoint(t.Context(), sub.EndpointID)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	may := func() (bool, error) { return true, nil }
	for _, tt := range []struct {
		name       string
		lease, key time.Duration
		want       bool
	}{
		{"in time", time.Hour, time.Hour, true},
		{"the key expired", time.Hour, -time.Second, false},
		{"the lease is nearly over", time.Second, time.Hour, false},
	} {
		claimed := store.Claimed{Delivery: store.Delivery{
			SubscriptionID: sub.ID, DueAt: store.At(now.Add(tt.lease)), KeyExpiresAt: store.At(now.Add(tt.key)),
		}}
		if got := c.eng.mayBegin(t.Context(), newEndpointQueue(ep), &ep, &claimed, "", may); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// What was not tried because its lease is over may be in this node's hands again: that lease stays.
func TestAnEndedLeaseIsNotGivenBack(t *testing.T) {
	t.Parallel()
	c := newChain(t, storetest.SQLite(t))
	sub := c.partner("North", "nl.a")
	release := make(chan struct{})
	c.rcv.set(func(store.Claimed) Result { <-release; return delivered() })
	r := c.accept("nl.a", "1")
	var d store.Delivery
	c.waitFor(func() bool {
		d = c.until(r.Events[0].EventID, store.DeliveryPending)
		return d.LeaseOwner == c.eng.node
	})
	c.write(func(tx *store.Tx) error {
		lease := store.LeaseOf(&d)
		lease.Number-- // of the claim before
		old := sendResult{lease: lease, result: new(Result), subID: sub.ID}
		_, err := c.eng.writeOutcomes(t.Context(), tx, []sendResult{old})
		return err
	})
	if now, err := c.db.Delivery(t.Context(), d.ID); err != nil || now.LeaseOwner != c.eng.node {
		t.Errorf("lease of %q, %v, want that of this node", now.LeaseOwner, err)
	}
	close(release)
	c.until(r.Events[0].EventID, store.DeliveryDelivered)
}
