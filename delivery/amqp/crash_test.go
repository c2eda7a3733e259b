package amqp_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goamqp "github.com/Azure/go-amqp"
	"github.com/google/uuid"
	"schakel/delivery/amqp"
	"schakel/delivery/amqp/brokertest"
	"schakel/delivery/amqp/link"
	"schakel/delivery/amqp/message"
	"schakel/delivery/outbox"
	"schakel/store"
	"schakel/store/storetest"
)

// cut stops a Schakel at a step: from then on nothing gets through, until it starts again.
type cut struct {
	step string
	dead atomic.Bool
	met  chan struct{}
	once sync.Once
}

var errCut = errors.New("the process ended here")

// at fails at the step that is cut, and everywhere after that.
func (c *cut) at(step string) error {
	if step == c.step {
		c.once.Do(func() {
			c.dead.Store(true)
			close(c.met)
		})
	}
	if c.dead.Load() {
		return errCut
	}
	return nil
}

type cutEngine struct {
	*outbox.Engine
	*cut
}

func (e cutEngine) Accept(ctx context.Context, s outbox.Submission) (outbox.Receipt, error) {
	if err := e.at("before the event"); err != nil {
		return outbox.Receipt{}, err
	}
	r, err := e.Engine.Accept(ctx, s)
	if cut := e.at("after the event"); cut != nil {
		return outbox.Receipt{}, cut
	}
	return r, err
}

type cutConn struct {
	amqp.Conn
	*cut
}

func (c cutConn) Send(ctx context.Context, queue string, m *goamqp.Message) error {
	if err := c.at("before writing"); err != nil {
		return &link.Error{Kind: link.Unavailable, Queue: queue, Err: err}
	}
	err := c.Conn.Send(ctx, queue, m)
	if cut := c.at("after writing"); cut != nil {
		return &link.Error{Kind: link.Lost, Queue: queue, Err: cut}
	}
	return err
}

// Receive implements amqp.Conn: settling does not get through when it is cut.
func (c cutConn) Receive(ctx context.Context, queue string, credit int, handle link.Handler) error {
	return c.Conn.Receive(ctx, queue, credit, func(ctx context.Context, d *link.Delivery) error {
		if c.step != "before settling" || c.dead.Load() {
			if c.dead.Load() {
				return errCut
			}
			return handle(ctx, d)
		}
		return c.unsettled(ctx, d, handle)
	})
}

// unsettled handles a delivery whose link is gone when it is to be settled.
func (c cutConn) unsettled(ctx context.Context, d *link.Delivery, handle link.Handler) (err error) {
	defer func() {
		_ = recover() // settling over no link
		err = c.at("before settling")
	}()
	gone := &link.Delivery{Queue: d.Queue, Message: d.Message, DeliveryCount: d.DeliveryCount, EnqueuedAt: d.EnqueuedAt}
	return handle(ctx, gone)
}

func cutAt(t *testing.T, db *store.DB, step string) (*alone, *cut) {
	t.Helper()
	c := &cut{step: step, met: make(chan struct{})}
	a := newAlone(t, db, brokertest.Start(t, brokertest.RabbitMQ4), func(cfg *amqp.Config) {
		dial := cfg.Connect
		cfg.Connect = func(ctx context.Context, b store.AMQPBroker, changed func(link.State)) (amqp.Conn, error) {
			conn, err := dial(ctx, b, changed)
			return cutConn{conn, c}, err
		}
		cfg.Patience = time.Second
	})
	a.b.bridge.Join(cutEngine{a.b.engine, c})
	return a, c
}

// revive starts a Schakel once more, whole.
func (c *cut) revive(t *testing.T, a *alone) {
	t.Helper()
	select {
	case <-c.met:
	case <-time.After(giveUp):
		t.Fatalf("it never came to the step %q", c.step)
	}
	a.b.stop()
	c.dead.Store(false)
	c.step = ""
	a.b.start()
}

