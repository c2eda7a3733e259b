package link

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/Azure/go-amqp"
)

// Handler handles one delivery and settles it, last of all (AMQP-10). An error it returns without having settled makes the
// delivery wait on our side, longer each time, before it goes back to the queue as one that failed: a broker that hands out at
// once what it got back would use up its ten tries in milliseconds (AMQP-45). The context ends when receiving ends or the link is
// lost.
type Handler func(ctx context.Context, d *Delivery) error

// errUnsettled stands for a handler's success without settling.
var errUnsettled = errors.New("the handler returned without settling the delivery")

// Receive hands the messages of a queue to a handler, at most so many at once as credit says (less where the dialect demands it),
// until the context ends; it returns when all handlers have. It comes back after every trouble, also when the queue is not there
// yet (AMQP-46). A message that is being handled when the link is lost is delivered again. The error is that of the context.
func (c *Connection) Receive(ctx context.Context, queue string, credit int, handle Handler) error {
	defer c.board.drop(queue)
	failures := 0
	for {
		opened := c.cfg.Clock()
		err := c.receiveOnce(ctx, queue, c.cfg.Dialect.Credit(credit), handle)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		failures = c.failures(failures, opened)
		c.board.set(queue, Waiting, err)
		c.cfg.Log.WarnContext(ctx, "broker receiver lost", "queue", queue, "failures", failures, "error", err)
		if !pause(ctx, c.cfg.wait(failures)) {
			return ctx.Err()
		}
	}
}

// receiveOnce receives over one connection until it is lost.
func (c *Connection) receiveOnce(ctx context.Context, queue string, credit int, handle Handler) error {
	c.board.set(queue, Connecting, nil)
	w, err := c.dial(ctx)
	if err != nil {
		return err
	}
	defer w.close()
	receiver, err := c.attachReceiver(ctx, w, queue, credit)
	if err != nil {
		return failure(queue, err, Unavailable)
	}
	c.board.set(queue, Opened, nil)
	var handlers sync.WaitGroup
	defer handlers.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for {
		m, err := receiver.Receive(ctx, nil)
		if err != nil {
			return failure(queue, errors.Join(err, w.lost()), Unavailable)
		}
		d := c.delivery(queue, receiver, m)
		handlers.Go(func() { c.handle(ctx, d, handle) })
	}
}

func (c *Connection) attachReceiver(ctx context.Context, w *wire, queue string, credit int) (*amqp.Receiver, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.ConnectTimeout)
	defer cancel()
	mode := amqp.ReceiverSettleModeFirst
	return w.session.NewReceiver(ctx, c.cfg.Dialect.source(queue), &amqp.ReceiverOptions{
		Credit: int32(credit), MaxMessageSize: c.cfg.MaxMessage, SettlementMode: &mode,
	})
}

// handle runs the handler and sees to what it left unsettled.
func (c *Connection) handle(ctx context.Context, d *Delivery, handle Handler) {
	err := protect(ctx, d, handle)
	if d.Settled() {
		c.tries.forget(d)
		return
	}
	if err == nil {
		err = errUnsettled
	}
	count := c.tries.count(d)
	c.cfg.Log.WarnContext(ctx, "delivery failed", "queue", d.Queue, "count", count, "error", err)
	if !pause(ctx, c.cfg.wait(count)) {
		_ = d.Release(ctx)
		return
	}
	_ = d.Modify(ctx, false)
}

// protect makes an error of a handler's panic: one message must not stop the others.
func protect(ctx context.Context, d *Delivery, handle Handler) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("handler panicked: %v", p)
		}
	}()
	return handle(ctx, d)
}

// Delivery is one message that a broker handed out. It stays on its queue until it is settled by one of the methods below, each
// of which fails with an *Error of kind Lost when the link it came over is gone: the broker then delivers it again.
type Delivery struct {
	Queue   string
	Message *amqp.Message
	// DeliveryCount counts the earlier deliveries, as far as the broker reports them:
	// always 0 where Dialect.CountsDeliveries is false.
	DeliveryCount int
	// EnqueuedAt is the time at which the broker took it in, zero where it does not report that.
	EnqueuedAt time.Time

	receiver *amqp.Receiver
	dialect  Dialect
	timeout  time.Duration
	settled  atomic.Bool
}

// Accept takes the message from the queue: it was handled.
func (d *Delivery) Accept(ctx context.Context) error {
	return d.settle(ctx, func(ctx context.Context) error { return d.receiver.AcceptMessage(ctx, d.Message) })
}

