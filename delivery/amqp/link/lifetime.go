package link

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	amqp "github.com/Azure/go-amqp"
)

// Lifetime holds the time to live of the messages of a queue, as far as its broker says (AMQP-42, INC-22).
type Lifetime struct {
	// Known reports whether the broker says with which arguments a queue was made. A time to live that a policy of the broker sets
	// is not among them.
	Known bool
	// TTL limits the life of a message, 0 for no limit.
	TTL time.Duration
	// Expires has the queue removed with all its messages after so long without readers, 0 for never.
	Expires time.Duration
}

// The node that answers requests about queues, and how its answer is waited for.
const (
	managementNode = "/management"
	managementLink = "schakel-management"
	managementSelf = "$me"
	statusOK       = "200"
	maxAnswers     = 1000 // whose credit is given at once
)

// Lifetimes asks the broker how long the messages of queues live. A broker whose dialect has no way to ask gives every queue as not
// known; a queue that is not there, or that we may not ask about, is left out. It uses a connection of its own.
func (c *Connection) Lifetimes(ctx context.Context, queues []string) (map[string]Lifetime, error) {
	all := map[string]Lifetime{}
	if !c.cfg.Dialect.managed {
		for _, queue := range queues {
			all[queue] = Lifetime{}
		}
		return all, nil
	}
	w, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	defer w.close()
	ctx, cancel := context.WithTimeout(ctx, c.cfg.ConnectTimeout)
	defer cancel()
	m, err := w.manage(ctx, len(queues))
	if err != nil {
		return nil, fmt.Errorf("ask the broker about its queues: %w", err)
	}
	for i, queue := range queues {
		life, found, err := m.lifetime(ctx, strconv.Itoa(i), queue)
		if err != nil {
			return nil, fmt.Errorf("ask the broker about queue %s: %w", queue, err)
		}
		if found {
			all[queue] = life
		}
	}
	return all, nil
}

// management is a pair of links over which RabbitMQ 4 is asked, by "HTTP over AMQP".
type management struct {
	sender   *amqp.Sender
	receiver *amqp.Receiver
}

// manage attaches the links, with credit for so many answers: the broker refuses a request whose answer it has no credit for, so that
// the credit goes out before the link of the requests is attached.
func (w *wire) manage(ctx context.Context, answers int) (management, error) {
	paired := map[string]any{"paired": true}
	receiver, err := w.session.NewReceiver(ctx, managementNode, &amqp.ReceiverOptions{
		Name: managementLink, TargetAddress: managementNode, Properties: paired, Credit: int32(2 * min(max(answers, 1), maxAnswers)),
		RequestedSenderSettleMode: amqp.SenderSettleModeSettled.Ptr(), SettlementMode: amqp.ReceiverSettleModeFirst.Ptr(),
	})
	if err != nil {
		return management{}, err
	}
	sender, err := w.session.NewSender(ctx, managementNode, &amqp.SenderOptions{
		Name: managementLink, SourceAddress: managementNode, Properties: paired, SettlementMode: amqp.SenderSettleModeSettled.Ptr(),
	})
	return management{sender, receiver}, err
}

func (m management) lifetime(ctx context.Context, id, queue string) (Lifetime, bool, error) {
	to, get, self := "/queues/"+url.PathEscape(queue), "GET", managementSelf
	request := &amqp.Message{Properties: &amqp.MessageProperties{MessageID: id, To: &to, Subject: &get, ReplyTo: &self}, Value: amqp.Null{}}
	if err := m.sender.Send(ctx, request, nil); err != nil {
		return Lifetime{}, false, err
	}
	answer, err := m.receiver.Receive(ctx, nil)
	if err != nil {
		return Lifetime{}, false, err
	}
	if answer.Properties == nil || answer.Properties.Subject == nil || answer.Properties.CorrelationID != id {
		return Lifetime{}, false, errors.New("the answer is of another kind")
	}
	if *answer.Properties.Subject != statusOK {
		return Lifetime{}, false, nil
	}
	about, _ := answer.Value.(map[any]any)
	if text, ok := answer.Value.(map[string]any); ok {
		about = map[any]any{"arguments": text["arguments"]}
	}
	ttl, known := argument(about["arguments"], "x-message-ttl")
	expires, _ := argument(about["arguments"], "x-expires")
	return Lifetime{Known: known, TTL: ttl, Expires: expires}, true, nil
}

// argument reads a time in milliseconds among the arguments of a queue; 0 for one that is not there. It reports whether they are
// arguments at all.
func argument(arguments any, name string) (time.Duration, bool) {
	var value any
	switch all := arguments.(type) {
	case map[string]any:
		value = all[name]
	case map[any]any:
		value = all[name]
	default:
		return 0, false
	}
	if value == nil {
		return 0, true
	}
	ms, err := strconv.ParseInt(fmt.Sprint(value), 10, 64)
	return time.Duration(ms) * time.Millisecond, err == nil
}

// Exists asks the broker whether a queue is there, without sending, taking or making anything (AMQP-46, AMQP-107): nil when it
// is, otherwise an *Error of kind NotFound, Denied when the broker will not tell, or Unavailable. It uses a connection of its
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

func (c *Connection) forget(queue string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.verified, queue)
}
