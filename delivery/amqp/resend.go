package amqp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	goamqp "github.com/Azure/go-amqp"
	"schakel/delivery/outbox"
	"schakel/store"
	"schakel/templates/i18n"
)

// Refused is why something cannot be done with a message, as a sentence for people.
type Refused i18n.Message

// Error implements error, in English.
func (r Refused) Error() string { return i18n.Message(r).String() }

// MayResend tells why a message of ours may not be sent again; empty when it may (AMQP-113, AMQP-118 to AMQP-121).
func MayResend(m store.AMQPMessage, _ time.Time) i18n.Message {
	if m.Direction != store.AMQPOut || m.DeliveryID == "" || m.Kind != store.AMQPBusiness && m.Kind != store.AMQPRequest {
		return "amqp.refused.not-ours"
	}
	switch m.Status {
	case store.AMQPFailed, store.AMQPUnsent, store.AMQPUnanswered:
		return ""
	case store.AMQPSending:
		return "amqp.refused.on-its-way"
	case store.AMQPRejected:
		return "amqp.refused.negative"
	case store.AMQPAcknowledged, store.AMQPPartly:
		return "amqp.refused.acknowledged"
	case store.AMQPReplaced:
		return "amqp.refused.replaced"
	}
	switch {
	case m.Kind == store.AMQPRequest:
		return "amqp.refused.waits-for-answer"
	case m.Resends > 0:
		return "amqp.refused.once"
	case m.OverdueAt.IsZero():
		return "amqp.refused.not-overdue"
	}
	return ""
}

// Resend sends a message of ours again. After an AMQP error, or none at all, it gets a new messageId and keeps its MsgId
// (AMQP-119); one that never was on its queue keeps both (AMQP-121).
func (b *Bridge) Resend(ctx context.Context, by outbox.Actor, id string) error {
	m, err := b.cfg.DB.AMQPMessage(ctx, id)
	if err != nil {
		return err
	}
	if by.PartnerID != "" && by.PartnerID != m.PartnerID {
		return store.ErrNotFound
	}
	if why := MayResend(m, b.cfg.Now()); why != "" {
		return Refused(why)
	}
	if err := b.engine.Resend(ctx, by, m.DeliveryID); err != nil {
		return fmt.Errorf("resend delivery: %w", err)
	}
	b.note(ctx, m.ID, stepResent, by.Name)
	return nil
}

// PutBack writes a dead letter to the queue named in its to, byte for byte (AMQP-52, AMQP-02).
func (b *Bridge) PutBack(ctx context.Context, by outbox.Actor, id string) error {
	m, err := b.undecided(ctx, by, id, store.AMQPDead)
	if err != nil {
		return err
	}
	stored, err := b.restore(m.Encoded)
	if err != nil {
		return fmt.Errorf("read dead letter: %w", err)
	}
	original := bare(stored)
	own := b.dir.Load().parties[m.OwnPartyID]
	if own == nil {
		return Refused("amqp.refused.queue-party")
	}
	to := cmp.Or(store.AMQPParentQueue(m.Queue), store.AMQPQueueName(own.AsyncQueue))
	if p := original.Properties; p != nil && p.To != nil && *p.To != "" {
		to = store.AMQPQueueName(*p.To)
	}
	conn, err := b.connTo(own)
	if err != nil {
		return Refused("amqp.refused.no-connection")
	}
	original.Header = &goamqp.MessageHeader{Durable: true}
	if err := conn.Send(ctx, to, original); err != nil {
		return Refused(i18n.M("amqp.refused.broker", err.Error()))
	}
	return b.end(ctx, by, m, store.AMQPPutBack, stepPutBack, to)
}

// Drop ends a message that waits for a person; the reason is stored. Of one that we sent its delivery is discarded too.
func (b *Bridge) Drop(ctx context.Context, by outbox.Actor, id, reason string) error {
	reason = strings.TrimSpace(reason)
	if reason == "" {
		return outbox.ErrReasonMissing
	}
	m, err := b.undecided(ctx, by, id, operationStates(OperationDrop)...)
	if err != nil {
		return err
	}
	if why := whyNotDropped(m); why != "" {
		return Refused(why)
	}
	if m.DeliveryID != "" {
		err := b.engine.Discard(ctx, by, m.DeliveryID, reason)
		switch {
		case err == nil:
			b.note(ctx, m.ID, stepDropped, by.Name+": "+reason)
			return nil
		case !errors.Is(err, outbox.ErrNotDiscardable) && !errors.Is(err, store.ErrNotFound):
			return fmt.Errorf("discard delivery: %w", err)
		}
	}
	return b.end(ctx, by, m, store.AMQPDropped, stepDropped, reason)
}

