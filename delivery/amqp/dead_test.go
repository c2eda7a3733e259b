package amqp_test

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goamqp "github.com/Azure/go-amqp"
	"github.com/google/uuid"

	"schakel/delivery/amqp"
	"schakel/delivery/amqp/link"
	"schakel/delivery/outbox"
	"schakel/store"
)

// sick is an engine that takes nothing while it is sick.
type sick struct {
	*outbox.Engine

	well atomic.Bool
	mu   sync.Mutex
	seen map[string]int // how often an event was tried
}

// Accept implements amqp.Engine.
func (s *sick) Accept(ctx context.Context, sub outbox.Submission) (outbox.Receipt, error) {
	s.mu.Lock()
	s.seen[sub.Events[0].ID]++
	s.mu.Unlock()
	if !s.well.Load() {
		return outbox.Receipt{}, outbox.ErrUnavailable
	}
	return s.Engine.Accept(ctx, sub)
}

// hasty has the link give messages back soon, so that ten tries are over soon.
func hasty(c *amqp.Config) {
	c.Connect = func(ctx context.Context, b store.AMQPBroker, changed func(link.State)) (amqp.Conn, error) {
		conn, err := link.New(link.Config{
			URL: b.URL, SASL: link.Plain, Username: b.Username, Password: b.Secret, OnChange: changed,
			Retry: link.Retry{First: time.Millisecond, Max: 5 * time.Millisecond},
		})
		if err != nil {
			return nil, err
		}
		return conn, conn.Start(ctx)
	}
}

// TestDeadLetters has our own store fail: a message is tried ten times and no more, its sender gets no answer, it comes among
// the dead letters and people are notified. A person puts it back, byte for byte, on the queue named in its to, or drops it.
//
// Rules: AMQP-02, AMQP-11, AMQP-13, AMQP-45, AMQP-48, AMQP-51, AMQP-52, AMQP-53, AMQP-85, INC-06, INC-27
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	a := simple(t, hasty)
	engine := &sick{Engine: a.b.engine, seen: map[string]int{}}
	a.b.bridge.Join(engine)
	elsewhere := a.peer.Async + "_elsewhere"
	a.broker.Queue(t, elsewhere, nil)
	names := map[string]string{"back": a.b.me.Async, "elsewhere": elsewhere, "dropped": a.b.me.Async}
	msgIDs, letters := map[string]string{}, map[string]*goamqp.Message{}
	for name, to := range names {
		msgIDs[name] = uuid.NewString()
		m := letter(t, a.peer, a.b.me, dialogue(t, a.peer, a.b.me, msgIDs[name]), uuid.NewString())
		address := "amqp.example/ns/" + to
		m.Properties.To = &address
		letters[name] = m
		send(t, a.wire, a.b.me.Async, m)
	}
	dead := map[string]store.AMQPMessage{}
	for name, m := range letters {
		id, _ := m.Properties.MessageID.(string)
		dead[name] = a.b.message(store.AMQPIn, store.AMQPBusiness, id, store.AMQPDead)
		if kept := unsealed(t, dead[name].Encoded); !sameBare(kept, m) {
			t.Errorf("%s: kept %+v, want %+v", name, kept, m)
		}
	}
	notice := <-a.b.notices
	if notice.Kind != amqp.NoticeDead || len(notice.Groups) != 1 || notice.Groups[0].Own != a.b.own.Name || notice.Groups[0].Name != a.b.counter.Name {
		t.Errorf("notice %+v", notice)
	}
	engine.mu.Lock()
	for name, msgID := range msgIDs {
		if engine.seen[msgID] != 10 {
			t.Errorf("%s was tried %d times, want 10", name, engine.seen[msgID])
		}
	}
	engine.mu.Unlock()
	if n := a.b.outgoing(); n != 0 {
		t.Errorf("%d messages were told of a fault of ours", n)
	}
	engine.well.Store(true)
	a.decide(t, dead, letters, elsewhere)
	a.b.message(store.AMQPIn, store.AMQPBusiness, msgIDs["back"], store.AMQPProcessed)
	take(t, a.wire, a.peer.Async, 1)
	if n := len(a.b.inbox.events(typeIn)); n > 1 {
		t.Errorf("%d events", n)
	}
}

// decide does with dead letters what a person can.
func (a *alone) decide(t *testing.T, dead map[string]store.AMQPMessage, letters map[string]*goamqp.Message, elsewhere string) {
	t.Helper()
	bridge, ctx := a.b.bridge, t.Context()
	if err := bridge.PutBack(ctx, outbox.Actor{PartnerID: a.b.partner.ID}, dead["back"].ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a partner puts it back: %v", err)
	}
	if err := bridge.Drop(ctx, operator(), dead["dropped"].ID, " "); !errors.Is(err, outbox.ErrReasonMissing) {
		t.Errorf("dropped without a reason: %v", err)
	}
	if err := errors.Join(bridge.Drop(ctx, operator(), dead["dropped"].ID, "not ours"), bridge.PutBack(ctx, operator(), dead["back"].ID), bridge.PutBack(ctx, operator(), dead["elsewhere"].ID)); err != nil {
		t.Fatal(err)
	}
	var refused amqp.Refused
	if err := bridge.PutBack(ctx, operator(), dead["dropped"].ID); !errors.As(err, &refused) {
		t.Errorf("a dropped one is put back: %v", err)
	}
	again := take(t, a.wire, elsewhere, 1)[0]
	if !sameBare(again, letters["elsewhere"]) || !again.Header.Durable {
		t.Errorf("put back %+v, want %+v", again, letters["elsewhere"])
	}
	for name, want := range map[string]string{"back": store.AMQPPutBack, "elsewhere": store.AMQPPutBack, "dropped": store.AMQPDropped} {
		m, err := a.b.db.AMQPMessage(ctx, dead[name].ID)
		if err != nil || m.Status != want || m.Encoded != nil {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
		steps, err := a.b.db.AMQPTraces(ctx, m.ID)
		if err != nil || len(steps) < 2 {
			t.Errorf("%s: steps %+v, %v", name, steps, err)
		}
	}
}

// sameBare compares bare messages, section by section; the order of application properties means nothing.
func sameBare(x, y *goamqp.Message) bool {
	return reflect.DeepEqual(x.Properties, y.Properties) && reflect.DeepEqual(x.ApplicationProperties, y.ApplicationProperties) &&
		reflect.DeepEqual(x.Data, y.Data) && x.Value == nil && x.Sequence == nil
}
