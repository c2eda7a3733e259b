package link

import (
	"context"
	"errors"
	"fmt"
	"sync"

	amqp "github.com/Azure/go-amqp"
)

// Handler handles one delivery and settles it, last of all (AMQP-10). An error it
// returns without having settled makes the delivery wait on our side, longer each
// time, before it goes back to the queue as one that failed: a broker that hands out
// at once what it got back would use up its ten tries in milliseconds (AMQP-45). The
// context ends when receiving ends or the link is lost.
type Handler func(ctx context.Context, d *Delivery) error

// errUnsettled stands for a handler's success without settling.
var errUnsettled = errors.New("the handler returned without settling the delivery")

// Receive hands the messages of a queue to a handler, at most so many at once as
// credit says (less where the dialect demands it), until the context ends; it returns
// when all handlers have. It comes back after every trouble, also when the queue is
// not there yet (AMQP-46). A message that is being handled when the link is lost is
// delivered again. The error is that of the context.
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
