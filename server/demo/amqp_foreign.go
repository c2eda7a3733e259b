package demo

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/Azure/go-amqp"
	"github.com/google/uuid"

	"schakel/delivery/amqp/cms"
	"schakel/delivery/amqp/message"
)

// Writer writes messages to queues of a broker; *link.Connection is one.
type Writer interface {
	Send(ctx context.Context, queue string, m *amqp.Message) error
}

// unknownHer is a HER-id that nobody has.
const unknownHer = 999

// envelope is a message of the practice to the first Schakel, which may not agree with the letter in it.
type envelope struct {
	letter
	queue string // of the first Schakel, without its HER-id
	from  int    // HER-id on the envelope
}

// Foreign writes what the systems of others get wrong to the queues of the first Schakel: a message that its broker gave
// up on, so that it can be put back; one to somebody else, one of somebody else, and one of nobody who is known.
func (x *Exchange) Foreign(ctx context.Context, to Writer, now time.Time) error {
	good := letter{from: x.Quiet, to: x.PartyA, subject: subjectReferral, text: "The patient you referred was here."}
	lost, forged := good, good
	lost.to, forged.from = x.PartyB, x.PartyB
	for _, e := range []envelope{
		{good, "_dl", HerQuiet},
		{lost, "_async", HerQuiet},
		{forged, "_async", HerQuiet},
		{good, "_async", unknownHer},
	} {
		e.id = uuid.NewString()
		m, err := x.seal(e, now)
		if err != nil {
			return err
		}
		if err := to.Send(ctx, strconv.Itoa(HerA)+e.queue, m); err != nil {
			return fmt.Errorf("write message of %s: %w", x.Quiet.Name, err)
		}
	}
	return nil
}

// seal signs and encrypts a message and puts it in its envelope.
func (x *Exchange) seal(e envelope, now time.Time) (*amqp.Message, error) {
	document, err := e.write(now)
	if err != nil {
		return nil, err
	}
	body, err := cms.Seal(document, x.Quiet.Sign, x.PartyA.Encrypt.Certificate)
	if err != nil {
		return nil, fmt.Errorf("seal message of %s: %w", x.Quiet.Name, err)
	}
	id := uuid.NewString()
	m, err := message.Encode(message.Message{
		ID: id, CorrelationID: id, ConversationID: e.id, Subject: e.subject, ContentType: message.ContentSignedAndEncrypted,
		To: strconv.Itoa(HerA) + "_async", ReplyTo: strconv.Itoa(HerQuiet) + "_async",
		FromHerID: e.from, ToHerID: HerA, Timestamp: now, Durable: true, Body: body,
	})
	if err != nil {
		return nil, fmt.Errorf("write message of %s: %w", x.Quiet.Name, err)
	}
	return m, nil
}
