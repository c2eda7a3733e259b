package link_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"schakel/delivery/amqp/brokertest"
	"schakel/delivery/amqp/link"
)

// Only the outcome accepted is a success, and an error reports whether the message may
// have been written.
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
	if err := c.Send(within(t), queue, plain("1")); err != nil {
		t.Fatal(err)
	}
	if err := c.Send(within(t), queue, plain("2")); link.KindOf(err) != link.Busy {
		t.Errorf("a full queue gave %v, want busy", err)
	}
	take(t, c, queue, 1, accept)
	if err := c.Send(within(t), queue, plain("2")); err != nil {
		t.Error(err)
	}
}

// What cannot be sent because the broker is away fails at once and is sent when it is
// back; a link that was lost is made again.
//
// Rules: AMQP-08
func TestSendAgainAfterLoss(t *testing.T) {
	t.Parallel()
	b := brokertest.StartScripted(t, map[string]brokertest.Behaviour{"drop": "drop", "accept": "accept"})
	c := connect(t, link.Config{URL: b.URL, Dialect: link.ServiceBus()})
	if err := c.Send(within(t), "accept", plain("1")); err != nil {
		t.Fatal(err)
	}
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

// A queue that is not there is an error, is never made, and is found as soon as it is
// there.
//
// Rules: AMQP-06, AMQP-46, AMQP-107
func TestUnknownQueue(t *testing.T) {
	t.Parallel()
	onBrokers(t, func(t *testing.T, b *brokertest.Broker) {
		t.Parallel()
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
	t.Parallel()
	onBrokers(t, func(t *testing.T, b *brokertest.Broker) {
		t.Parallel()
		p := b.NewParty(t)
		cfg := b.Config()
		cfg.Namespace = "NHNTestServiceBus" + p.Async
		b.Exchange(t, cfg.Namespace, p.Async)
		c := connect(t, cfg)
		if err := c.Send(within(t), p.Async, plain("1")); err != nil {
			t.Fatal(err)
		}
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
