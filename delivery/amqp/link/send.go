package link

import (
	"context"
	"sync/atomic"

	amqp "github.com/Azure/go-amqp"
)

// Send writes a message to a queue and waits for the broker's outcome. nil means
// accepted, which is the only success (AMQP-07); every other end is an *Error. Many
// may send at once. It takes at most SendTimeout, or until the context ends. The
// message must not be changed afterwards: what was given up may still be on its way.
func (c *Connection) Send(ctx context.Context, queue string, m *amqp.Message) error {
	pool, err := c.ready(ctx, queue)
	if err != nil {
		return err
	}
	if err := c.verify(ctx, queue); err != nil {
		return err
	}
	job := &transfer{queue: queue, message: m, result: make(chan error, 1)}
	if !c.enter() {
		return &Error{Kind: Unavailable, Queue: queue, Err: errNotRunning}
	}
	go func() {
		defer c.running.Done()
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.cfg.SendTimeout)
		defer cancel()
		job.result <- pool.send(within, job)
	}()
	select {
	case err = <-job.result:
	case <-ctx.Done():
		err = job.abandon(ctx)
	}
	if kind := KindOf(err); kind == NotFound || kind == Released {
		c.forget(queue)
	}
	return err
}

// enter counts one more send that Stop waits for; false when there is no more sending.
func (c *Connection) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel == nil {
		return false
	}
	c.running.Add(1)
	return true
}

// transfer is one message on its way. It is not interrupted half-way, for that would
// spoil the link for the others: the one who waits goes, and it ends by itself.
type transfer struct {
	queue   string
	message *amqp.Message
	result  chan error
	stage   atomic.Int32 // waiting, then begun or dropped
}

const (
	waiting = iota
	begun
	dropped
)

// abandon gives the known outcome of a transfer that nothing waits for any more.
func (t *transfer) abandon(ctx context.Context) error {
	if t.stage.CompareAndSwap(waiting, dropped) {
		return &Error{Kind: Unavailable, Queue: t.queue, Err: ctx.Err()}
	}
	select {
	case err := <-t.result:
		return err
	default:
		return &Error{Kind: Lost, Queue: t.queue, Err: ctx.Err()}
	}
}
