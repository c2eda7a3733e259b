package amqp

import (
	"context"
	"errors"
	"fmt"

	goamqp "github.com/Azure/go-amqp"
	"schakel/delivery/amqp/link"
	"schakel/delivery/amqp/message"
	"schakel/delivery/event"
	"schakel/delivery/jwe"
	"schakel/delivery/outbox"
	"schakel/delivery/webhook"
	"schakel/store"
	"schakel/templates/i18n"
)

func (b *Bridge) sendEvent(ctx context.Context, p *party, c store.Claimed) error {
	ev, err := event.FromParts(c.Event.Attributes, event.DataKind(c.Event.DataKind), c.Event.Data)
	if err != nil {
		return &held{reason: ReasonDocument, detail: "verdict.error.event"}
	}
	if c.Encryption != nil {
		if ev, err = b.cfg.Encrypter.Encrypt(ctx, c.Encryption, c.EventID, &ev); err != nil {
			return encryptTrouble(err)
		}
	}
	conn, err := b.connTo(p)
	if err != nil {
		return err
	}
	return finalTrouble(conn.Send(ctx, store.AMQPQueueName(p.AsyncQueue), eventMessage(&ev, p.ContentMode, c.IdempotencyKey, p.AsyncQueue)))
}

// encryptTrouble holds an event whose data cannot be encrypted where only a change of its subscription helps; else it is tried again.
func encryptTrouble(err error) error {
	wrong, ok := errors.AsType[*jwe.Problem](err)
	if ok && !wrong.Transient {
		return &held{reason: webhook.ReasonEncryption, detail: i18n.M("verdict.with-error", i18n.Message("verdict.encryption-held"), wrong.Message)}
	}
	return fmt.Errorf("encrypt data: %w", err)
}

// takeEvent takes an event in the AMQP binding of CloudEvents in, under the rights of its party's client.
func (b *Bridge) takeEvent(ctx context.Context, from *party, q queue, d *link.Delivery) error {
	reason, detail, _, err := b.submitEvent(ctx, from, d)
	if err != nil || reason == "" {
		return err
	}
	return b.refuseEvent(ctx, from, q, d, reason, detail)
}

// submitEvent accepts the event in a message, or gives a reason why not.
func (b *Bridge) submitEvent(ctx context.Context, from *party, d *link.Delivery) (reason, detail, eventID string, err error) {
	ev, _, err := message.DecodeCloudEvent(d.Message, b.cfg.Limits)
	if err != nil {
		return "event-invalid", err.Error(), "", nil
	}
	why, err := b.cfg.WhyNot(ctx, from.ClientID, ev.Type, ev.Source)
	if err != nil || why != "" {
		return "event-not-allowed", why, "", err
	}
	var only store.Audience
	if b.cfg.Audience != nil {
		if only, err = b.cfg.Audience(ctx, &ev); err != nil {
			return "", "", "", err
		}
	}
	eventID, err = b.submit(ctx, from, outbox.Submission{ClientID: from.ClientID, Events: []event.Event{ev}, Audience: only})
	return "", "", eventID, err
}

// refuseEvent stores an event that is not taken in, where a person sees it; the sender has no error queue to tell it on.
func (b *Bridge) refuseEvent(ctx context.Context, from *party, q queue, d *link.Delivery, reason, detail string) error {
	encoded, err := b.preserve(d.Message)
	if err != nil {
		return err
	}
	row := store.AMQPMessage{
		Direction: store.AMQPIn, Kind: store.AMQPEvent, Status: store.AMQPQuarantined, Reason: reason, Detail: detail, Encoded: encoded, ContentDigest: contentDigest(d.Message),
		OwnPartyID: from.ID, PartyID: from.ID, PartnerID: from.PartnerID, Queue: q.name,
	}
	row.MessageID = eventMessageID(d.Message, row.ContentDigest)
	err = b.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.AMQPQuarantinedAs(ctx, row.OwnPartyID, row.Queue, row.MessageID, row.ContentDigest); !errors.Is(err, store.ErrNotFound) {
			return err
		}
		return tx.InsertAMQPMessage(ctx, &row)
	})
	if err != nil {
		return fmt.Errorf("store refused event: %w", err)
	}
	b.note(ctx, row.ID, stepRead, q.name)
	return nil
}

// takeStoredEvent takes a stored event in, as takeEvent does.
func (b *Bridge) takeStoredEvent(ctx context.Context, in *incoming) error {
	reason, detail, eventID, err := b.submitEvent(ctx, in.own, in.delivery)
	if err != nil {
		return err
	}
	in.row = *in.stored
	in.row.Status, in.row.Reason, in.row.Detail, in.row.EventID = store.AMQPProcessed, "", "", eventID
	if reason != "" {
		in.row.Status, in.row.Reason, in.row.Detail = store.AMQPQuarantined, reason, detail
	} else {
		in.row.Encoded = nil
	}
	return b.writes.do(ctx, func(tx *store.Tx) error { return b.insertIn(ctx, tx, in) })
}

// eventMessageID names a message that may have no messageId.
func eventMessageID(m *goamqp.Message, digest string) string {
	if m.Properties != nil && m.Properties.MessageID != nil {
		return fmt.Sprint(m.Properties.MessageID)
	}
	return message.AnswerID(digest, store.AMQPEvent)
}

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
