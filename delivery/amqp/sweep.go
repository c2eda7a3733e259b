package amqp

import (
	"context"
	"encoding/json"
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
		m.Detail = "No answer came in time. Resend it to ask once more."
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
