package link

import (
	"context"
	"sync"
	"sync/atomic"

	amqp "github.com/Azure/go-amqp"
)

// Send writes a message to a queue and waits for the broker's outcome. nil means accepted, which is the only success (AMQP-07);
// every other end is an *Error. Many may send at once. It takes at most SendTimeout, or until the context ends. The message must
// not be changed afterwards: what was given up may still be on its way.
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

// senders holds one sender link a queue over one wire.
type senders struct {
	owner *Connection
	wire  *wire

	mu    sync.Mutex
	links map[string]*sender
}

// sender is the link to one queue; gate is held by the one who attaches or writes.
type sender struct {
	gate chan struct{}
	link *amqp.Sender
}

func newSenders(owner *Connection, w *wire) *senders {
	return &senders{owner: owner, wire: w, links: map[string]*sender{}}
}

func (s *senders) to(queue string) *sender {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.links[queue]
	if !ok {
		one = &sender{gate: make(chan struct{}, 1)}
		s.links[queue] = one
	}
	return one
}

func (s *senders) send(ctx context.Context, t *transfer) error {
	one := s.to(t.queue)
	receipt, link, err := s.write(ctx, one, t)
	if err != nil {
		return err
	}
	state, err := receipt.Wait(ctx)
	if err != nil {
		s.discard(one, link)
		return sendFailure(t.queue, err)
	}
	return s.owner.cfg.Dialect.outcome(t.queue, state)
}

// write puts the message on the link, which it attaches first where that is needed.
func (s *senders) write(ctx context.Context, one *sender, t *transfer) (amqp.SendReceipt, *amqp.Sender, error) {
	var none amqp.SendReceipt
	select {
	case one.gate <- struct{}{}:
		defer func() { <-one.gate }()
	case <-s.wire.conn.Done():
		return none, nil, failure(t.queue, s.wire.lost(), Unavailable)
	case <-ctx.Done():
		return none, nil, &Error{Kind: Blocked, Queue: t.queue, Err: ctx.Err()}
	}
	link, err := s.attached(ctx, one, t.queue)
	if err != nil {
		return none, nil, err
	}
	if !t.stage.CompareAndSwap(waiting, begun) {
		return none, nil, &Error{Kind: Unavailable, Queue: t.queue, Err: context.Canceled}
	}
	receipt, err := link.SendWithReceipt(ctx, t.message, nil)
	if err == nil {
		return receipt, link, nil
	}
	return none, nil, s.writeFailure(one, link, t.queue, err)
}

// writeFailure classifies the failure of a message that could not be written whole. What
// our own side refused before the first byte leaves the link as it was.
func (s *senders) writeFailure(one *sender, link *amqp.Sender, queue string, err error) error {
	own, local := err.(*amqp.Error) // bare: one the broker sent is wrapped in the end of a link
	if local && own.Condition == amqp.ErrCondMessageSizeExceeded {
		return &Error{Kind: TooLarge, Queue: queue, Condition: string(own.Condition), Err: err}
	}
	one.link = nil
	s.part(link)
	if local && own.Condition == amqp.ErrCondTransferLimitExceeded {
		return &Error{Kind: Blocked, Queue: queue, Err: err}
	}
	return sendFailure(queue, err)
}

// attached gives the link, made when there is none. The caller holds the gate.
func (s *senders) attached(ctx context.Context, one *sender, queue string) (*amqp.Sender, error) {
	if one.link != nil {
		return one.link, nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.owner.cfg.ConnectTimeout)
	defer cancel()
	link, err := s.wire.session.NewSender(ctx, s.owner.target(queue), nil)
	if err != nil {
		if !isDetach(err) {
			s.owner.hangUp(s.wire)
		}
		return nil, failure(queue, err, Unavailable)
	}
	one.link = link
	return link, nil
}

// discard forgets a link that gave no outcome.
func (s *senders) discard(one *sender, link *amqp.Sender) {
	one.gate <- struct{}{}
	defer func() { <-one.gate }()
	if one.link == link {
		one.link = nil
		s.part(link)
	}
}

// part closes a link in the background; a broker that does not answer to that is left.
func (s *senders) part(link *amqp.Sender) {
	s.owner.running.Add(1)
	go func() {
		defer s.owner.running.Done()
		ctx, cancel := context.WithTimeout(context.Background(), s.owner.cfg.ConnectTimeout)
		defer cancel()
		err := link.Close(ctx)
		if err != nil && !isDetach(err) {
			s.owner.hangUp(s.wire)
		}
	}()
}

func (c *Connection) target(queue string) string {
	return c.cfg.Dialect.target(c.cfg.Namespace, queue)
}
