package link_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"schakel/delivery/amqp/brokertest"
	"schakel/delivery/amqp/link"
)

// Only the outcome accepted is a success, and an error reports whether the message may have been written.
//
// Rules: AMQP-07, AMQP-06
func TestSendOutcomes(t *testing.T) {
	t.Parallel()
	want := map[string]link.Kind{
		"accept": "", "release": link.Released, "modify": link.Modified, "reject": link.Rejected, "silent": link.Lost,
		"drop": link.Lost, "close": link.Unavailable, "detach": link.Lost, "stall": link.Blocked, "unknown": link.NotFound,
	}
	queues := map[string]brokertest.Behaviour{}
	for name := range want {
		if name != "unknown" {
			queues[name] = brokertest.Behaviour(name)
		}
	}
	b := brokertest.StartScripted(t, queues)
	for name, kind := range want {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := connect(t, link.Config{URL: b.URL, Dialect: link.ServiceBus(), SendTimeout: time.Second})
			err := c.Send(within(t), name, plain(name))
			if got := link.KindOf(err); got != kind || (err == nil) != (kind == "") {
				t.Errorf("Send gave %v of kind %q, want %q", err, got, kind)
			}
		})
	}
}

// A broker that cannot take a message at this moment says so in many ways, of which none is a fault of the message.
//
// Rules: AMQP-08
func TestSendToBusyBroker(t *testing.T) {
	t.Parallel()
	busy := []string{
		"com.microsoft:server-busy", "com.microsoft:timeout", "com.microsoft:operation-cancelled", "com.microsoft:entity-disabled",
		"amqp:internal-error", "amqp:resource-limit-exceeded", "amqp:link:detach-forced", "amqp:connection:forced",
	}
	refused := []string{"amqp:not-allowed", "amqp:precondition-failed", "com.microsoft:argument-error", "amqp:decode-error"}
	queues := map[string]brokertest.Behaviour{}
	for _, condition := range slices.Concat(busy, refused) {
		queues["rejects "+condition] = brokertest.Rejects(condition, 0)
		queues["refuses "+condition] = brokertest.Refuses(condition, 0)
	}
	b := brokertest.StartScripted(t, queues)
	c := connect(t, link.Config{URL: b.URL, Dialect: link.ServiceBus()})
	for _, condition := range slices.Concat(busy, refused) {
		want := link.Rejected
		if slices.Contains(busy, condition) {
			want = link.Busy
		}
		if err := c.Send(within(t), "rejects "+condition, plain("1")); link.KindOf(err) != want || !strings.Contains(err.Error(), condition) {
			t.Errorf("rejected for %s: %v, want %s", condition, err, want)
		}
		if err := c.Send(within(t), "refuses "+condition, plain("1")); link.KindOf(err) != link.Unavailable {
			t.Errorf("attach refused for %s: %v", condition, err)
		}
	}
}

// A queue that is full and rejects what comes is busy, and takes the message when there is room. (RabbitMQ 3.10 ends the connection
// in place of an outcome.)
//
// Rules: AMQP-08
func TestSendToFullQueue(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, brokertest.RabbitMQ4)
	c := connect(t, b.Config())
	queue := b.NewParty(t).Async + "_full"
	b.Queue(t, queue, map[string]any{"x-max-length": 1, "x-overflow": "reject-publish"})
	must(t, c.Send(within(t), queue, plain("1")))
	if err := c.Send(within(t), queue, plain("2")); link.KindOf(err) != link.Busy {
		t.Errorf("a full queue gave %v, want busy", err)
	}
	take(t, c, queue, 1, accept)
	if err := c.Send(within(t), queue, plain("2")); err != nil {
		t.Error(err)
	}
}

// What cannot be sent because the broker is away fails at once and is sent when it is back; a link that was lost is made again.
//
// Rules: AMQP-08
func TestSendAgainAfterLoss(t *testing.T) {
	t.Parallel()
	b := brokertest.StartScripted(t, map[string]brokertest.Behaviour{"drop": "drop", "accept": "accept"})
	c := connect(t, link.Config{URL: b.URL, Dialect: link.ServiceBus()})
	must(t, c.Send(within(t), "accept", plain("1")))
	if kind := link.KindOf(c.Send(within(t), "drop", plain("2"))); kind != link.Lost {
		t.Errorf("the kind is %q, want lost", kind)
	}
	for ctx := within(t); ; {
		err := c.Send(ctx, "accept", plain("3"))
		if err == nil {
			break
		}
		if kind := link.KindOf(err); kind != link.Unavailable && kind != link.Lost || ctx.Err() != nil {
			t.Fatalf("Send gave %v", err)
		}
		_ = c.Wait(ctx)
	}
	if state := c.State(); state.Phase != link.Opened || state.Reconnects == 0 || state.Error == "" {
		t.Errorf("the state is %+v, want open, with a reconnect and the last error", state)
	}
}

