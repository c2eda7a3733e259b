package link

import (
	"context"
	"sync/atomic"
	"time"

	amqp "github.com/Azure/go-amqp"
)

// Delivery is one message that a broker handed out. It stays on its queue until it is
// settled by one of the methods below, each of which fails with an *Error of kind Lost
// when the link it came over is gone: the broker then delivers it again.
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

// Modify gives the message back as one whose handling failed: it counts towards the
// limit after which the broker puts it in the dead-letter queue (AMQP-45). undeliverable
// asks not to hand it to us again. Where a broker does not take this outcome it is
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
