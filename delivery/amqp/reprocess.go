package amqp

import (
	"context"
	"errors"
	"fmt"

	"schakel/delivery/outbox"
	"schakel/store"
)

// Reprocess handles a quarantined or held message as if it came from its queue at this moment: with the same checks, and with its
// AppRec. It is a [Refused] when the message waits on.
func (b *Bridge) Reprocess(ctx context.Context, by outbox.Actor, id string) error {
	m, err := b.undecided(ctx, by, id, store.AMQPQuarantined, store.AMQPHeld)
	if err != nil {
		return err
	}
	after, err := b.reprocess(ctx, m)
	if _, refused := errors.AsType[Refused](err); err != nil && !refused {
		b.cfg.Log.WarnContext(ctx, "a stored message cannot be handled now", "message", id, "error", err)
		return Refused("It could not be handled now: " + err.Error() + ". It is still stored; try again later.")
	}
	if err != nil {
		return err
	}
	err = b.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		return b.audit(ctx, tx, by, "amqp.reprocessed", after, after.Status)
	})
	switch {
	case err != nil:
		return err
	case after.Status == store.AMQPQuarantined:
		return Refused("It stays in quarantine: " + after.Detail + " Register its sender, with its HER-id and error queue, then reprocess it.")
	case after.Status == store.AMQPHeld:
		return Refused("It is still held: " + after.Detail + " Approve a subscription to it.")
	}
	return nil
}

// reprocess handles a stored message and gives its row as it is then.
func (b *Bridge) reprocess(ctx context.Context, m store.AMQPMessage) (store.AMQPMessage, error) {
	if len(m.Encoded) == 0 {
		return m, Refused("Its content was not stored: an older version of the program read it. Ask its sender to send it again, and drop this one.")
	}
	if m.Kind == store.AMQPRequest {
		return m, Refused("The sender of a synchronous request waits for seconds only. Drop it; the sender asks again.")
	}
	if err := b.fresh(ctx); err != nil {
		return m, fmt.Errorf("read parties: %w", err)
	}
	in, err := b.stored(ctx, m)
	if errors.Is(err, errOurs) {
		return m, Refused("The party whose queue it came by is not in use.")
	}
	if err != nil {
		return m, err
	}
	conn, err := b.connTo(in.own)
	if err != nil {
		return m, Refused("There is no connection to the broker now. Try again later.")
	}
	if m.Kind == store.AMQPEvent {
		err = b.takeStoredEvent(ctx, in)
	} else {
		err = b.takeBusiness(ctx, conn, in)
	}
	if err != nil {
		return m, err
	}
	return b.cfg.DB.AMQPMessage(ctx, m.ID)
}
