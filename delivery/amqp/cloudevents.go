package amqp

import (
	"context"
	"errors"
	"fmt"

	goamqp "github.com/Azure/go-amqp"

	"schakel/delivery/amqp/link"
	"schakel/delivery/amqp/message"
	"schakel/delivery/event"
	"schakel/delivery/webhook"
	"schakel/store"
)

// sendEvent writes an event of ours in the AMQP binding of CloudEvents.
func (b *Bridge) sendEvent(ctx context.Context, p *party, c store.Claimed) error {
	ev, err := event.FromParts(c.Event.Attributes, event.DataKind(c.Event.DataKind), c.Event.Data)
	if err != nil {
		return &held{reason: ReasonDocument, detail: "The stored event cannot be read."}
	}
	conn, err := b.connTo(p)
	if err != nil {
		return err
	}
	return finalTrouble(conn.Send(ctx, message.QueueName(p.AsyncQueue), eventMessage(&ev, p.ContentMode, c.IdempotencyKey, p.AsyncQueue)))
}

// takeEvent takes an event in the AMQP binding of CloudEvents in, under the rights of its party's client.
func (b *Bridge) takeEvent(ctx context.Context, from *party, q queue, d *link.Delivery) error {
	ev, _, err := message.DecodeCloudEvent(d.Message, b.cfg.Limits)
	if err != nil {
		return b.refuseEvent(ctx, from, q, d, "event-invalid", err.Error())
	}
	why, err := b.cfg.WhyNot(ctx, from.ClientID, ev.Type, ev.Source)
	if err != nil {
		return err
	}
	if why != "" {
		return b.refuseEvent(ctx, from, q, d, "event-not-allowed", why)
	}
	_, err = b.submit(ctx, from, ev, from.ClientID)
	return err
}

// refuseEvent keeps an event that is not taken in, where a person sees it; the sender has no error queue to tell it on.
func (b *Bridge) refuseEvent(ctx context.Context, from *party, q queue, d *link.Delivery, reason, detail string) error {
	encoded, err := bare(d.Message).MarshalBinary()
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	row := store.AMQPMessage{
		Direction: store.AMQPIn, Kind: store.AMQPEvent, Status: store.AMQPQuarantined, Reason: reason, Detail: detail, Encoded: encoded,
		OwnPartyID: from.ID, PartyID: from.ID, PartnerID: from.PartnerID, Queue: q.name, MessageID: eventMessageID(d.Message, encoded),
	}
	err = b.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.AMQPRead(ctx, row.OwnPartyID, row.Queue, row.MessageID); !errors.Is(err, store.ErrNotFound) {
			return err
		}
		return tx.InsertAMQPMessage(ctx, &row)
	})
	if err != nil {
		return fmt.Errorf("keep refused event: %w", err)
	}
	b.note(ctx, row.ID, stepRead, q.name)
	return nil
}

// eventMessageID names a message that may have no messageId.
func eventMessageID(m *goamqp.Message, encoded []byte) string {
	if m.Properties != nil && m.Properties.MessageID != nil {
		return fmt.Sprint(m.Properties.MessageID)
	}
	return message.AnswerID(string(encoded), store.AMQPEvent)
}

// eventMessage writes an event in the AMQP binding, in the content mode given.
func eventMessage(ev *event.Event, mode, id, to string) *goamqp.Message {
	how := event.Structured
	if mode == webhook.ModeBinary {
		how = event.Binary
	}
	m := message.EncodeCloudEvent(*ev, how)
	if m.Properties == nil {
		m.Properties = &goamqp.MessageProperties{}
	}
	m.Properties.MessageID, m.Properties.To = id, &to
	return m
}
