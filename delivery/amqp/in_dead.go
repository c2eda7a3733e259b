package amqp

import (
	"context"
	"errors"
	"fmt"

	goamqp "github.com/Azure/go-amqp"

	"schakel/delivery/amqp/link"
	"schakel/delivery/amqp/message"
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
