package amqp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	goamqp "github.com/Azure/go-amqp"

	"schakel/delivery/amqp/cms"
	"schakel/delivery/amqp/link"
	"schakel/delivery/amqp/message"
	"schakel/store"
)

// How answers that wait are tried again.
const (
	answerBatch   = 32
	answerLease   = time.Minute // how long an answer belongs to the node that took it
	answerPause   = 5 * time.Second
	answerMargin  = 2 * time.Second // beyond our patience, for keeping what came of it
	answerLongest = 10 * time.Minute
)

// answerLoop writes the answers that are due (AMQP-114): those of a process that died, and those the broker did not take.
func (b *Bridge) answerLoop(ctx context.Context) {
	for b.pauseOr(ctx, b.answers) {
		var due []store.AMQPMessage
		err := b.cfg.DB.Write(ctx, func(tx *store.Tx) (err error) {
			due, err = tx.TakeAMQPAnswers(ctx, answerBatch, store.At(tx.Now.Add(answerLease)))
			return err
		})
		if err != nil {
			if ctx.Err() == nil {
				b.cfg.Log.WarnContext(ctx, "answers wait; this is tried again", "error", err)
			}
			continue
		}
		b.answerAll(ctx, due)
		if len(due) == answerBatch {
			signal(b.answers)
		}
	}
}

// answerAll writes answers, several at once, and gives up in time for another node to try them.
func (b *Bridge) answerAll(ctx context.Context, due []store.AMQPMessage) {
	within, cancel := context.WithTimeout(ctx, answerLease/2)
	defer cancel()
	var all sync.WaitGroup
	free := make(chan struct{}, b.cfg.Concurrency)
	for _, a := range due {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			if err := b.answer(within, a); err != nil && ctx.Err() == nil {
				b.cfg.Log.WarnContext(ctx, "an answer waits; it is tried again", "message", a.ID, "error", err)
			}
		})
	}
	all.Wait()
}

// answer writes one answer to its queue and keeps that it is there.
func (b *Bridge) answer(ctx context.Context, a store.AMQPMessage) error {
	if a.Status != store.AMQPDue {
		return nil
	}
	cause := b.putAnswer(ctx, a)
	was := a.Status
	a.Attempts++
	switch {
	case cause == nil:
		a.Status, a.DueAt = store.AMQPSent, store.Time{}
	case unwritable(cause):
		a.Status, a.DueAt, a.Detail = store.AMQPUnsent, store.Time{}, cause.Error()
	default:
		a.Detail = cause.Error()
		a.DueAt = store.At(b.cfg.Now().Add(min(answerPause<<min(a.Attempts-1, 10), answerLongest)))
	}
	ctx = context.WithoutCancel(ctx)
	err := b.writes.do(ctx, func(tx *store.Tx) error {
		if _, err := tx.UpdateAMQPMessage(ctx, &a, was); err != nil {
			return err
		}
		if cause != nil {
			if a.Attempts > store.AMQPAnswerTries {
				return nil // its detail says it; the trace must not grow for ever
			}
			return b.trace(ctx, tx, a.ID, stepUnwritten, cause.Error())
		}
		if err := b.trace(ctx, tx, a.ID, stepWritten, a.Queue); err != nil || a.ReferenceID == "" {
			return err
		}
		return b.trace(ctx, tx, a.ReferenceID, stepAnswered, a.Kind+" "+a.MessageID)
	})
	return errors.Join(cause, err)
}

// unwritable reports whether trying an answer again is of no use until a person did something.
func unwritable(err error) bool {
	_, invalid := errors.AsType[*message.InvalidError](err)
	kind := link.KindOf(err)
	return invalid || kind == link.Rejected || kind == link.TooLarge || errors.Is(err, cms.ErrRecipient)
}

func (b *Bridge) putAnswer(ctx context.Context, a store.AMQPMessage) error {
	dir := b.dir.Load()
	own, to := dir.parties[a.OwnPartyID], dir.parties[a.PartyID]
	if own == nil || to == nil {
		return fmt.Errorf("the parties of this answer: %w", errOurs)
	}
	conn, err := b.connTo(to)
	if err != nil {
		return err
	}
	var m *goamqp.Message
	if a.Kind == store.AMQPError {
		m = &goamqp.Message{}
		err = m.UnmarshalBinary(a.Encoded)
	} else {
		m, err = b.sealAnswer(ctx, own, to, a)
	}
	if err != nil {
		return err
	}
	return conn.Send(ctx, a.Queue, m)
}

// sealAnswer makes the AMQP message of an AppRec.
func (b *Bridge) sealAnswer(ctx context.Context, own, to *party, a store.AMQPMessage) (*goamqp.Message, error) {
	sealed, err := b.seal(ctx, own, to, a.Encoded)
	if err != nil {
		return nil, err
	}
	return message.Encode(message.Message{
		ID: a.MessageID, To: b.address(to.AsyncQueue), Subject: a.Subject, ReplyTo: b.address(own.AsyncQueue), CorrelationID: a.CorrelationID,
		Correlation: message.UnpackCorrelation(a.Correlation, a.CorrelationID), CPAID: a.CPAID,
		ContentType: message.ContentSignedAndEncrypted, ConversationID: a.ConversationID, Timestamp: a.CreatedAt.Time,
		FromHerID: int(a.OwnHer), ToHerID: int(a.Her), Durable: true, Body: sealed,
	})
}
