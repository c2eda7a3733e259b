package outbox

import (
	"fmt"
	"testing"
	"time"

	"schakel/store"
	"schakel/store/storetest"
)

// traffic adds up what was counted in the last hour at an endpoint, or at all.
func (c *chain) traffic(endpoints ...string) (sum store.Traffic) {
	c.Helper()
	points, err := c.db.Traffic(c.Context(), endpoints, store.LastHour, store.At(time.Now()))
	must(c, err)
	for _, p := range points {
		sum.Accepted, sum.Made, sum.Delivered, sum.Failed = sum.Accepted+p.Accepted, sum.Made+p.Made, sum.Delivered+p.Delivered, sum.Failed+p.Failed
		for i := range p.Latency {
			sum.Latency[0] += p.Latency[i]
		}
	}
	return sum
}

// What the engine counted is written when it stops, and equals what was sent; duplicates are no new events.
func TestTrafficEqualsWhatWasSent(t *testing.T) {
	eachChain(t, func(t *testing.T, c *chain) {
		good, bad := c.partner("North", "nl.a"), c.partner("South", "nl.a")
		c.rcv.set(func(d store.Claimed) Result {
			if d.EndpointID == bad.EndpointID {
				return Result{Status: store.DeliveryHeld, Reason: "rejected", Attempt: store.Attempt{StatusCode: 400, StartedAt: store.At(time.Now())}}
			}
			return delivered()
		})
		ids := make([]string, 30)
		for i := range ids {
			ids[i] = fmt.Sprint("event-", i)
		}
		c.accept("nl.a", ids...)
		c.accept("nl.a", ids[:5]...)
		c.waitFor(func() bool { return c.count(store.DeliveryDelivered) == 30 && c.count(store.DeliveryHeld) == 30 })
		must(t, c.eng.Stop(t.Context()))
		if got, want := c.traffic(good.EndpointID), (store.Traffic{Made: 30, Delivered: 30, Latency: store.Latencies{30}}); got != want {
			t.Errorf("good: %+v, want %+v", got, want)
		}
		if got, want := c.traffic(bad.EndpointID), (store.Traffic{Made: 30, Failed: 30}); got != want {
			t.Errorf("bad: %+v, want %+v", got, want)
		}
		if got, want := c.traffic(store.AllEndpoints), (store.Traffic{Accepted: 30, Made: 60, Delivered: 30, Failed: 30, Latency: store.Latencies{30}}); got != want {
			t.Errorf("all: %+v, want %+v", got, want)
		}
	})
}

// Several nodes add to the same counts.
func TestTrafficOfSeveralNodes(t *testing.T) {
	t.Parallel()
	c := newChain(t, storetest.Postgres(t))
	s := c.partner("North", "nl.a")
	other := c.node(200*time.Millisecond, map[string]Transport{store.EndpointWebhook: newReceiver()})
	for i := range 100 {
		submission := c.submission(c.own.ID, true, "nl.a", fmt.Sprint("event-", i))
		_, err := []*Engine{c.eng, other}[i%2].Accept(t.Context(), submission)
		must(t, err)
	}
	c.waitFor(func() bool { return c.count(store.DeliveryDelivered) == 100 })
	must(t, other.Stop(t.Context()))
	must(t, c.eng.Stop(t.Context()))
	want := store.Traffic{Made: 100, Delivered: 100, Latency: store.Latencies{100}}
	if got := c.traffic(s.EndpointID); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
