package link_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	amqp "github.com/Azure/go-amqp"
	"schakel/delivery/amqp/brokertest"
	"schakel/delivery/amqp/link"
)

// A message whose handling always fails is handed out exactly ten times and is then in
// the dead-letter queue of its dialect, unchanged; put back it is handed out again.
//
// Rules: AMQP-45, AMQP-11, AMQP-50, AMQP-02, AMQP-52
func TestTenDeliveries(t *testing.T) {
	onBrokers(t, func(t *testing.T, b *brokertest.Broker) {
		p := b.NewParty(t)
		c := connect(t, b.Config())
		if got := c.Dialect().DeadLetter(p.Async); got != p.DeadLetter {
			t.Fatalf("the dead-letter queue is %s", got)
		}
		sent := encode(t, profileMessage("ten", p, p))
		must(t, c.Send(within(t), p.Async, sent))
		failTenTimes(t, c, p.Async, p.DeadLetter)
		dead := take(t, c, p.DeadLetter, 1, accept)[0].Message
		sameBareMessage(t, sent, dead)
		must(t, c.Send(within(t), p.Async, dead))
		sameBareMessage(t, sent, take(t, c, p.Async, 1, accept)[0].Message)
	})
}

// The same on a broker that behaves like Service Bus, with a dead-letter queue below the queue.
//
// Rules: AMQP-45, AMQP-50
func TestTenDeliveriesServiceBus(t *testing.T) {
	t.Parallel()
	b := brokertest.StartScripted(t, map[string]brokertest.Behaviour{"100_async": "accept"})
	c := connect(t, link.Config{URL: b.URL, Dialect: link.ServiceBus()})
	must(t, c.Send(within(t), "100_async", plain("1")))
	failTenTimes(t, c, "100_async", c.Dialect().DeadLetter("100_async"))
	d := take(t, c, "100_async/$DeadLetterQueue", 1, accept)[0]
	if idOf(d.Message) != "1" || d.EnqueuedAt.IsZero() {
		t.Errorf("the dead letter is %v, enqueued at %v", d.Message.Properties.MessageID, d.EnqueuedAt)
	}
}

// failTenTimes fails every delivery until the message is in the dead-letter queue, and holds that there were ten.
func failTenTimes(t *testing.T, c *link.Connection, queue, deadLetter string) {
	t.Helper()
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	var mu sync.Mutex
	var counts []int
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = c.Receive(ctx, queue, 1, func(_ context.Context, d *link.Delivery) error {
			mu.Lock()
			defer mu.Unlock()
			counts = append(counts, d.DeliveryCount)
			return errors.New("the store is down")
		})
	}()
	found, left := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(left)
		_ = c.Receive(ctx, deadLetter, 1, func(ctx context.Context, d *link.Delivery) error {
			close(found)
			<-ctx.Done()
			return d.Release(ctx)
		})
	}()
	select {
	case <-found:
	case <-ctx.Done():
	}
	cancel()
	<-done
	<-left
	if len(counts) != 10 {
		t.Errorf("the message was handed out %d times, want 10: %v", len(counts), counts)
	}
	for i, count := range counts {
		if c.Dialect().CountsDeliveries() && count != i {
			t.Errorf("delivery %d says it was handed out %d times before", i+1, count)
		}
	}
}

func sameBareMessage(t *testing.T, sent, got *amqp.Message) {
	t.Helper()
	bare := func(m *amqp.Message) string {
		out := fmt.Sprintf("%q %v", m.Data, m.ApplicationProperties)
		p := m.Properties
		return out + fmt.Sprintf(" %v %v %v %v %v %v", p.MessageID, *p.To, *p.Subject, *p.ReplyTo, p.CorrelationID, *p.ContentType)
	}
	if bare(sent) != bare(got) {
		t.Errorf("the message changed on its way:\n%s\n%s", bare(sent), bare(got))
	}
}

// A message whose handling had not ended when the connection was lost is handed out again, and settling the first delivery fails.
//
// Rules: AMQP-10
func TestLateSettle(t *testing.T) {
	onBrokers(t, func(t *testing.T, b *brokertest.Broker) {
		p := b.NewParty(t)
		b.User(t, user(p), "secret", ".*", ".*")
		c := connect(t, ownConnections(b, p))
		must(t, c.Send(within(t), p.Async, plain("1")))
		ctx, cancel := context.WithCancel(within(t))
		defer cancel()
		first := true
		_ = c.Receive(ctx, p.Async, 1, func(ctx context.Context, d *link.Delivery) error {
			if first {
				first = false
				for ctx.Err() == nil { // of two connections the broker may list one at first
					b.CloseOf(t, user(p))
					select {
					case <-ctx.Done():
					case <-time.After(time.Second):
					}
				}
				if err := d.Accept(ctx); link.KindOf(err) != link.Lost {
					t.Errorf("Accept over a lost link gave %v, want lost", err)
				}
				return nil
			}
			defer cancel()
			return d.Accept(ctx)
		})
		if first || errors.Is(ctx.Err(), context.DeadlineExceeded) {
			t.Error("the message was not handed out again")
		}
		b.AwaitDepth(t, p.Async, 0)
	})
}

// ownConnections logs in as a user of the party's own, whose connections can be cut.
func ownConnections(b *brokertest.Broker, p brokertest.Party) link.Config {
	cfg := b.Config()
	cfg.Username, cfg.Password = user(p), "secret"
	return cfg
}

func user(p brokertest.Party) string { return fmt.Sprintf("party-%d", p.HerID) }