// MayDrop reports whether a message waits for a person who may end it.
func MayDrop(m store.AMQPMessage) bool {
	return slices.Contains(operationStates(OperationDrop), m.Status) && whyNotDropped(m) == ""
}

// whyNotDropped gives the reason that a message in one of the right states does not wait for a person.
func whyNotDropped(m store.AMQPMessage) i18n.Message {
	switch {
	case m.Status == store.AMQPDuplicate && m.Reason != store.AMQPOtherContent:
		return "amqp.refused.duplicate"
	case m.Status == store.AMQPRejected && m.Direction == store.AMQPIn:
		return "amqp.refused.settled"
	case m.Status == store.AMQPOpenMessage && (m.OverdueAt.IsZero() || m.Kind != store.AMQPBusiness):
		return "amqp.refused.not-overdue"
	}
	return ""
}

// undecided finds a message that waits for a person in one of these states; only the own organisation decides.
func (b *Bridge) undecided(ctx context.Context, by outbox.Actor, id string, states ...string) (store.AMQPMessage, error) {
	m, err := b.cfg.DB.AMQPMessage(ctx, id)
	if err != nil {
		return m, err
	}
	if by.PartnerID != "" {
		return m, store.ErrNotFound
	}
	if slices.Contains(states, m.Status) {
		return m, nil
	}
	return m, Refused("amqp.refused.not-waiting")
}

// end writes what a person decided.
func (b *Bridge) end(ctx context.Context, by outbox.Actor, m store.AMQPMessage, status, step, detail string) error {
	was := m.Status
	m.Status, m.Encoded, m.DueAt, m.OverdueAt = status, nil, store.Time{}, store.Time{}
	return b.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		if done, err := tx.UpdateAMQPMessage(ctx, &m, was); err != nil || !done {
			return err
		}
		if err := b.trace(ctx, tx, m.ID, step, strings.TrimSpace(by.Name+": "+detail)); err != nil {
			return err
		}
		return b.audit(ctx, tx, by, "amqp."+strings.ReplaceAll(status, "-", "_"), m, detail)
	})
}

// AnswerAgain has the stored AppRec of a message sent once more, with its messageId: when the sender says that it never got it
// (INC-23).
func (b *Bridge) AnswerAgain(ctx context.Context, by outbox.Actor, id string) error {
	answers, err := b.cfg.DB.AMQPAnswersTo(ctx, id)
	if err != nil {
		return err
	}
	for _, a := range answers {
		if by.PartnerID != "" || a.Kind != store.AMQPAppRec {
			continue
		}
		if a.Status != store.AMQPSent {
			return Refused("amqp.act.apprec-unsent")
		}
		a.Status, a.DueAt = store.AMQPDue, b.now()
		err := b.cfg.DB.Write(ctx, func(tx *store.Tx) error {
			if done, err := tx.UpdateAMQPMessage(ctx, &a, store.AMQPSent); err != nil || !done {
				return err
			}
			return errors.Join(b.trace(ctx, tx, id, stepResent, string(i18n.M("amqp.trace.apprec-by", by.Name))), b.audit(ctx, tx, by, "amqp.apprec_resent", a, ""))
		})
		signal(b.answers)
		return err
	}
	return Refused("amqp.act.no-apprec")
}

func (b *Bridge) audit(ctx context.Context, tx *store.Tx, by outbox.Actor, action string, m store.AMQPMessage, detail string) error {
	return tx.InsertAudit(ctx, store.Audit{
		ActorKind: by.Kind, ActorID: by.ID, ActorName: by.Name, Action: action, ObjectKind: "amqp-message", ObjectID: m.ID,
		ObjectName: m.MessageID, PartnerID: m.PartnerID, Detail: auditDetail(detail),
	})
}

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
		return Refused(i18n.M("amqp.refused.not-now", err.Error()))
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
		return Refused(i18n.M("amqp.refused.quarantined", after.Detail))
	case after.Status == store.AMQPHeld:
		return Refused(i18n.M("amqp.refused.held", after.Detail))
	}
	return nil
}

// reprocess handles a stored message and gives its row as it is then.
func (b *Bridge) reprocess(ctx context.Context, m store.AMQPMessage) (store.AMQPMessage, error) {
	if len(m.Encoded) == 0 {
		return m, Refused("amqp.refused.no-content")
	}
	if m.Kind == store.AMQPRequest {
		return m, Refused("amqp.refused.request")
	}
	if err := b.fresh(ctx); err != nil {
		return m, fmt.Errorf("read parties: %w", err)
	}
	in, err := b.stored(ctx, m)
	if errors.Is(err, errOurs) {
		return m, Refused("amqp.refused.came-party")
	}
	if err != nil {
		return m, err
	}
	conn, err := b.connTo(in.own)
	if err != nil {
		return m, Refused("amqp.refused.no-connection")
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