// TestCutReceiving cuts a Schakel at every step of taking a message in, on both databases: after it starts again there is one
// event and one AppRec, however often that was written.
//
// Rules: AMQP-10, AMQP-82, AMQP-84, AMQP-114, AMQP-123, AMQP-138, AMQP-139, INC-10
func TestCutReceiving(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"before the event", "after the event", "before writing", "after writing", "before settling"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, func(t *testing.T, db *store.DB) {
				a, c := cutAt(t, db, step)
				messageID, msgID := a.from(t, a.peer)
				c.revive(t, a)
				row := a.b.message(store.AMQPIn, store.AMQPBusiness, msgID, store.AMQPProcessed)
				a.b.eventually("the AppRec is on its queue", func() (bool, string) {
					m, err := a.b.db.AMQPWritten(t.Context(), message.AnswerID(message.Seed(int64(a.peer.HerID), messageID), "apprec"))
					return err == nil && m.Status == store.AMQPSent && m.ReferenceID == row.ID, fmt.Sprintf("%+v %v", m, err)
				})
				a.broker.AwaitDepth(t, a.b.me.Async, 0)
				want := 1
				if step == "after writing" {
					want = 2
				}
				a.broker.AwaitDepth(t, a.peer.Async, want)
				for _, m := range take(t, a.wire, a.peer.Async, want) {
					if m.Properties.MessageID != message.AnswerID(message.Seed(int64(a.peer.HerID), messageID), "apprec") {
						t.Errorf("another AppRec: %v", m.Properties.MessageID)
					}
				}
				a.b.eventually("the event is delivered", func() (bool, string) { return len(a.b.inbox.events(typeIn)) > 0, a.b.all() })
				if events := a.b.inbox.events(typeIn); len(events) != 1 || events[0].CEID != msgID {
					t.Errorf("%d events", len(events))
				}
				if n := a.b.outgoing(store.AMQPError); n != 0 {
					t.Errorf("%d errors were told", n)
				}
			})
		})
	}
}

// TestCutSending cuts a Schakel before and after the broker takes a message: it goes out, under one messageId.
//
// Rules: AMQP-115, AMQP-121
func TestCutSending(t *testing.T) {
	t.Parallel()
	for step, want := range map[string]int{"before writing": 1, "after writing": 2} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, func(t *testing.T, db *store.DB) {
				a, c := cutAt(t, db, step)
				msgID := uuid.NewString()
				a.b.publish(typeOut, dialogue(t, a.b.me, a.peer, msgID))
				c.revive(t, a)
				sent := a.b.message(store.AMQPOut, store.AMQPBusiness, msgID, store.AMQPOpenMessage)
				for _, m := range take(t, a.wire, a.peer.Async, want) {
					if m.Properties.MessageID != sent.MessageID {
						t.Errorf("another messageId: %v", m.Properties.MessageID)
					}
				}
				if n := a.b.outgoing(); n != 1 {
					t.Errorf("%d messages", n)
				}
			})
		})
	}
}

// TestDuplicates sends one business message many times: under the same messageId and under others, at once and after a restart.
// It is processed once and its AppRec sent once; no error goes out about the others.
//
// Rules: AMQP-105, AMQP-116
func TestDuplicates(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := newAlone(t, db, brokertest.Start(t, brokertest.RabbitMQ4))
		const ids = 6
		msgID := uuid.NewString()
		document := dialogue(t, a.peer, a.b.me, msgID)
		var letters []*goamqp.Message
		for range ids {
			letters = append(letters, letter(t, a.peer, a.b.me, document, uuid.NewString()))
		}
		round := func() {
			var all sync.WaitGroup
			for _, m := range letters {
				for range 2 {
					all.Go(func() { send(t, a.wire, a.b.me.Async, m) })
				}
			}
			all.Wait()
			_, last := a.from(t, a.peer)
			a.b.message(store.AMQPIn, store.AMQPBusiness, last, store.AMQPProcessed)
			a.b.eventually("all are read", func() (bool, string) {
				_, n, err := a.b.db.AMQPMessages(t.Context(), store.AMQPFilter{Direction: store.AMQPIn, ID: msgID})
				return err == nil && n == ids, a.b.all()
			})
			a.b.eventually("no AppRec is under way", func() (bool, string) { // one that the stop breaks off is written twice
				_, sent, err := a.b.db.AMQPMessages(t.Context(), store.AMQPFilter{Direction: store.AMQPOut, Statuses: []string{store.AMQPSent}})
				return err == nil && sent == a.b.outgoing(), a.b.all()
			})
		}
		round()
		a.again(t)
		round()
		a.b.message(store.AMQPIn, store.AMQPBusiness, msgID, store.AMQPProcessed)
		rows, n, err := a.b.db.AMQPMessages(t.Context(), store.AMQPFilter{Direction: store.AMQPIn, ID: msgID})
		counts := map[string]int{}
		for _, m := range rows {
			counts[m.Status]++
		}
		if err != nil || n != ids || counts[store.AMQPProcessed] != 1 || counts[store.AMQPDuplicate] != ids-1 {
			t.Errorf("%v, %v", counts, err)
		}
		a.broker.AwaitDepth(t, a.peer.Async, 3)
		a.broker.AwaitDepth(t, a.peer.Error, 0)
		a.broker.AwaitDepth(t, a.b.me.DeadLetter, 0)
		if events := a.b.inbox.events(typeIn); len(events) != 3 {
			t.Errorf("%d events", len(events))
		}
		if n := a.b.outgoing(); n != 3 {
			t.Errorf("%d messages went out", n)
		}
	})
}

