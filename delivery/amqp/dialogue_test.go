package amqp_test

import (
	"errors"
	"testing"

	"github.com/google/uuid"

	"schakel/delivery/event"
	"schakel/store"
)

// TestDialogue carries a request, its AppRec, an answer and its AppRec between two Schakels.
//
// Rules: AMQP-01, AMQP-09, AMQP-14, AMQP-15, AMQP-16, AMQP-34, AMQP-77, AMQP-78, AMQP-82, AMQP-86, AMQP-88.
func TestDialogue(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	request, answer := uuid.NewString(), uuid.NewString()
	p.a.publish(typeOut, dialogue(t, p.a.me, p.b.me, request))
	sent := p.a.message(store.AMQPOut, store.AMQPBusiness, request, store.AMQPAcknowledged)
	got := p.b.message(store.AMQPIn, store.AMQPBusiness, request, store.AMQPProcessed)
	if got.MessageID != sent.MessageID || got.ConversationID != sent.ConversationID || got.Her != int64(p.a.me.HerID) || sent.MsgID == sent.MessageID {
		t.Errorf("sent %+v\ngot %+v", sent, got)
	}
	p.b.publish(typeOut, dialogue(t, p.b.me, p.a.me, answer))
	p.b.message(store.AMQPOut, store.AMQPBusiness, answer, store.AMQPAcknowledged)
	p.a.message(store.AMQPIn, store.AMQPBusiness, answer, store.AMQPProcessed)

	p.b.eventually("the event of the request", func() (bool, string) { return len(p.b.inbox.events(typeIn)) == 1, p.b.all() })
	ev := p.b.inbox.events(typeIn)[0]
	if ev.CEID != request || string(ev.Data) != string(dialogueOf(t, p, request, ev)) {
		t.Errorf("event %s %s", ev.CEID, ev.Data)
	}
	steps, err := p.b.db.AMQPTraces(t.Context(), got.ID)
	if err != nil || len(steps) < 3 || steps[0].Step != "read" || steps[0].Node != "b" {
		t.Errorf("trace %+v, %v", steps, err)
	}
	for _, s := range []*side{p.a, p.b} {
		n, err := s.db.CountAMQPMessages(t.Context(), store.AMQPFilter{Kinds: []string{store.AMQPAppRec}})
		if err != nil || n != 2 {
			t.Errorf("%s: %d AppRecs, %v", s.name, n, err)
		}
	}
}

// dialogueOf is the data of the event as it was published: byte for byte.
func dialogueOf(t *testing.T, p *pair, _ string, ev store.Event) []byte {
	t.Helper()
	rows, _, err := p.a.db.AMQPMessages(t.Context(), store.AMQPFilter{Direction: store.AMQPOut, Kinds: []string{store.AMQPBusiness}})
	if err != nil || len(rows) != 1 {
		t.Fatalf("%d messages, %v", len(rows), err)
	}
	sent, err := p.a.db.Event(t.Context(), rows[0].EventID)
	if err != nil || len(ev.Data) == 0 {
		t.Fatal(err)
	}
	return sent.Data
}

// TestSynchronous asks and answers in real time.
//
// Rules: AMQP-17, AMQP-24, AMQP-90, AMQP-92, AMQP-94, AMQP-95, AMQP-96, AMQP-97.
func TestSynchronous(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	question, reply := uuid.NewString(), uuid.NewString()
	p.b.handle = func(e *event.Event) ([]byte, error) {
		if e.ID != question {
			return nil, errors.New("another question")
		}
		return dialogue(t, p.b.me, p.a.me, reply), nil
	}
	p.a.publish(typeAsk, dialogue(t, p.a.me, p.b.me, question))
	asked := p.a.message(store.AMQPOut, store.AMQPRequest, question, store.AMQPAcknowledged)
	p.a.eventually("the event of the answer", func() (bool, string) { return len(p.a.inbox.events(typeReply)) == 1, p.a.all() })
	if ev := p.a.inbox.events(typeReply)[0]; ev.CEID != reply {
		t.Errorf("answer %s", ev.CEID)
	}
	if asked.CorrelationID != asked.MessageID {
		t.Errorf("%+v", asked)
	}
	p.b.message(store.AMQPIn, store.AMQPRequest, question, store.AMQPProcessed)
	n, err := p.b.db.CountAMQPMessages(t.Context(), store.AMQPFilter{Kinds: []string{store.AMQPAppRec}})
	if err != nil || n != 0 {
		t.Errorf("%d AppRecs to a synchronous question, %v", n, err)
	}

	p.b.handle = nil // an error code is an answer too
	again := uuid.NewString()
	p.a.publish(typeAsk, dialogue(t, p.a.me, p.b.me, again))
	p.a.message(store.AMQPOut, store.AMQPRequest, again, store.AMQPRejected)
}
