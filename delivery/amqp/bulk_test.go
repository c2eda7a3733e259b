package amqp_test

import (
	"testing"

	"github.com/google/uuid"

	"schakel/delivery/amqp"
	"schakel/delivery/amqp/message"
	"schakel/delivery/outbox"
	"schakel/store"
	"schakel/store/storetest"
)

// count counts the messages in a state, for tiles and metrics.
func (s *side) count(status string) int {
	s.t.Helper()
	n, err := s.db.CountAMQPMessages(s.t.Context(), store.AMQPFilter{Statuses: []string{status}})
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// TestWorkListIsEmptied puts dead letters back, resends failed messages and discards others, each many at once: each is done once and
// the counters go down to nothing, those of deliveries too.
//
// Rules: AMQP-13, AMQP-49, AMQP-52, AMQP-85, AMQP-87
func TestWorkListIsEmptied(t *testing.T) {
	t.Parallel()
	const many = 5
	a := simple(t, hasty)
	engine := &sick{Engine: a.b.engine, seen: map[string]int{}}
	a.b.bridge.Join(engine)
	come := map[string]bool{}
	for range many {
		messageID, msgID := a.from(t, a.peer)
		a.b.message(store.AMQPIn, store.AMQPBusiness, messageID, store.AMQPDead)
		come[msgID] = true
	}
	engine.well.Store(true)
	a.all(t, amqp.OperationPutBack, store.AMQPFilter{Statuses: []string{store.AMQPDead}}, many, store.AMQPDead)
	for msgID := range come {
		a.b.message(store.AMQPIn, store.AMQPBusiness, msgID, store.AMQPProcessed)
	}
	take(t, a.wire, a.peer.Async, many) // their AppRecs

	sent := map[string]bool{}
	for range 2 * many {
		msgID := uuid.NewString()
		sent[msgID] = true
		a.b.publish(typeOut, dialogue(t, a.b.me, a.peer, msgID))
	}
	for _, m := range take(t, a.wire, a.peer.Async, 2*many) {
		a.tellError(t, m, message.InvalidSignature)
	}
	for msgID := range sent {
		a.b.message(store.AMQPOut, store.AMQPBusiness, msgID, store.AMQPFailed)
	}
	a.b.eventually("their deliveries are held", func() (bool, string) {
		_, n, err := a.b.db.Deliveries(t.Context(), store.DeliveryFilter{Statuses: []string{store.DeliveryHeld}})
		return err == nil && n == 2*many, a.b.all()
	})
	if n, err := a.b.bridge.AskAll(t.Context(), operator(), store.AMQPFilter{}, amqp.OperationDrop, ""); err == nil || n != 0 {
		t.Errorf("discarded %d without a reason: %v", n, err)
	}
	if n, err := a.b.bridge.AskAll(t.Context(), outbox.Actor{PartnerID: "another"}, store.AMQPFilter{}, amqp.OperationResend, ""); err == nil || n != 0 {
		t.Errorf("a partner asked for %d: %v", n, err)
	}
	rows, _, err := a.b.db.AMQPMessages(t.Context(), store.AMQPFilter{Statuses: []string{store.AMQPFailed}})
	if err != nil || len(rows) != 2*many {
		t.Fatalf("%d failed, %v", len(rows), err)
	}
	for _, m := range rows[:many] { // one by one: each lowers the counter
		before := a.b.count(store.AMQPFailed)
		if err := a.b.bridge.Drop(t.Context(), operator(), m.ID, "a test"); err != nil {
			t.Fatal(err)
		}
		if after := a.b.count(store.AMQPFailed); after != before-1 {
			t.Errorf("%d wait after one of %d was discarded", after, before)
		}
		delete(sent, m.MsgID)
	}
	a.all(t, amqp.OperationResend, store.AMQPFilter{Statuses: []string{store.AMQPFailed}}, many, store.AMQPFailed)
	take(t, a.wire, a.peer.Async, many)
	for msgID := range sent {
		a.b.message(store.AMQPOut, store.AMQPBusiness, msgID, store.AMQPOpenMessage)
	}
	_, held, err := a.b.db.Deliveries(t.Context(), store.DeliveryFilter{Statuses: []string{store.DeliveryHeld}})
	_, discarded, err2 := a.b.db.Deliveries(t.Context(), store.DeliveryFilter{Statuses: []string{store.DeliveryDiscarded}})
	if err != nil || err2 != nil || held != 0 || discarded != many {
		t.Errorf("%d deliveries are held, %d discarded, %v %v", held, discarded, err, err2)
	}
	a.broker.AwaitDepth(t, a.peer.Async, 0)
}

// all asks for something to be done with all messages of a filter, and waits until none is in that state.
func (a *alone) all(t *testing.T, do string, f store.AMQPFilter, want int, status string) {
	t.Helper()
	n, err := a.b.bridge.AskAll(t.Context(), operator(), f, do, "a test")
	if err != nil || n != want {
		t.Fatalf("%s was asked for %d, want %d: %v", do, n, want, err)
	}
	a.b.eventually("none waits after "+do, func() (bool, string) { return a.b.count(status) == 0, a.b.all() })
}

// TestBulkDiscard discards all dead letters at once: the counter is nothing, and nothing is handled.
//
// Rules: AMQP-13, AMQP-52
func TestBulkDiscard(t *testing.T) {
	t.Parallel()
	const many = 4
	a := onBus(t, storetest.SQLite(t), nil, func(*alone) {})
	engine := &sick{Engine: a.b.engine, seen: map[string]int{}}
	a.b.bridge.Join(engine)
	for range many {
		messageID, _ := a.from(t, a.peer)
		a.b.message(store.AMQPIn, store.AMQPBusiness, messageID, store.AMQPDead)
	}
	engine.well.Store(true)
	a.all(t, amqp.OperationDrop, store.AMQPFilter{Statuses: []string{store.AMQPDead}}, many, store.AMQPDead)
	if n := a.b.count(store.AMQPDropped); n != many {
		t.Errorf("%d are discarded", n)
	}
	if n := len(a.b.inbox.events(typeIn)); n != 0 {
		t.Errorf("%d events came of discarded messages", n)
	}
}
