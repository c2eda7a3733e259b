package link

import (
	"context"
	"sync"

	amqp "github.com/Azure/go-amqp"
)

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
