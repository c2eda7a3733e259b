package amqp_test

import (
	"reflect"
	"strings"
	"testing"

	goamqp "github.com/Azure/go-amqp"
	"github.com/google/uuid"

	"schakel/delivery/amqp"
	"schakel/delivery/amqp/message"
	"schakel/store"
)

// TestCorrelation sends messages with every kind of correlationId: the AppRec and the AMQP error go out, with that
// correlationId of that type.
//
// Rules: AMQP-24, AMQP-86, AMQP-140
func TestCorrelation(t *testing.T) {
	t.Parallel()
	a := simple(t)
	id := uuid.New()
	for name, value := range map[string]any{
		"text":                  "order 12 / a",
		"text in white space":   "  padded\t",
		"text with line breaks": "one\ntwo\r\n",
		"text beyond ASCII":     "bestilling nr. 7 – øl 🍺",
		"long text":             strings.Repeat("x", 5000),
		"number":                uint64(1 << 63),
		"zero":                  uint64(0),
		"binary":                []byte{0, 1, 2, 0xff, 0xfe},
		"binary of 16 bytes":    id[:],
		"binary text":           []byte("plain"),
		"UUID":                  goamqp.UUID(id),
		"UUID as text":          id.String(),
		"UUID in capitals":      strings.ToUpper(id.String()),
		"UUID without dashes":   strings.ReplaceAll(id.String(), "-", ""),
		"UUID in braces":        "{" + id.String() + "}",
		"UUID as URN":           "urn:uuid:" + id.String(),
	} {
		t.Run(name, func(t *testing.T) {
			msgID := uuid.NewString()
			m := letter(t, a.peer, a.b.me, dialogue(t, a.peer, a.b.me, msgID), uuid.NewString())
			m.Properties.CorrelationID = value
			send(t, a.wire, a.b.me.Async, m)
			a.b.message(store.AMQPOut, store.AMQPAppRec, msgID, store.AMQPSent)
			got := take(t, a.wire, a.peer.Async, 1)[0]
			if !reflect.DeepEqual(got.Properties.CorrelationID, value) {
				t.Errorf("the AppRec has correlationId %T %.60v, want %T %.60v", got.Properties.CorrelationID, got.Properties.CorrelationID, value, value)
			}
			bad := letter(t, a.peer, a.b.me, []byte("<a/>"), uuid.NewString())
			bad.Properties.CorrelationID = value
			send(t, a.wire, a.b.me.Async, bad)
			got = take(t, a.wire, a.peer.Error, 1)[0]
			if !reflect.DeepEqual(got.Properties.CorrelationID, value) || got.ApplicationProperties["errorCondition"] != string(message.NotWellFormedXML) {
				t.Errorf("the error has correlationId %T %.60v, want %T %.60v", got.Properties.CorrelationID, got.Properties.CorrelationID, value, value)
			}
		})
	}
}

// TestCorrelationOfReply: the answer to a synchronous request has the correlationId of the request, of its type.
//
// Rules: AMQP-24, AMQP-27, AMQP-94
func TestCorrelationOfReply(t *testing.T) {
	t.Parallel()
	a := simple(t)
	m := letter(t, a.peer, a.b.me, dialogue(t, a.peer, a.b.me, uuid.NewString()), uuid.NewString())
	subject := subjectQuestion
	m.Properties.Subject, m.Properties.CorrelationID = &subject, uint64(7)
	send(t, a.wire, a.b.me.Sync, m)
	if got := take(t, a.wire, a.peer.Async, 1)[0]; got.Properties.CorrelationID != uint64(7) { // replyTo of a letter
		t.Errorf("%T %v", got.Properties.CorrelationID, got.Properties.CorrelationID)
	}
}

// TestUnwritableAnswer has the queue for every AppRec be full: it is tried again, and when that has failed too often people are
// notified, and can have it tried again or dropped.
//
// Rules: AMQP-13, AMQP-114
func TestUnwritableAnswer(t *testing.T) {
	t.Parallel()
	a := simple(t, func(c *amqp.Config) { c.Patience = 1 })
	full := a.peer.Async + "_full"
	a.broker.Queue(t, full, map[string]any{"x-queue-type": "classic", "x-max-length": 1, "x-overflow": "reject-publish"})
	send(t, a.wire, full, goamqp.NewMessage([]byte("it fills the queue")))
	a.b.write(func(tx *store.Tx) error {
		p, err := tx.AMQPParty(t.Context(), a.b.counter.ID)
		if p.AsyncQueue = full; err != nil {
			return err
		}
		return tx.UpdateAMQPParty(t.Context(), &p)
	})
	a.again(t)
	for _, drop := range []bool{true, false} {
		messageID, msgID := a.from(t, a.peer)
		a.b.message(store.AMQPIn, store.AMQPBusiness, messageID, store.AMQPProcessed)
		answer := a.b.message(store.AMQPOut, store.AMQPAppRec, msgID, store.AMQPDue)
		a.b.eventually("the queue is full", func() (bool, string) {
			m, err := a.b.db.AMQPMessage(t.Context(), answer.ID)
			answer = m
			return err == nil && m.Attempts > 0, a.b.all()
		})
		a.b.write(func(tx *store.Tx) error { // the waits between so many tries take minutes
			answer.Attempts, answer.DueAt = store.AMQPAnswerTries-1, tx.Now
			_, err := tx.UpdateAMQPMessage(t.Context(), &answer, store.AMQPDue)
			return err
		})
		if notice := <-a.b.notices; notice.Kind != "amqp-answer" || notice.Groups[0].MessageID != answer.ID || answer.Detail == "" {
			t.Errorf("notice %+v", notice)
		}
		if n, err := a.b.db.CountAMQPMessages(t.Context(), store.AMQPFilter{Attention: true}); n != 1 || err != nil {
			t.Errorf("%d need attention, %v", n, err)
		}
		if drop {
			if err := a.b.bridge.Drop(t.Context(), operator(), answer.ID, "they were phoned"); err != nil {
				t.Error(err)
			}
			a.b.message(store.AMQPOut, store.AMQPAppRec, msgID, store.AMQPDropped)
			continue
		}
		take(t, a.wire, full, 1)
		if err := a.b.bridge.Retry(t.Context(), operator(), answer.ID); err != nil {
			t.Error(err)
		}
		a.b.message(store.AMQPOut, store.AMQPAppRec, msgID, store.AMQPSent)
		take(t, a.wire, full, 1)
	}
}