// slowEngine is an engine that takes the first event of one messageId in and then waits.
type slowEngine struct {
	*outbox.Engine
	messageID string
	once      *sync.Once
	met, free chan struct{}
}

func (e slowEngine) Accept(ctx context.Context, s outbox.Submission) (outbox.Receipt, error) {
	r, err := e.Engine.Accept(ctx, s)
	if id, _ := s.Events[0].Extension("amqpmessageid"); id == e.messageID {
		e.once.Do(func() {
			close(e.met)
			<-e.free
		})
	}
	return r, err
}

// TestSlowDuplicate: a message is being handled while the same business message is handled under another messageId, and its
// own copy is found to be a duplicate. There is one AppRec then too.
//
// Rules: AMQP-105, AMQP-116
func TestSlowDuplicate(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := newAlone(t, db, brokertest.Start(t, brokertest.RabbitMQ4), func(c *amqp.Config) { c.Patience = time.Second })
		slow, fast, msgID := uuid.NewString(), uuid.NewString(), uuid.NewString()
		e := slowEngine{a.b.engine, slow, &sync.Once{}, make(chan struct{}), make(chan struct{})}
		a.b.bridge.Join(e)
		document := dialogue(t, a.peer, a.b.me, msgID)
		put := func(messageID string) { send(t, a.wire, a.b.me.Async, letter(t, a.peer, a.b.me, document, messageID)) }
		put(slow)
		<-e.met
		put(fast)
		a.b.message(store.AMQPIn, store.AMQPBusiness, msgID, store.AMQPProcessed)
		put(slow)
		a.b.message(store.AMQPIn, store.AMQPBusiness, msgID, store.AMQPDuplicate)
		close(e.free)
		a.b.eventually("the slow one is settled", func() (bool, string) {
			known, err := a.b.db.AMQPRead(t.Context(), a.b.own.ID, a.b.me.Async, int64(a.peer.HerID), slow)
			if err != nil {
				return false, err.Error()
			}
			trail, err := a.b.db.AMQPTraces(t.Context(), known.ID)
			return err == nil && len(trail) >= 4, fmt.Sprint(trail, err)
		})
		if n := a.b.outgoing(); n != 1 {
			t.Errorf("%d messages went out", n)
		}
	})
}

// TestBrokerAway stops the broker: what goes out waits and is sent when it is back, and so is an AppRec that was due.
//
// Rules: AMQP-08, AMQP-114, AMQP-115
func TestBrokerAway(t *testing.T) {
	t.Parallel()
	broker := brokertest.StartOwn(t, brokertest.RabbitMQ4, nil)
	gate := make(chan struct{})
	a := newAlone(t, storetest.SQLite(t), broker, func(c *amqp.Config) { c.Patience = 500 * time.Millisecond },
		behind(func(queue string, m *goamqp.Message) error {
			select {
			case <-gate:
				return nil
			default: // the broker takes nothing more
				return &link.Error{Kind: link.Unavailable, Queue: queue}
			}
		}, nil))
	_, in := a.from(t, a.peer)
	a.b.message(store.AMQPIn, store.AMQPBusiness, in, store.AMQPProcessed)
	broker.AwaitDepth(t, a.b.me.Async, 0)
	broker.Stop(t)
	out := uuid.NewString()
	a.b.publish(typeOut, dialogue(t, a.b.me, a.peer, out))
	close(gate)
	a.b.eventually("both wait", func() (bool, string) {
		list, _, err := a.b.db.Deliveries(t.Context(), store.DeliveryFilter{})
		for _, d := range list {
			if d.EventType == typeOut {
				return err == nil && d.Status == store.DeliveryRetrying, a.b.all()
			}
		}
		return false, a.b.all()
	})
	due := a.b.message(store.AMQPOut, store.AMQPAppRec, in, store.AMQPDue)
	broker.Restart(t)
	a.b.message(store.AMQPOut, store.AMQPBusiness, out, store.AMQPOpenMessage)
	a.b.message(store.AMQPOut, store.AMQPAppRec, in, store.AMQPSent)
	broker.AwaitDepth(t, a.peer.Async, 2)
	seen := map[any]bool{}
	for _, m := range take(t, a.wire, a.peer.Async, 2) {
		seen[m.Properties.MessageID] = true
	}
	if len(seen) != 2 || !seen[due.MessageID] {
		t.Errorf("on the queue: %v", seen)
	}
}
