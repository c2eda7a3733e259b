package link_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"schakel/delivery/amqp/brokertest"
	"schakel/delivery/amqp/link"
)

// What the broker confirmed is there after it was killed while many sent; what it did
// not confirm is sent again under the same id.
//
// Rules: AMQP-07, AMQP-08, AMQP-121
func TestBrokerKilledUnderLoad(t *testing.T) {
	t.Parallel()
	b := brokertest.StartOwn(t, brokertest.RabbitMQ4, nil)
	p := b.NewParty(t)
	c := connect(t, b.Config())
	const senders, each = 16, 60
	third := make(chan struct{}, senders*each)
	var killed sync.WaitGroup
	killed.Go(func() {
		for range senders * each / 3 {
			<-third
		}
		b.Kill9(t)
		b.Restart(t)
	})
	var sending sync.WaitGroup
	for s := range senders {
		sending.Go(func() {
			for i := range each {
				sendUntilAccepted(t, c, p.Async, fmt.Sprintf("%d-%d", s, i))
				third <- struct{}{}
			}
		})
	}
	sending.Wait()
	killed.Wait()
	seen := receiveAll(t, c, p.Async, senders*each)
	if len(seen) != senders*each {
		t.Errorf("%d of %d messages arrived", len(seen), senders*each)
	}
	if state := c.State(); state.Reconnects == 0 {
		t.Errorf("the state is %+v, want a reconnect", state)
	}
}

// sendUntilAccepted sends a message, with the same id, until the broker says accepted.
func sendUntilAccepted(t *testing.T, c *link.Connection, queue, id string) {
	ctx := within(t)
	for {
		if c.Send(ctx, queue, plain(id)) == nil {
			return
		}
		if ctx.Err() != nil {
			t.Errorf("message %s was never accepted", id)
			return
		}
		_ = c.Wait(ctx)
	}
}

// receiveAll takes messages until so many ids were seen.
func receiveAll(t *testing.T, c *link.Connection, queue string, count int) map[string]int {
	t.Helper()
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	var mu sync.Mutex
	seen := map[string]int{}
	_ = c.Receive(ctx, queue, 50, func(ctx context.Context, d *link.Delivery) error {
		if err := d.Accept(ctx); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		if seen[idOf(d.Message)]++; len(seen) == count {
			cancel()
		}
		return nil
	})
	return seen
}
