package amqp

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"schakel/delivery/amqp/certs"
	"schakel/delivery/amqp/link"
	"schakel/delivery/outbox"
	"schakel/store"
	"schakel/templates/i18n"
)

// How unchecked messages are tried again.
const (
	checkBatch   = 32
	checkLease   = 5 * time.Minute // how long one belongs to the node that took it: longer than all sources may take
	checkLongest = 10 * time.Minute
	checkRest    = 30 * time.Second // one that was tried so recently is not woken
)

// postpone keeps a message whose certificate cannot be checked now, as it came, and has it checked again after a while
// (AMQP-61, AMQP-63). It leaves the queue: how often it may be tried is ours to decide then, and not the broker's, so that no
// outage makes a dead letter of it, and it does not delay the messages behind it. Its sender gets no answer, and stays
// responsible for it until its AppRec (AMQP-16).
func (b *Bridge) postpone(ctx context.Context, in *incoming, cause error) error {
	b.outages.Store(in.row.PartyID, true)
	if in.waited() {
		in.row.Encoded = in.stored.Encoded
		return b.checkLater(ctx, in.row, uncheckedDetail(cause))
	}
	if err := b.preserveIn(in); err != nil {
		return err
	}
	in.row.Status, in.row.Detail, in.row.Attempts = store.AMQPUnchecked, uncheckedDetail(cause), 1
	in.row.DueAt = b.nextCheck(1)
	if err := b.storeMessage(ctx, in, nil); err != nil || in.known {
		return err
	}
	b.cfg.Log.WarnContext(ctx, "a message waits: the revocation of its certificate cannot be checked", "message", in.row.ID, "queue", in.queue.name, "her", in.row.Her, "error", cause)
	return nil
}

func uncheckedDetail(cause error) string {
	return string(i18n.M("amqp.detail.checked-again", cause.Error()))
}

// nextCheck doubles the wait with each attempt, up to checkLongest; up to a quarter is taken off by chance.
func (b *Bridge) nextCheck(attempts int64) store.Time {
	wait := min(b.cfg.CheckWait<<min(max(attempts-1, 0), 20), checkLongest)
	return store.At(b.cfg.Now().Add(wait - time.Duration(rand.Int64N(int64(wait)/4+1)))) // #nosec G404 -- spreads waits, nobody is harmed by who guesses it
}

// checkLater writes why a message still waits, and until when.
func (b *Bridge) checkLater(ctx context.Context, row store.AMQPMessage, detail string) error {
	row.Attempts++
	row.Status, row.Detail, row.DueAt = store.AMQPUnchecked, detail, b.nextCheck(row.Attempts)
	return b.cfg.DB.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		_, err := tx.UpdateAMQPMessage(ctx, &row, store.AMQPUnchecked)
		return err
	})
}

// checkLoop tries messages that could not be checked before.
func (b *Bridge) checkLoop(ctx context.Context) {
	for b.pauseOr(ctx, b.checks) {
		var due []store.AMQPMessage
		err := b.cfg.DB.Write(ctx, func(tx *store.Tx) (err error) {
			due, err = tx.TakeAMQPUnchecked(ctx, checkBatch, store.At(tx.Now.Add(checkLease)))
			return err
		})
		b.warn(ctx, "unchecked messages wait", err)
		b.checkAll(ctx, due)
		if len(due) == checkBatch {
			signal(b.checks)
		}
	}
}

func (b *Bridge) checkAll(ctx context.Context, due []store.AMQPMessage) {
	b.each(due, func(row store.AMQPMessage) {
		if err := b.checkAgain(ctx, row); err != nil && ctx.Err() == nil {
			b.cfg.Log.WarnContext(ctx, "an unchecked message waits; it is tried again", "message", row.ID, "error", err)
			b.warn(ctx, "why a message waits is not stored", b.checkLater(ctx, row, string(i18n.M("amqp.detail.unhandled", err.Error()))))
		}
	})
}

// checkAgain handles a message from the database as if it had just been read from its queue.
func (b *Bridge) checkAgain(ctx context.Context, row store.AMQPMessage) error {
	in, err := b.stored(ctx, row)
	if err != nil {
		return err
	}
	conn, err := b.connTo(in.own)
	if err != nil {
		return err
	}
	return b.takeBusiness(ctx, conn, in)
}

// stored makes the message that a row keeps as it came.
func (b *Bridge) stored(ctx context.Context, row store.AMQPMessage) (*incoming, error) {
	m, err := b.restore(row.Encoded)
	if err != nil {
		return nil, err
	}
	own := b.dir.Load().parties[row.OwnPartyID]
	if own == nil {
		return nil, fmt.Errorf("the party whose queue it was on is not in use: %w", errOurs)
	}
	in, err := b.incoming(ctx, own, queue{own.BrokerID, own.ID, roleAsync, row.Queue}, m)
	if err != nil {
		return nil, err
	}
	in.row.ID, in.row.Attempts, in.row.CreatedAt = row.ID, row.Attempts, row.CreatedAt
	in.stored, in.delivery = &row, &link.Delivery{Queue: row.Queue, Message: m}
	return in, nil
}

