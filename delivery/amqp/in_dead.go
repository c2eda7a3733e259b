package amqp

import (
	"context"
	"errors"
	"fmt"

	goamqp "github.com/Azure/go-amqp"

	"schakel/delivery/amqp/link"
	"schakel/delivery/amqp/message"
	"schakel/delivery/event"
	"schakel/store"
)

// takeDead takes a message from the dead-letter queue into the database, byte for byte, where it waits for a person
// (AMQP-52, AMQP-53). One that was handled in the end is only noted.
func (b *Bridge) takeDead(ctx context.Context, own *party, q queue, d *link.Delivery) (string, error) {
	in := &incoming{queue: q, own: own, delivery: d}
	in.message, in.faults = message.Decode(d.Message)
	in.from = b.dir.Load().byHer[int64(in.message.FromHerID)]
	in.row = b.inRow(in)
	handled, err := b.handled(ctx, in)
	if err != nil || handled {
		return "", err
	}
	if in.row.Encoded, err = bare(d.Message).MarshalBinary(); err != nil {
		return "", fmt.Errorf("encode dead letter: %w", err)
	}
	in.row.Status = store.AMQPDead
	err = b.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		known, err := tx.AMQPRead(ctx, own.ID, q.name, in.row.MessageID)
		if errors.Is(err, store.ErrNotFound) {
			if err := tx.InsertAMQPMessage(ctx, &in.row); err != nil {
				return err
			}
			return b.trace(ctx, tx, in.row.ID, stepRead, q.name)
		}
		if err != nil {
			return err
		}
		was := known.Status
		known.Status, known.Encoded, known.Detail = store.AMQPDead, in.row.Encoded, ""
		in.row = known
		if _, err := tx.UpdateAMQPMessage(ctx, &known, was); err != nil {
			return err
		}
		return b.trace(ctx, tx, known.ID, stepAgain, q.name)
	})
	if err != nil {
		return "", fmt.Errorf("keep dead letter: %w", err)
	}
	b.cfg.Notify(ctx, Notice{Kind: NoticeDead, Party: own.Name, Count: 1, Message: in.row})
	return in.row.ID, nil
}

// handled tells whether a dead letter was handled all the same, the time before it died.
func (b *Bridge) handled(ctx context.Context, in *incoming) (bool, error) {
	for _, queue := range []string{in.own.AsyncQueue, in.own.ErrorQueue} {
		known, err := b.cfg.DB.AMQPRead(ctx, in.own.ID, message.QueueName(queue), in.row.MessageID)
		switch {
		case err == nil:
			b.note(ctx, known.ID, stepDropped, "Its copy among the dead letters is dropped: it was handled.")
			return true, nil
		case !errors.Is(err, store.ErrNotFound):
			return false, err
		}
	}
	return false, nil
}

// bare is a message without what brokers put on it (AMQP-02).
func bare(m *goamqp.Message) *goamqp.Message {
	return &goamqp.Message{Properties: m.Properties, ApplicationProperties: m.ApplicationProperties, Data: m.Data, Value: m.Value, Sequence: m.Sequence}
}

// takeEvent takes an event in the AMQP binding of CloudEvents in, under the rights of its party's client.
func (b *Bridge) takeEvent(ctx context.Context, from *party, q queue, d *link.Delivery) error {
	ev, err := decodeEvent(d.Message, b.cfg.Limits)
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
		Direction: store.AMQPIn, Kind: kindEvent, Status: store.AMQPQuarantined, Reason: reason, Detail: detail, Encoded: encoded,
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

// kindEvent is the kind of a message in the CloudEvents binding.
const kindEvent = "event"

// eventMessageID names a message that may have no messageId.
func eventMessageID(m *goamqp.Message, encoded []byte) string {
	if m.Properties != nil && m.Properties.MessageID != nil {
		return fmt.Sprint(m.Properties.MessageID)
	}
	return message.AnswerID(string(encoded), kindEvent)
}

// decodeEvent reads an event in the AMQP binding.
func decodeEvent(m *goamqp.Message, limits event.Limits) (event.Event, error) {
	ev, _, err := message.DecodeCloudEvent(m, limits)
	return ev, err
}

// eventMessage writes an event in the AMQP binding, in the content mode given.
func eventMessage(ev *event.Event, mode, id, to string) (*goamqp.Message, error) {
	how := event.Structured
	if mode == "binary" {
		how = event.Binary
	}
	m := message.EncodeCloudEvent(*ev, how)
	if m.Properties == nil {
		m.Properties = &goamqp.MessageProperties{}
	}
	m.Properties.MessageID, m.Properties.To = id, &to
	return m, nil
}
