package outbox

import (
	"context"
	"fmt"
	"time"

	"schakel/store"
)

// clockSlack is how far clocks may go back, or differ between nodes, without a word.
const clockSlack = 2 * time.Second

// startClock has what is made from now on sort after what there is, should the clock have been set back while no node
// ran. It gives the latest time that the clock is known to have shown, which clockLoop compares with: on a busy machine the
// clock may be set back before that loop first runs.
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

// clockLoop sees to it that a clock that is set back holds nothing up: what is due would else wait until the clock shows
// again what it showed last. A clock that is set forward needs nothing: leases and waits are over sooner, and a delivery
// may be sent twice under one key.
func (e *Engine) clockLoop(ctx context.Context, last time.Time) {
	ticker := time.NewTicker(e.cfg.Poll)
	defer ticker.Stop()
	looks := 0
	for {
		now := e.cfg.Now().Round(0) // without the reading that knows of no setting back
		if by := last.Sub(now); by > clockSlack {
			e.cfg.Log.Warn("the clock was set back", "by", by)
			e.turnLanesBack(by)
			// A transaction may have read the clock before and be committed after: it is looked at until none such is left.
			looks = 2 + int(e.cfg.Deadline/e.cfg.Poll)
		}
		last = now
		if looks > 0 {
			looks--
			if err := e.turnBack(ctx); err != nil && ctx.Err() == nil {
				e.cfg.Log.Error("mend due times failed", "error", err)
				looks++
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// turnBack makes due what would be, had the clock not been set back.
func (e *Engine) turnBack(ctx context.Context) error {
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
	if err := e.shortenWaits(ctx); err != nil {
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

// turnLanesBack has lanes wait as long for their receivers as those asked for before the clock was set back.
func (e *Engine) turnLanesBack(by time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, l := range e.lanes {
		l.due, l.lookAt, l.ready = time.Time{}, time.Time{}, true
		if !l.pause.until.IsZero() {
			l.pause.until = l.pause.until.Add(-by)
		}
	}
}

// turnedBack is what outcomes are by a clock that was set back after their attempts ended: the next tries are as long
// from now on as they would have been from then. It changes them in place.
func turnedBack(outcomes []store.Outcome, now time.Time) []store.Outcome {
	for i := range outcomes {
		o := &outcomes[i]
		ended := o.Attempt.StartedAt.Add(time.Duration(o.Attempt.DurationUS) * time.Microsecond)
		if by := ended.Sub(now); by > clockSlack && !o.Delivery.DueAt.IsZero() {
			o.Delivery.DueAt = store.At(o.Delivery.DueAt.Add(-by))
		}
	}
	return outcomes
}
