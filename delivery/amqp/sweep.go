package amqp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"schakel/store"
)

// How often the sweep does what need not be done at once.
const (
	sweepStates = 15 * time.Second
	sweepClock  = time.Minute
	overdueStep = 100
)

// sweepLoop marks what is overdue, holds what was refused, and keeps the state of connections and of the clock.
func (b *Bridge) sweepLoop(ctx context.Context) {
	var states, clock time.Time
	for {
		now := b.cfg.Now()
		if now.Sub(clock) >= sweepClock || now.Before(clock) {
			clock = now
			b.lookAtClock()
		}
		if now.Sub(states) >= sweepStates || now.Before(states) || b.statesChanged() {
			states = now
			b.warn(ctx, "the state of connections is not stored", b.saveStates(ctx))
		}
		b.warn(ctx, "overdue messages are not marked", b.markOverdue(ctx))
		b.warn(ctx, "refused messages are not held", b.holdRefused(ctx))
		b.warn(ctx, "held messages are not handled", b.releaseHeld(ctx))
		b.warn(ctx, "administrators are not notified of messages that wait", b.notify(ctx))
		b.warn(ctx, "administrators are not notified of queues whose messages expire", b.notifyLosing(ctx))
		if !pause(ctx, b.cfg.Poll) {
			return
		}
	}
}

func (b *Bridge) warn(ctx context.Context, text string, err error) {
	if err != nil && ctx.Err() == nil {
		b.cfg.Log.WarnContext(ctx, text+"; this is tried again", "error", err)
	}
}

// markOverdue finds messages whose AppRec is overdue (AMQP-89, AMQP-117).
func (b *Bridge) markOverdue(ctx context.Context) error {
	return b.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		late, err := tx.TakeAMQPOverdue(ctx, overdueStep)
		if err != nil {
			return err
		}
		for _, m := range late {
			if err := b.overdue(ctx, tx, m); err != nil {
				return err
			}
		}
		return nil
	})
}

// overdue notes that an AppRec is overdue. A request whose node died while it waited is unanswered (AMQP-90).
func (b *Bridge) overdue(ctx context.Context, tx *store.Tx, m store.AMQPMessage) error {
	if m.Kind == store.AMQPRequest {
		m.Status, m.Reason, m.DueAt, m.OverdueAt = store.AMQPUnanswered, ReasonUnanswered, store.Time{}, store.Time{}
		m.Detail = "amqp.detail.unanswered-resend"
		if _, err := tx.UpdateAMQPMessage(ctx, &m, store.AMQPOpenMessage); err != nil {
			return err
		}
	}
	return b.trace(ctx, tx, m.ID, stepOverdue, "")
}

// holdRefused puts deliveries in the error queue whose refusal was faster than the news that they were written.
func (b *Bridge) holdRefused(ctx context.Context) error {
	return b.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.HoldAMQPRefused(ctx, overdueStep)
		return err
	})
}

func auditDetail(reason string) string {
	if reason == "" {
		return ""
	}
	raw, err := json.Marshal(map[string]string{"reason": reason})
	if err != nil {
		panic("a string cannot fail to encode: " + err.Error())
	}
	return string(raw)
}

// Notice notifies the administrators of messages that wait for a person. Every message that does is in one.
type Notice struct {
	Kind   string // one of the kinds below
	Groups []NoticeGroup
}

// NoticeGroup are messages of one sender or receiver in one queue.
type NoticeGroup struct {
	Name      string // of the party; empty when it is not registered
	HerID     int64  // of the party, as the messages say; 0 for none
	Own       string // the name of our party
	Queue     string
	Count     int
	MessageID string // our id of the oldest
	PartyID   string // of the party; empty when it is not registered
	Reason    string
	Detail    string // of one of them
}

// Kinds of notices.
const (
	NoticeDead        = "amqp-dead"        // AMQP-53
	NoticeOverdue     = "amqp-overdue"     // AMQP-89
	NoticeQuarantined = "amqp-quarantined" // its sender is not registered, or cannot be answered
	NoticeHeld        = "amqp-held"        // nobody is subscribed to it
	NoticeUnchecked   = "amqp-unchecked"   // messages wait for a revocation check (AMQP-61)
	NoticeContent     = "amqp-content"     // other content came under a MsgId that was handled (AMQP-116)
	NoticeExpiry      = "amqp-expiry"      // messages in a queue of ours expire (INC-22)
	NoticeAnswer      = "amqp-answer"      // an answer of ours cannot be written (AMQP-114)
)

func noticeKinds() map[string]string {
	return map[string]string{
		store.AMQPDead: NoticeDead, store.AMQPOpenMessage: NoticeOverdue, store.AMQPQuarantined: NoticeQuarantined, store.AMQPHeld: NoticeHeld,
		store.AMQPUnchecked: NoticeUnchecked, store.AMQPDue: NoticeAnswer, store.AMQPUnsent: NoticeAnswer, store.AMQPDuplicate: NoticeContent,
	}
}

// How often administrators are notified.
const (
	noticeEach   = time.Hour   // at most, of one sender or receiver in one queue
	noticeAny    = time.Minute // at most, of one kind
	noticeGroups = 100
)

// notify notifies the administrators of messages that wait for a person and that they have not heard of (G10). What waits because
// they were notified a moment ago is in a later notice.
func (b *Bridge) notify(ctx context.Context) error {
	groups, err := b.cfg.DB.AMQPUnnoticed(ctx, store.At(b.cfg.Now().Add(-noticeEach)), noticeGroups)
	if err != nil || len(groups) == 0 {
		return err
	}
	for status, kind := range noticeKinds() {
		mine := slices.DeleteFunc(slices.Clone(groups), func(g store.AMQPUnnoticed) bool { return g.Status != status })
		if len(mine) == 0 {
			continue
		}
		if err := b.notifyKind(ctx, kind, mine); err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
	}
	return nil
}

func (b *Bridge) notifyKind(ctx context.Context, kind string, groups []store.AMQPUnnoticed) error {
	setting := "amqp.notified." + kind
	return b.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		before, err := tx.Setting(ctx, setting)
		if err != nil {
			return err
		}
		if at, err := time.Parse(time.RFC3339Nano, before); err == nil && tx.Now.Sub(at) < noticeAny && !tx.Now.Before(at) {
			return nil
		}
		n := Notice{Kind: kind}
		for _, g := range groups {
			// Only the messages in the mail are marked: the group may have grown since it was listed.
			if g, err = tx.NoticedAMQP(ctx, g); err != nil {
				return err
			}
			if g.Count > 0 {
				n.Groups = append(n.Groups, b.noticeGroup(g))
			}
		}
		if len(n.Groups) == 0 {
			return nil
		}
		if err := tx.SetSetting(ctx, setting, tx.Now.Format(time.RFC3339Nano)); err != nil {
			return err
		}
		return b.cfg.Notify(ctx, tx, n)
	})
}

func (b *Bridge) noticeGroup(g store.AMQPUnnoticed) NoticeGroup {
	dir := b.dir.Load()
	n := NoticeGroup{HerID: g.Her, Queue: g.Queue, Count: g.Count, MessageID: g.First, PartyID: g.PartyID, Reason: g.Reason, Detail: g.Detail}
	if p := dir.parties[g.PartyID]; p != nil {
		n.Name = p.Name
	}
	if p := dir.parties[g.OwnPartyID]; p != nil {
		n.Own = p.Name
	}
	return n
}
