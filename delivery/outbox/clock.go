package outbox

import (
	"context"
	"fmt"
	"time"

	"schakel/store"
)

// clockSlack bounds the steps back, and the differences between nodes, that the engine ignores.
const clockSlack = 2 * time.Second

// startClock makes new ids sort after all present ones, should the clock have been set back while no node ran. It returns the
// latest time that the clock is known to have shown, which clockLoop compares with: on a busy machine the clock may be set
// back before that loop first runs.
func (e *Engine) startClock(ctx context.Context) (time.Time, error) {
	now := e.cfg.Now().Round(0)
	newest, err := e.cfg.DB.NewestDelivery(ctx)
	if err != nil {
		return time.Time{}, fmt.Errorf("read newest delivery: %w", err)
	}
	if !newest.IsZero() {
		e.cfg.DB.KeepIDsAfter(newest.Time)
	}
	if newest.Before(now) {
		return now, nil
	}
	return newest.Time, nil
}

// clockLoop mends due times when the clock is set back: due deliveries would else wait until the clock shows again what it showed
// last. A clock that is set forward needs nothing: leases and waits end sooner, and a delivery may be sent twice under one key.
func (e *Engine) clockLoop(ctx context.Context, last time.Time) {
	looks := 0
	every(ctx, e.cfg.Poll, func() {
		now := e.cfg.Now().Round(0) // Round drops the monotonic reading, which hides a step back
		if by := last.Sub(now); by > clockSlack {
			e.cfg.Log.Warn("the clock was set back", "by", by)
			e.shiftQueues(by)
			// A transaction may have read the clock before and commit after: look again until none such is left.
			looks = 2 + int(e.cfg.Deadline/e.cfg.Poll)
		}
		last = now
		if looks > 0 {
			looks--
			if err := e.mendDueTimes(ctx); err != nil && ctx.Err() == nil {
				e.cfg.Log.Error("mend due times failed", "error", err)
				looks++
			}
		}
	})
}

// mendDueTimes makes due what would be due, had the clock not been set back.
func (e *Engine) mendDueTimes(ctx context.Context) error {
	endpoints, err := e.cfg.DB.Endpoints(ctx, "")
	if err != nil {
		return err
	}
	var turned int64
	for _, ep := range endpoints {
		err := e.cfg.DB.Write(ctx, func(tx *store.Tx) error {
			n, err := tx.TurnBack(ctx, ep.ID)
			turned += n
			return err
		})
		if err != nil {
			return err
		}
	}
	if err := e.shortenBackoffs(ctx); err != nil {
		return err
	}
	most := e.cfg.Now().Add(e.policy().Circuit.MaxWait)
	if err := e.cfg.DB.Write(ctx, func(tx *store.Tx) error { return tx.TurnCircuitsBack(ctx, store.At(most)) }); err != nil {
		return err
	}
	if turned > 0 {
		e.changed()
	}
	return nil
}

// shiftQueues moves the backoffs of all queues back with the clock, so that they keep their length.
func (e *Engine) shiftQueues(by time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, q := range e.queues {
		q.due, q.lookAt, q.ready = time.Time{}, time.Time{}, true
		if !q.backoff.until.IsZero() {
			q.backoff.until = q.backoff.until.Add(-by)
		}
	}
}

// shiftDueTimes moves due times back with a clock that was set back after the attempts ended, so that the waits keep their
// length. It changes the outcomes in place.
func shiftDueTimes(outcomes []store.Outcome, now time.Time) []store.Outcome {
	for i := range outcomes {
		o := &outcomes[i]
		ended := o.Attempt.StartedAt.Add(time.Duration(o.Attempt.DurationUS) * time.Microsecond)
		if by := ended.Sub(now); by > clockSlack && !o.Delivery.DueAt.IsZero() {
			o.Delivery.DueAt = store.At(o.Delivery.DueAt.Add(-by))
		}
	}
	return outcomes
}
