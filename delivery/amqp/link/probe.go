package link

import (
	"context"

	amqp "github.com/Azure/go-amqp"
)

// Exists asks the broker whether a queue is there, without sending, taking or making
// anything (AMQP-46, AMQP-107): nil when it is, otherwise an *Error of kind NotFound,
// Denied when the broker will not tell, or Unavailable. It uses a connection of its
// own, for a broker may answer by ending the session.
func (c *Connection) Exists(ctx context.Context, queue string) error {
	w, err := c.dial(ctx)
	if err != nil {
		return &Error{Kind: Unavailable, Queue: queue, Err: err}
	}
	defer w.close()
	ctx, cancel := context.WithTimeout(ctx, c.cfg.ConnectTimeout)
	defer cancel()
	if c.cfg.Dialect.probeBySource || c.cfg.Namespace != "" {
		err = probeSource(ctx, w, c.cfg.Dialect.source(queue))
	} else {
		_, err = w.session.NewSender(ctx, c.target(queue), nil)
	}
	if err != nil {
		return failure(queue, err, Unavailable)
	}
	return nil
}

// probeSource attaches a receiver that is given no credit, so nothing is delivered.
func probeSource(ctx context.Context, w *wire, source string) error {
	_, err := w.session.NewReceiver(ctx, source, &amqp.ReceiverOptions{Credit: -1})
	return err
}

// verify asks for a queue before something is sent to it, unless it was found lately.
// Where the broker does not tell, the send itself must.
func (c *Connection) verify(ctx context.Context, queue string) error {
	if c.verifiedLately(queue) {
		return nil
	}
	err := c.Exists(ctx, queue)
	if err != nil && KindOf(err) != Denied {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.verified[queue] = c.cfg.Clock()
	return nil
}

func (c *Connection) verifiedLately(queue string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.verified[queue]
	every := c.cfg.Dialect.probeEvery
	return ok && (every == 0 || c.cfg.Clock().Sub(at) < every)
}

// forget makes the next send to a queue ask for it again.
func (c *Connection) forget(queue string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.verified, queue)
}
