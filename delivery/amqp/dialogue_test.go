package amqp_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"schakel/delivery/amqp"
	"schakel/delivery/amqp/msghead"
	"schakel/delivery/event"
	"schakel/delivery/outbox"
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

// TestLargeMessage sends a business message that is oversize data of its event, and takes it in whole.
//
// Rules: AMQP-41, EDU-01a.
func TestLargeMessage(t *testing.T) {
	t.Parallel()
	p := newPair(t, func(c *amqp.Config) { c.Limits = event.Limits{EventBytes: 32 << 20} })
	doc, err := msghead.Compose(msghead.Draft{
		Type: msghead.Code{V: subjectDialogue}, MsgID: uuid.NewString(), Generated: time.Now(), Sender: headParty(p.a.me.HerID), Receiver: headParty(p.b.me.HerID),
		Topic: msghead.Code{V: "BA"}, Question: "With a picture.", Attachment: make([]byte, 2<<20),
	})
	if err != nil {
		t.Fatal(err)
	}
	id := p.a.db.NewID("obj")
	if err := p.a.db.PutObject(t.Context(), store.Object{ID: id, PartnerID: p.a.self.ID, ContentType: "application/xml", Size: int64(len(doc)), Digest: make([]byte, 32)}, doc); err != nil {
		t.Fatal(err)
	}
	ev, err := event.New(map[string]string{
		"id": uuid.NewString(), "source": "urn:own", "type": typeOut, "datacontenttype": "application/xml", "dataref": "https://a.example/objects/" + id,
	}, nil, event.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.a.engine.Accept(t.Context(), outbox.Submission{ClientID: "own", PartnerID: p.a.self.ID, FromOwn: true, Events: []event.Event{ev}, Objects: []string{id}}); err != nil {
		t.Fatal(err)
	}
	p.b.eventually("the large message", func() (bool, string) { return len(p.b.inbox.events(typeIn)) == 1, p.b.all() })
	if got := p.b.inbox.events(typeIn)[0]; !bytes.Equal(got.Data, doc) {
		t.Errorf("%d bytes came of %d", len(got.Data), len(doc))
	}
}
