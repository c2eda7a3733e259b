package amqp_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"schakel/delivery/amqp/msghead"
	"schakel/delivery/event"
	"schakel/delivery/outbox"
	"schakel/store"
)

// dialogue is a business message from one party to another.
func dialogue(t *testing.T, from, to identity, msgID string) []byte {
	t.Helper()
	doc, err := msghead.Compose(msghead.Draft{
		Type: msghead.Code{V: subjectDialogue, DN: "Dialog"}, MsgID: msgID, Generated: time.Now(), Sender: headParty(from.HerID), Receiver: headParty(to.HerID),
		Topic: msghead.Code{V: "BA"}, Question: "Kan du komme?",
	})
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func headParty(her int) msghead.Party {
	return msghead.Party{
		Organisation: msghead.Unit{Name: "Parent", Idents: []msghead.Ident{{ID: fmt.Sprint(her + 1_000_000), Type: msghead.Code{V: msghead.TypeHER}}}},
		Unit:         &msghead.Unit{Name: "Unit", Idents: []msghead.Ident{{ID: fmt.Sprint(her), Type: msghead.Code{V: msghead.TypeHER}}}},
	}
}

// publish accepts an event of the own organisation with a document in it.
func (s *side) publish(eventType string, document []byte) {
	s.t.Helper()
	ev, err := event.New(map[string]string{"id": uuid.NewString(), "source": "urn:own", "type": eventType, "datacontenttype": "application/xml"}, document, event.Limits{})
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.engine.Accept(s.t.Context(), outbox.Submission{ClientID: "own", PartnerID: s.self.ID, FromOwn: true, Events: []event.Event{ev}}); err != nil {
		s.t.Fatal(err)
	}
}

// message waits for a message with a MsgId to be in one of some states.
func (s *side) message(direction, kind, msgID string, states ...string) store.AMQPMessage {
	s.t.Helper()
	var found store.AMQPMessage
	s.eventually(fmt.Sprintf("%s: a message %s %s %s in %v", s.name, direction, kind, msgID, states), func() (bool, string) {
		rows, _, err := s.db.AMQPMessages(s.t.Context(), store.AMQPFilter{Direction: direction, Kinds: []string{kind}, ID: msgID})
		if err != nil {
			s.t.Fatal(err)
		}
		for _, m := range rows {
			for _, state := range states {
				if m.Status == state {
					found = m
					return true, ""
				}
			}
		}
		return false, s.all()
	})
	return found
}

// all describes every message, for a failing test.
func (s *side) all() string {
	rows, _, err := s.db.AMQPMessages(context.Background(), store.AMQPFilter{})
	text := fmt.Sprint(err, "\n")
	for _, m := range rows {
		text += fmt.Sprintf("%s %s %s %q %s %s %s msg=%s %v\n", m.Direction, m.Kind, m.Status, m.Reason, m.Detail, m.Queue, m.MessageID, m.MsgID, m.Codes)
	}
	deliveries, _, _ := s.db.Deliveries(context.Background(), store.DeliveryFilter{})
	for _, d := range deliveries {
		text += fmt.Sprintf("delivery %s %s %s %s\n", d.EventType, d.Status, d.Reason, d.Detail)
	}
	return text
}

// giveUp ends a test that fails.
const giveUp = time.Minute

// eventually waits for something that must come to pass; how long that takes decides nothing.
func (s *side) eventually(what string, ok func() (bool, string)) {
	s.t.Helper()
	deadline := time.Now().Add(giveUp)
	for {
		done, last := ok()
		if done {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("did not come to pass: %s; last:\n%s", what, last)
		}
		<-time.After(20 * time.Millisecond)
	}
}
