package amqp

import (
	"cmp"
	"context"
	"errors"

	"schakel/store"
)

// readBefore reports whether a message was read before, in the transaction that is to store it. Its row is then that of before. A
// quarantined message was read before only when its content is the same, for senders that nobody knows may use any messageId.
func (b *Bridge) readBefore(ctx context.Context, tx *store.Tx, in *incoming) (bool, error) {
	var known store.AMQPMessage
	var err error
	if in.row.ContentDigest != "" {
		known, err = tx.AMQPQuarantinedAs(ctx, in.own.ID, in.queue.name, in.row.MessageID, in.row.ContentDigest)
	} else {
		known, err = tx.AMQPRead(ctx, in.own.ID, in.queue.name, in.row.Her, in.row.MessageID)
	}
	switch {
	case errors.Is(err, store.ErrNotFound) || err == nil && known.ID == in.row.ID:
		return false, nil
	case err != nil:
		return false, err
	case in.stored != nil:
		return true, b.markDuplicate(ctx, tx, in, known)
	}
	in.row = known
	return true, b.trace(ctx, tx, known.ID, stepAgain, "")
}

// insertIn stores the row of a message that was read, or what became of one that was stored before. in.known says that another
// node did so meanwhile.
func (b *Bridge) insertIn(ctx context.Context, tx *store.Tx, in *incoming) error {
	if in.stored == nil {
		if err := tx.InsertAMQPMessage(ctx, &in.row); err != nil {
			return err
		}
		return b.trace(ctx, tx, in.row.ID, stepRead, in.queue.name)
	}
	in.row.NotifiedAt = store.Time{}
	if in.row.Status == in.stored.Status {
		in.row.NotifiedAt, in.row.Asked, in.row.AskedAt = in.stored.NotifiedAt, in.stored.Asked, in.stored.AskedAt
	}
	done, err := tx.ReprocessAMQPMessage(ctx, &in.row, in.stored.Status)
	if in.known = !done; err != nil || in.known {
		return err
	}
	step := stepReprocess
	if in.waited() {
		step = stepChecked
	}
	return b.trace(ctx, tx, in.row.ID, step, in.row.Status)
}

// markDuplicate ends a stored message of which the same was handled under its messageId meanwhile.
func (b *Bridge) markDuplicate(ctx context.Context, tx *store.Tx, in *incoming, known store.AMQPMessage) error {
	in.row.Status, in.row.ReferenceID, in.row.Encoded, in.row.EventID = store.AMQPDuplicate, known.ID, nil, ""
	in.row.ContentDigest = cmp.Or(in.stored.ContentDigest, "duplicate:"+in.row.ID)
	in.row.Reason, in.row.Codes, in.row.Detail = "", nil, "The sender sent this messageId again, and that message was handled."
	if _, err := tx.ReprocessAMQPMessage(ctx, &in.row, in.stored.Status); err != nil {
		return err
	}
	return b.trace(ctx, tx, in.row.ID, stepReprocess, store.AMQPDuplicate)
}
