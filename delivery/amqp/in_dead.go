package amqp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	goamqp "github.com/Azure/go-amqp"

	"schakel/delivery/amqp/link"
	"schakel/delivery/amqp/message"
	"schakel/store"
)

// takeDead takes a message from the dead-letter queue into the database, with every section, where it waits for a person
// (AMQP-52, AMQP-53). One that was handled in the end is only noted.
func (b *Bridge) takeDead(ctx context.Context, own *party, q queue, d *link.Delivery) (string, error) {
	in := &incoming{queue: q, own: own, delivery: d}
	in.message, in.faults = message.Decode(d.Message)
	in.from = b.dir.Load().byHer[int64(in.message.FromHerID)]
	in.row = b.inRow(in)
	in.row.Attempts, in.row.Detail = int64(d.DeliveryCount), deathReason(d.Message)
	if own.Kind == store.AMQPCloudEvents {
		in.row.Kind, in.row.PartyID, in.row.PartnerID = store.AMQPEvent, own.ID, own.PartnerID
		in.row.MessageID = eventMessageID(d.Message, contentDigest(d.Message))
	}
	handled, err := b.handled(ctx, in)
	if err != nil || handled {
		return "", err
	}
	if in.row.Encoded, err = b.preserve(d.Message); err != nil {
		return "", err
	}
	in.row.Status = store.AMQPDead
	err = b.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		known, err := tx.AMQPRead(ctx, own.ID, q.name, in.row.Her, in.row.MessageID)
		if errors.Is(err, store.ErrNotFound) {
			if err := tx.InsertAMQPMessage(ctx, &in.row); err != nil {
				return err
			}
			return errors.Join(b.trace(ctx, tx, in.row.ID, stepRead, q.name), b.noteExpired(ctx, tx, q, d))
		}
		if err != nil {
			return err
		}
		was := known.Status
		known.Status, known.Encoded, known.Detail = store.AMQPDead, in.row.Encoded, in.row.Detail
		in.row = known
		if _, err := tx.UpdateAMQPMessage(ctx, &known, was); err != nil {
			return err
		}
		return errors.Join(b.trace(ctx, tx, known.ID, stepAgain, q.name), b.noteExpired(ctx, tx, q, d))
	})
	if err != nil {
		return "", fmt.Errorf("keep dead letter: %w", err)
	}
	return in.row.ID, nil
}

// handled reports whether a dead letter was handled all the same, the time before it died.
func (b *Bridge) handled(ctx context.Context, in *incoming) (bool, error) {
	for _, queue := range []string{in.own.AsyncQueue, in.own.ErrorQueue} {
		known, err := b.cfg.DB.AMQPRead(ctx, in.own.ID, store.AMQPQueueName(queue), in.row.Her, in.row.MessageID)
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

// Application properties that Azure Service Bus puts on a dead letter.
const (
	deadLetterReason      = "DeadLetterReason"
	deadLetterDescription = "DeadLetterErrorDescription"
)

// deathReason gives why a broker put a message among the dead letters, for people; "" where it does not say.
func deathReason(m *goamqp.Message) string {
	reason, _ := m.ApplicationProperties[deadLetterReason].(string)
	description, _ := m.ApplicationProperties[deadLetterDescription].(string)
	if first, ok := m.Annotations[rabbitDeathReason].(string); ok && reason == "" {
		reason = first
	}
	if text := strings.TrimSpace(reason + " " + description); text != "" {
		return "The broker's reason: " + text
	}
	return ""
}

// Message annotations in which RabbitMQ says why, and in which queue, a message became a dead letter.
const (
	rabbitDeathReason = "x-first-death-reason"
	rabbitDeathQueue  = "x-first-death-queue"
)

// bare is a message without what brokers put on it (AMQP-02).
func bare(m *goamqp.Message) *goamqp.Message {
	properties := maps.Clone(m.ApplicationProperties)
	delete(properties, deadLetterReason)
	delete(properties, deadLetterDescription)
	return &goamqp.Message{Properties: m.Properties, ApplicationProperties: properties, Data: m.Data, Value: m.Value, Sequence: m.Sequence}
}