// Accept and reject take a message from the queue, release gives it back; each works once.
//
// Rules: AMQP-10, AMQP-51
func TestSettleModes(t *testing.T) {
	onBrokers(t, func(t *testing.T, b *brokertest.Broker) {
		p := b.NewParty(t)
		c := connect(t, b.Config())
		must(t, c.Send(within(t), p.Async, plain("1")))
		take(t, c, p.Async, 1, func(ctx context.Context, d *link.Delivery) error { return d.Release(ctx) })
		d := take(t, c, p.Async, 1, func(ctx context.Context, d *link.Delivery) error {
			return d.Reject(ctx, "schakel:unreadable", "cannot ever be handled")
		})[0]
		if err := d.Accept(within(t)); !errors.Is(err, link.ErrSettled) {
			t.Errorf("settling twice gave %v", err)
		}
		if got := idOf(take(t, c, p.DeadLetter, 1, accept)[0].Message); got != "1" {
			t.Errorf("the dead letter is %s", got)
		}
		b.AwaitDepth(t, p.Async, 0)
	})
}

// A queue that comes to be while it is received from is received from, without a restart; so does one whose node went away.
//
// Rules: AMQP-46
func TestReceiveWaitsForQueue(t *testing.T) {
	onBrokers(t, func(t *testing.T, b *brokertest.Broker) {
		queue := b.NewParty(t).Async + "_later"
		cfg := b.Config()
		changed := make(chan link.State, 1000)
		cfg.OnChange = func(s link.State) { changed <- s }
		c := connect(t, cfg)
		ctx, cancel := context.WithCancel(within(t))
		defer cancel()
		got := make(chan string, 1)
		go func() {
			_ = c.Receive(ctx, queue, 5, func(ctx context.Context, d *link.Delivery) error {
				got <- idOf(d.Message)
				return d.Accept(ctx)
			})
			close(got)
		}()
		for s := range changed {
			if len(s.Receivers) == 1 && s.Receivers[0].Phase == link.Waiting {
				break
			}
		}
		b.Queue(t, queue, nil)
		must(t, c.Send(ctx, queue, plain("1")))
		if id := <-got; id != "1" {
			t.Errorf("received %q", id)
		}
	})
}

// A synchronous message is not durable and is gone from the queue after its time, not in the dead letters.
//
// Rules: AMQP-43, AMQP-91
func TestSyncMessageExpires(t *testing.T) {
	onBrokers(t, func(t *testing.T, b *brokertest.Broker) {
		p := b.NewParty(t)
		c := connect(t, b.Config())
		m := profileMessage("sync", p, p)
		m.Durable, m.TTL = false, 15*time.Second
		must(t, c.Send(within(t), p.Sync, encode(t, m)))
		b.AwaitDepth(t, p.Sync, 1)
		b.AwaitDepth(t, p.Sync, 0)
		if got := b.Depth(t, p.DeadLetter); got != 0 {
			t.Errorf("%d messages are in the dead letters", got)
		}
	})
}

// A broker that does not count deliveries gets a message that failed back after waits that grow all the same.
//
// Rules: AMQP-45
func TestWaitsGrowWithoutACount(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, brokertest.RabbitMQ310)
	p := b.NewParty(t)
	cfg := b.Config()
	cfg.Jitter = func() float64 { return 0 }
	c := connect(t, cfg)
	must(t, c.Send(within(t), p.Async, encode(t, profileMessage("waits", p, p))))
	var tried []time.Time
	take(t, c, p.Async, 1, func(ctx context.Context, d *link.Delivery) error {
		if tried = append(tried, time.Now()); len(tried) < 5 {
			return errors.New("not now")
		}
		return d.Accept(ctx)
	})
	for i, least := 1, quick(cfg).Retry.First; i < len(tried); i, least = i+1, 2*least {
		if wait := tried[i].Sub(tried[i-1]); wait < least {
			t.Errorf("try %d came after %v, want at least %v", i+1, wait, least)
		}
	}
}

// RabbitMQ 4 says after how long the messages of a queue expire, also to a user who may do nothing but write and read; RabbitMQ 3 does
// not say.
//
// Rules: AMQP-42, INC-22
func TestLifetimes(t *testing.T) {
	onBrokers(t, func(t *testing.T, b *brokertest.Broker) {
		p := b.NewParty(t)
		short, gone := p.Async+"_short", p.Async+" gone/100%"
		b.Queue(t, short, map[string]any{"x-message-ttl": 900_000})
		b.Queue(t, gone, map[string]any{"x-expires": 86_400_000})
		b.User(t, user(p), "secret", ".*", ".*")
		c := connect(t, ownConnections(b, p))
		got, err := c.Lifetimes(within(t), []string{p.Async, p.Sync, short, gone, p.Async + "_not_there"})
		must(t, err)
		want := map[string]link.Lifetime{
			p.Async: {Known: true}, p.Sync: {Known: true, TTL: 15 * time.Second}, short: {Known: true, TTL: 15 * time.Minute}, gone: {Known: true, Expires: 24 * time.Hour},
		}
		if b.Version == brokertest.RabbitMQ310 {
			want = map[string]link.Lifetime{p.Async: {}, p.Sync: {}, short: {}, gone: {}, p.Async + "_not_there": {}}
		}
		if len(got) != len(want) {
			t.Errorf("told of %v", got)
		}
		for queue, life := range want {
			if got[queue] != life {
				t.Errorf("%s: %+v, want %+v", queue, got[queue], life)
			}
		}
	})
}