// waited reports whether a message comes from the database, where it waited for a check.
func (in *incoming) waited() bool { return in.stored != nil && in.stored.Status == store.AMQPUnchecked }

// checkedAgain has the messages of a party that wait be tried at once: one of them could be checked. That one may have waited
// since before this process started.
func (b *Bridge) checkedAgain(ctx context.Context, in *incoming) {
	partyID := in.row.PartyID
	if _, out := b.outages.LoadAndDelete(partyID); !out && !in.waited() {
		return
	}
	err := b.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.WakeAMQPUnchecked(ctx, partyID, store.At(tx.Now.Add(-b.cfg.checkRest())))
		return err
	})
	b.warn(ctx, "unchecked messages are not woken", err)
	signal(b.checks)
}

// checkRest is never longer than the first wait between two checks.
func (o Options) checkRest() time.Duration { return min(checkRest, o.CheckWait/2) }

// unavailable reports whether nobody can be asked about the revocation of a certificate now.
func unavailable(err error) bool { return certs.KindOf(err) == certs.Unavailable }

// Retry has a message that waits tried now: one whose certificate cannot be checked, or an answer of ours that is not on its
// queue.
func (b *Bridge) Retry(ctx context.Context, by outbox.Actor, id string) error {
	m, err := b.undecided(ctx, by, id, store.AMQPUnchecked, store.AMQPDue, store.AMQPUnsent)
	if err != nil {
		return err
	}
	if m.Status != store.AMQPUnchecked && !isAnswer(m) {
		return Refused("amqp.refused.delivery")
	}
	was := m.Status
	if m.Status == store.AMQPUnsent {
		m.Status, m.Attempts = store.AMQPDue, 0
	}
	m.DueAt = b.now()
	err = b.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		if done, err := tx.UpdateAMQPMessage(ctx, &m, was); err != nil || !done {
			return err
		}
		return errors.Join(b.trace(ctx, tx, m.ID, stepRetried, by.Name), b.audit(ctx, tx, by, "amqp.retried", m, ""))
	})
	signal(b.checks)
	signal(b.answers)
	return err
}

// isAnswer reports whether a message is an answer of ours: an AppRec or an AMQP error.
func isAnswer(m store.AMQPMessage) bool {
	return m.Direction == store.AMQPOut && (m.Kind == store.AMQPAppRec || m.Kind == store.AMQPError)
}

// ReasonNoRecipient is the reason of a message that nobody is subscribed to.
const ReasonNoRecipient = "no-recipient"

const noRecipientText = "amqp.detail.no-recipient"

// withoutRecipient decides about a message that nobody here would get. Its AppRec would take over responsibility for it (AMQP-16), so
// there is none: the message is held until somebody is subscribed, or rejected where the settings say so.
func (b *Bridge) withoutRecipient(ctx context.Context, in *incoming) (*rejected, error) {
	if b.cfg.RejectUnwanted(ctx) {
		return &rejected{codes: []string{codeNoSubscriber}, text: i18n.Message(noRecipientText).String()}, nil
	}
	in.row.Status, in.row.Reason, in.row.Detail = store.AMQPHeld, ReasonNoRecipient, noRecipientText
	return nil, b.preserveIn(in)
}

// preserveIn stores a message with its row; one that was stored before stays as it is.
func (b *Bridge) preserveIn(in *incoming) (err error) {
	if in.stored != nil {
		in.row.Encoded = in.stored.Encoded
		return nil
	}
	in.row.Encoded, err = b.preserve(in.delivery.Message)
	return err
}

// releaseHeld asks for held messages to be handled once somebody is subscribed to what they become.
func (b *Bridge) releaseHeld(ctx context.Context) error {
	held, err := b.cfg.DB.AMQPHeld(ctx, b.now())
	if err != nil || len(held) == 0 {
		return err
	}
	dir := b.dir.Load()
	for _, of := range held {
		from, own := dir.parties[of.PartyID], dir.parties[of.OwnPartyID]
		if from == nil || own == nil {
			continue
		}
		process, ok := dir.receives(from, own, of.Subject, store.AMQPAsync)
		if !ok {
			continue
		}
		there, err := b.cfg.DB.HasRecipient(ctx, process.Receives, from.PartnerID)
		if err != nil || !there {
			if err != nil {
				return fmt.Errorf("look for recipient: %w", err)
			}
			continue
		}
		err = b.cfg.DB.Write(ctx, func(tx *store.Tx) error {
			_, err := tx.ReleaseAMQPHeld(ctx, of, operation{Do: operationRelease}.text())
			return err
		})
		if err != nil {
			return err
		}
		signal(b.operations)
	}
	return nil
}

// acceptOrHold accepts a business message as an event. A *rejected is the answer to one without a recipient; held reports that it
// waits for one.
func (b *Bridge) acceptOrHold(ctx context.Context, in *incoming, doc *document) (negative *rejected, held bool, err error) {
	in.row.EventID, err = b.accept(ctx, in, doc)
	if !errors.Is(err, outbox.ErrNoRecipient) {
		return nil, false, err
	}
	if negative, err = b.withoutRecipient(ctx, in); err != nil {
		return nil, false, err
	}
	return negative, negative == nil, nil
}