// A queue that is not there is an error, is never made, and is found as soon as it is there.
//
// Rules: AMQP-06, AMQP-46, AMQP-107
func TestUnknownQueue(t *testing.T) {
	onBrokers(t, func(t *testing.T, b *brokertest.Broker) {
		c := connect(t, b.Config())
		p := b.NewParty(t)
		queue := p.Async + "_not_there"
		for name, err := range map[string]error{
			"Send": c.Send(within(t), queue, plain("1")), "Exists": c.Exists(within(t), queue),
		} {
			if kind := link.KindOf(err); kind != link.NotFound {
				t.Errorf("%s gave %v of kind %q, want not-found", name, err, kind)
			}
		}
		if slices.Contains(b.Queues(t), queue) {
			t.Error("the queue was made")
		}
		if err := c.Exists(within(t), p.Async); err != nil {
			t.Error(err)
		}
		b.Queue(t, queue, nil)
		if err := c.Send(within(t), queue, plain("2")); err != nil {
			t.Error(err)
		}
	})
}

// Through an exchange a message reaches the queue; where none is bound it is not sent.
//
// Rules: AMQP-06, AMQP-20
func TestSendThroughNamespace(t *testing.T) {
	onBrokers(t, func(t *testing.T, b *brokertest.Broker) {
		p := b.NewParty(t)
		cfg := b.Config()
		cfg.Namespace = "NHNTestServiceBus" + p.Async
		b.Exchange(t, cfg.Namespace, p.Async)
		c := connect(t, cfg)
		must(t, c.Send(within(t), p.Async, plain("1")))
		if got := idOf(take(t, c, p.Async, 1, accept)[0].Message); got != "1" {
			t.Errorf("received %s", got)
		}
		if b.Version == brokertest.RabbitMQ4 {
			if kind := link.KindOf(c.Send(within(t), p.Sync, plain("2"))); kind != link.Released {
				t.Errorf("a message for a queue that is not bound gave %q, want released", kind)
			}
		}
	})
}

// A user without the right to write is refused with an error.
func TestSendDenied(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, brokertest.RabbitMQ4)
	p := b.NewParty(t)
	b.User(t, "reader-"+p.Async, "secret", "^$", ".*")
	cfg := b.Config()
	cfg.Username, cfg.Password = "reader-"+p.Async, "secret"
	c := connect(t, cfg)
	if kind := link.KindOf(c.Send(within(t), p.Async, plain("1"))); kind != link.Denied {
		t.Errorf("the kind is %q, want denied", kind)
	}
}

// A message over the broker's limit is refused before it counts as sent.
func TestSendTooLarge(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, brokertest.RabbitMQ4)
	p := b.NewParty(t)
	c := connect(t, b.Config())
	large := plain("large")
	large.Data = [][]byte{make([]byte, 17<<20)}
	if kind := link.KindOf(c.Send(within(t), p.Async, large)); kind != link.TooLarge {
		t.Errorf("the kind is %q, want too-large", kind)
	}
	if err := c.Send(within(t), p.Async, plain("small")); err != nil {
		t.Errorf("the next message: %v", err)
	}
}

// One who no longer waits gets an answer, and the link stays good for the others.
func TestSendGivenUp(t *testing.T) {
	t.Parallel()
	b := brokertest.StartScripted(t, map[string]brokertest.Behaviour{"silent": "silent", "accept": "accept"})
	c := connect(t, link.Config{URL: b.URL, Dialect: link.ServiceBus(), SendTimeout: 2 * time.Second})
	ctx, cancel := context.WithCancel(within(t))
	result := make(chan error, 1)
	go func() { result <- c.Send(ctx, "silent", plain("1")) }()
	b.Await(t, func(e brokertest.Event) bool { return e.Event == "transfer" })
	cancel()
	if err := <-result; link.KindOf(err) != link.Lost || !errors.Is(err, context.Canceled) {
		t.Errorf("Send gave %v, want lost and canceled", err)
	}
	if err := c.Send(within(t), "accept", plain("2")); err != nil {
		t.Error(err)
	}
}

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

// BenchmarkBrokerCeiling measures RabbitMQ 4 and this package with messages of 4 KB on quorum queues and nothing else: sent by 64
// at once and accepted, received and accepted. The bridge cannot be faster.
func BenchmarkBrokerCeiling(b *testing.B) {
	broker := brokertest.Start(b, brokertest.RabbitMQ4)
	p := broker.NewParty(b)
	c := connect(b, broker.Config())
	body := make([]byte, 4096)
	send := func(b *testing.B) {
		var next atomic.Int64
		b.SetParallelism(32)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				m := plain(fmt.Sprint(next.Add(1)))
				m.Data = [][]byte{body}
				if err := c.Send(context.Background(), p.Async, m); err != nil {
					b.Error(err)
				}
			}
		})
	}
	b.Run("send", func(b *testing.B) {
		send(b)
		perSecond(b)
		b.StopTimer()
		drain(b, c, p.Async, b.N)
	})
	b.Run("receive", func(b *testing.B) {
		send(b)
		b.ResetTimer()
		drain(b, c, p.Async, b.N)
		perSecond(b)
	})
}

func perSecond(b *testing.B) { b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s") }

func drain(b *testing.B, c *link.Connection, queue string, count int) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var left atomic.Int64
	left.Store(int64(count))
	_ = c.Receive(ctx, queue, 200, func(ctx context.Context, d *link.Delivery) error {
		if err := d.Accept(ctx); err != nil {
			return err
		}
		if left.Add(-1) == 0 {
			cancel()
		}
		return nil
	})
}
