package amqp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"schakel/delivery/outbox"
	"schakel/store"
)

// What can be asked to be done with many messages at once.
const (
	WishResend    = "resend"
	WishPutBack   = "put-back"
	WishReprocess = "reprocess"
	WishDrop      = "drop"

	wishRelease = "release" // of the program itself: somebody is subscribed now
)

// How what was asked is done.
const (
	wishBatch   = 64
	wishLease   = 2 * time.Minute // how long a message belongs to the node that took it
	wishRefused = 5 * time.Minute // after which a held message that nobody took is tried again
	// MostAsked bounds the messages that can be asked for at once.
	MostAsked = 10_000
)

// wish holds the request for a message, as it is stored with it.
type wish struct {
	Do     string `json:"do"`
	Kind   string `json:"kind,omitempty"` // of who asked
	ID     string `json:"id,omitempty"`
	Name   string `json:"name,omitempty"`
	Reason string `json:"reason,omitempty"`
}

func (w wish) text() string {
	raw, err := json.Marshal(w)
	if err != nil {
		panic("strings cannot fail to encode: " + err.Error())
	}
	return string(raw)
}

// wishStates are the states that a message must be in for what is asked.
func wishStates(do string) []string {
	switch do {
	case WishResend:
		return []string{store.AMQPFailed, store.AMQPUnsent, store.AMQPUnanswered, store.AMQPOpenMessage}
	case WishPutBack:
		return []string{store.AMQPDead}
	case WishReprocess:
		return []string{store.AMQPQuarantined, store.AMQPHeld}
	case WishDrop:
		return []string{store.AMQPDead, store.AMQPQuarantined, store.AMQPHeld, store.AMQPFailed, store.AMQPUnsent, store.AMQPUnanswered, store.AMQPRejected, store.AMQPOpenMessage, store.AMQPUnchecked, store.AMQPDue, store.AMQPDuplicate}
	}
	return nil
}

// Narrow limits a filter to the messages that something can be done with.
func Narrow(f store.AMQPFilter, do string) store.AMQPFilter {
	f.Able = wishStates(do)
	return f
}

// AskAll asks for something to be done with all messages of a filter that it can be done with, the oldest first, [MostAsked] at
// most; it gives their number. They are done in the background, each as if it were asked for alone.
func (b *Bridge) AskAll(ctx context.Context, by outbox.Actor, f store.AMQPFilter, do, reason string) (int, error) {
	if len(wishStates(do)) == 0 || by.PartnerID != "" {
		return 0, store.ErrNotFound
	}
	if do == WishDrop && reason == "" {
		return 0, outbox.ErrReasonMissing
	}
	asked := wish{do, by.Kind, by.ID, by.Name, reason}.text()
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
	signal(b.wishes)
	return n, err
}

// wishLoop does what was asked for many messages.
func (b *Bridge) wishLoop(ctx context.Context) {
	for b.pauseOr(ctx, b.wishes) {
		var taken []store.AMQPMessage
		err := b.cfg.DB.Write(ctx, func(tx *store.Tx) (err error) {
			taken, err = tx.TakeAMQPAsked(ctx, wishBatch, store.At(tx.Now.Add(wishLease)))
			return err
		})
		if err != nil {
			b.warn(ctx, "what was asked of messages waits", err)
			continue
		}
		var all sync.WaitGroup
		free := make(chan struct{}, b.cfg.Concurrency)
		for _, m := range taken {
			free <- struct{}{}
			all.Go(func() {
				defer func() { <-free }()
				b.warn(ctx, "what was asked of a message waits", b.grant(ctx, m))
			})
		}
		all.Wait()
		if len(taken) == wishBatch {
			signal(b.wishes)
		}
	}
}

// grant does what was asked for one message. Why it is not done is in its trace.
func (b *Bridge) grant(ctx context.Context, m store.AMQPMessage) error {
	ctx, cancel := context.WithTimeout(ctx, wishLease/2)
	defer cancel()
	var w wish
	if err := json.Unmarshal([]byte(m.Asked), &w); err != nil {
		w = wish{}
	}
	by := outbox.Actor{Kind: w.Kind, ID: w.ID, Name: w.Name}
	var err error
	switch w.Do {
	case WishResend:
		err = b.Resend(ctx, by, m.ID)
	case WishPutBack:
		err = b.PutBack(ctx, by, m.ID)
	case WishReprocess:
		err = b.Reprocess(ctx, by, m.ID)
	case WishDrop:
		err = b.Drop(ctx, by, m.ID, w.Reason)
	case wishRelease:
		_, err = b.reprocess(ctx, m)
	}
	why, refused := errors.AsType[Refused](err)
	switch {
	case refused:
		b.note(ctx, m.ID, stepAsked, string(why))
	case errors.Is(err, outbox.ErrNotResendable) || errors.Is(err, outbox.ErrEventExpired):
		b.note(ctx, m.ID, stepAsked, err.Error())
	case err != nil && ctx.Err() == nil:
		b.note(ctx, m.ID, stepAsked, "It could not be done now: "+err.Error())
	case err != nil:
		return err // another node, or this one, takes it again
	}
	return b.cfg.DB.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		return tx.AskedAMQPDone(ctx, m.ID, m.Asked, store.At(tx.Now.Add(wishRefused)))
	})
}