// Release gives the message back as if it had not been handed out, as when we stop.
// Whether the broker counts it is the broker's choice: RabbitMQ 4 does not, 3 does.
func (d *Delivery) Release(ctx context.Context) error {
	return d.settle(ctx, func(ctx context.Context) error { return d.receiver.ReleaseMessage(ctx, d.Message) })
}

// Reject takes the message from the queue as one that can never be handled; the broker
// puts it in the dead-letter queue (AMQP-51).
func (d *Delivery) Reject(ctx context.Context, condition, description string) error {
	reason := &amqp.Error{Condition: amqp.ErrCond(condition), Description: description}
	return d.settle(ctx, func(ctx context.Context) error { return d.receiver.RejectMessage(ctx, d.Message, reason) })
}

// Modify gives the message back as one whose handling failed: it counts towards the limit after which the broker puts it in the
// dead-letter queue (AMQP-45). undeliverable asks not to hand it to us again. Where a broker does not take this outcome it is
// released, which that broker counts too.
func (d *Delivery) Modify(ctx context.Context, undeliverable bool) error {
	if d.dialect.noModify {
		return d.Release(ctx)
	}
	options := &amqp.ModifyMessageOptions{DeliveryFailed: true, UndeliverableHere: undeliverable}
	return d.settle(ctx, func(ctx context.Context) error { return d.receiver.ModifyMessage(ctx, d.Message, options) })
}

// Settled reports whether one of the methods above was called and did not fail.
func (d *Delivery) Settled() bool { return d.settled.Load() }

// settle does so once. The broker gets the decision also when the context has ended.
func (d *Delivery) settle(ctx context.Context, do func(context.Context) error) error {
	if !d.settled.CompareAndSwap(false, true) {
		return ErrSettled
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.timeout)
	defer cancel()
	if err := do(ctx); err != nil {
		d.settled.Store(false)
		return &Error{Kind: Lost, Queue: d.Queue, Err: err}
	}
	return nil
}

func (c *Connection) delivery(queue string, from *amqp.Receiver, m *amqp.Message) *Delivery {
	d := &Delivery{
		Queue: queue, Message: m, EnqueuedAt: enqueuedAt(m.Annotations),
		receiver: from, dialect: c.cfg.Dialect, timeout: c.cfg.ConnectTimeout,
	}
	if m.Header != nil && !c.cfg.Dialect.noDeliveryCount {
		d.DeliveryCount = int(m.Header.DeliveryCount)
	}
	return d
}

// enqueuedAt reads what Service Bus notes, and RabbitMQ when configured so.
func enqueuedAt(annotations amqp.Annotations) time.Time {
	for _, name := range []string{"x-opt-enqueued-time", "x-opt-rabbitmq-received-time"} {
		switch at := annotations[name].(type) {
		case time.Time:
			return at.UTC()
		case int64:
			return time.UnixMilli(at).UTC()
		}
	}
	return time.Time{}
}

// maxFailed bounds how many messages a failures knows at once.
const maxFailed = 4096

// failures counts how often each message failed here. Brokers that do not count deliveries hand out a message that failed as if
// it were the first time; without a count of our own all ten tries would be over in seconds (AMQP-45).
type failures struct {
	mu    sync.Mutex
	times map[[sha256.Size]byte]int
}

// count gives how often a delivery has failed by now, this time included: what the
// broker says, or what was seen here when the broker does not count.
func (f *failures) count(d *Delivery) int {
	if !d.dialect.noDeliveryCount {
		return d.DeliveryCount + 1
	}
	key := identity(d)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.times == nil || len(f.times) >= maxFailed {
		f.times = map[[sha256.Size]byte]int{}
	}
	f.times[key]++
	return f.times[key]
}

func (f *failures) forget(d *Delivery) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.times) > 0 {
		delete(f.times, identity(d))
	}
}

// identity tells messages of a queue apart.
func identity(d *Delivery) [sha256.Size]byte {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\n", d.Queue)
	if p := d.Message.Properties; p != nil {
		fmt.Fprintf(sum, "%T %v\n%T %v\n", p.MessageID, p.MessageID, p.CorrelationID, p.CorrelationID)
	}
	for _, part := range d.Message.Data {
		sum.Write(part)
	}
	return [sha256.Size]byte(sum.Sum(nil))
}
