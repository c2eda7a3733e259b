package amqp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"schakel/delivery/outbox"
	"schakel/store"
	"schakel/templates/i18n"
)

// What can be asked to be done with many messages at once.
const (
	OperationResend    = "resend"
	OperationPutBack   = "put-back"
	OperationReprocess = "reprocess"
	OperationDrop      = "drop"

	operationRelease = "release" // of the program itself: somebody is subscribed now
)

// How what was asked is done.
const (
	operationBatch   = 64
	operationLease   = 2 * time.Minute // how long a message belongs to the node that took it
	operationRefused = 5 * time.Minute // after which a held message that nobody took is tried again
	// MostAsked bounds the messages that can be asked for at once.
	MostAsked = 10_000
)

// operation holds what was asked to be done with a message, as it is stored with it.
type operation struct {
	Do     string `json:"do"`
	Kind   string `json:"kind,omitempty"` // of who asked
	ID     string `json:"id,omitempty"`
	Name   string `json:"name,omitempty"`
	Reason string `json:"reason,omitempty"`
}

func (o operation) text() string {
	raw, err := json.Marshal(o)
	if err != nil {
		panic("strings cannot fail to encode: " + err.Error())
	}
	return string(raw)
}

// operationStates are the states that a message must be in for what is asked.
func operationStates(do string) []string {
	switch do {
	case OperationResend:
		return []string{store.AMQPFailed, store.AMQPUnsent, store.AMQPUnanswered, store.AMQPOpenMessage}
	case OperationPutBack:
		return []string{store.AMQPDead}
	case OperationReprocess:
		return []string{store.AMQPQuarantined, store.AMQPHeld}
	case OperationDrop:
		return []string{store.AMQPDead, store.AMQPQuarantined, store.AMQPHeld, store.AMQPFailed, store.AMQPUnsent, store.AMQPUnanswered, store.AMQPRejected, store.AMQPOpenMessage, store.AMQPUnchecked, store.AMQPDue, store.AMQPDuplicate}
	}
	return nil
}

// Narrow limits a filter to the messages that something can be done with.
func Narrow(f store.AMQPFilter, do string) store.AMQPFilter {
	f.Able = operationStates(do)
	return f
}

// AskAll asks for something to be done with all messages of a filter that it can be done with, the oldest first, [MostAsked] at
// most; it gives their number. They are done in the background, each as if it were asked for alone.
func (b *Bridge) AskAll(ctx context.Context, by outbox.Actor, f store.AMQPFilter, do, reason string) (int, error) {
	if len(operationStates(do)) == 0 || by.PartnerID != "" {
		return 0, store.ErrNotFound
	}
	if do == OperationDrop && reason == "" {
		return 0, outbox.ErrReasonMissing
	}
	asked := operation{do, by.Kind, by.ID, by.Name, reason}.text()
	var n int
	err := b.cfg.DB.Write(ctx, func(tx *store.Tx) (err error) {
		if n, err = tx.AskAMQP(ctx, Narrow(f, do), asked, MostAsked); err != nil || n == 0 {
			return err
		}
		return tx.InsertAudit(ctx, store.Audit{
			ActorKind: by.Kind, ActorID: by.ID, ActorName: by.Name, Action: "amqp.asked", ObjectKind: "amqp-message",
			ObjectName: fmt.Sprintf("%s, %d messages", do, n), Detail: auditDetail(reason),
		})
	})
	store.AfterCommit(ctx, func() { signal(b.operations) })
	return n, err
}

func (b *Bridge) operationLoop(ctx context.Context) {
	for b.pauseOr(ctx, b.operations) {
		var taken []store.AMQPMessage
		err := b.cfg.DB.Write(ctx, func(tx *store.Tx) (err error) {
			taken, err = tx.TakeAMQPAsked(ctx, operationBatch, store.At(tx.Now.Add(operationLease)))
			return err
		})
		if err != nil {
			b.warn(ctx, "what was asked of messages waits", err)
			continue
		}
		b.each(taken, func(m store.AMQPMessage) { b.warn(ctx, "what was asked of a message waits", b.grant(ctx, m)) })
		if len(taken) == operationBatch {
			signal(b.operations)
		}
	}
}

// grant does what was asked for one message. Why it is not done is in its trace.
func (b *Bridge) grant(ctx context.Context, m store.AMQPMessage) error {
	ctx, cancel := context.WithTimeout(ctx, operationLease/2)
	defer cancel()
	var o operation
	if err := json.Unmarshal([]byte(m.Asked), &o); err != nil {
		o = operation{}
	}
	by := outbox.Actor{Kind: o.Kind, ID: o.ID, Name: o.Name}
	var err error
	switch o.Do {
	case OperationResend:
		err = b.Resend(ctx, by, m.ID)
	case OperationPutBack:
		err = b.PutBack(ctx, by, m.ID)
	case OperationReprocess:
		err = b.Reprocess(ctx, by, m.ID)
	case OperationDrop:
		err = b.Drop(ctx, by, m.ID, o.Reason)
	case operationRelease:
		_, err = b.reprocess(ctx, m)
	}
	why, refused := errors.AsType[Refused](err)
	switch {
	case refused:
		b.note(ctx, m.ID, stepAsked, string(why))
	case errors.Is(err, outbox.ErrNotResendable) || errors.Is(err, outbox.ErrEventExpired) || errors.Is(err, outbox.ErrDataErased):
		b.note(ctx, m.ID, stepAsked, err.Error())
	case err != nil && ctx.Err() == nil:
		b.note(ctx, m.ID, stepAsked, string(i18n.M("amqp.detail.not-done", err.Error())))
	case err != nil:
		return err // another node, or this one, takes it again
	}
	return b.cfg.DB.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		return tx.AskedAMQPDone(ctx, m.ID, m.Asked, store.At(tx.Now.Add(operationRefused)))
	})
}
