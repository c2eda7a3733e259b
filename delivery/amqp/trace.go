package amqp

import (
	"context"

	"schakel/store"
)

// Steps of a message that its trace names (AMQP-15).
const (
	stepRead         = "read"       // taken from a queue, not settled
	stepStored       = "kept"       // in the database
	stepAnswered     = "answered"   // its AppRec, error or answer is on the queue
	stepSettled      = "settled"    // gone from the queue
	stepAgain        = "read again" // it came again
	stepWritten      = "written"    // the broker accepted it
	stepUnwritten    = "unwritten"  // the broker did not accept it
	stepConfirmed    = "confirmed"  // its AppRec, error or answer came
	stepOverdue      = "overdue"
	stepResent       = "resent"
	stepPutBack      = "put back"
	stepDropped      = "dropped"
	stepChecked      = "checked"        // it could be checked in the end
	stepUnanswerable = "answer refused" // the answer of a handler breaks the rules of its receiver
	stepRetried      = "retried"        // a person had it tried at once
	stepReprocess    = "reprocessed"    // a stored message was handled as if it came from its queue
	stepAsked        = "not done"       // what was asked for many messages could not be done for this one
)

// trace adds a step in a transaction.
func (b *Bridge) trace(ctx context.Context, tx *store.Tx, id, step, detail string) error {
	return tx.TraceAMQP(ctx, store.AMQPTrace{MessageID: id, Step: step, Detail: detail, Node: b.cfg.Node})
}

// note adds a step by itself; that it cannot be added is logged and changes nothing.
func (b *Bridge) note(ctx context.Context, id, step, detail string) {
	if id == "" {
		return
	}
	err := b.cfg.DB.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error { return b.trace(ctx, tx, id, step, detail) })
	if err != nil {
		b.cfg.Log.WarnContext(ctx, "a step of a message is not in its trace", "message", id, "step", step, "error", err)
	}
}

// noteSoon adds a step that nothing waits for.
func (b *Bridge) noteSoon(ctx context.Context, id, step string) {
	if id != "" {
		ctx = context.WithoutCancel(ctx)
		b.writes.later(ctx, func(tx *store.Tx) error { return b.trace(ctx, tx, id, step, "") })
	}
}
