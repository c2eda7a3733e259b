package outbox

import (
	"context"
	"time"

	"schakel/store"
)

// writeLoop is commitLoop and completeLoop in one, for a database with one writer: what came in and what was sent meanwhile
// share a transaction.
func (e *Engine) writeLoop(ctx context.Context) {
	var group []*pending
	var batch []finished // unwritten outcomes, also while the database is away
	var throttle throttle
	wait := firstWait
	lately := 0 // events and outcomes the last transaction wrote
	for {
		again, submissions := time.Duration(0), e.submissions
		if len(group) > 0 {
			again, submissions = throttlePoll, nil // the throttle holds it
		} else if len(batch) > 0 {
			again = wait
		}
		select {
		case p := <-submissions:
			group = append(group, p)
		case f := <-e.outcomes:
			batch = f.appendTo(batch)
		case <-after(again):
		case <-ctx.Done():
			e.rejectPending(group)
			for batch = e.gatherOutcomes(batch); len(batch) > 0; batch = e.gatherOutcomes(nil) {
				e.complete(ctx, batch)
			}
			return
		}
		if again == 0 {
			e.linger(ctx, lately, eventsOf(group)+len(batch)+len(e.submissions)+len(e.outcomes))
		}
		batch = e.gatherOutcomes(batch)
		var next []*pending
		if len(group) > 0 && !throttle.holds(e, group, len(batch)) {
			next, group = e.gather(group), nil
			throttle.next()
		} else if len(group) > 0 && len(batch) < e.cfg.MaxBatch/2 {
			continue // more of them share a transaction
		}
		lately = eventsOf(next) + len(batch)
		if e.writeAll(ctx, next, batch) {
			batch, wait = nil, firstWait
		} else {
			wait = min(2*wait, lastWait)
		}
	}
}

// after is time.After, and never for zero.
func after(d time.Duration) <-chan time.Time {
	if d == 0 {
		return nil
	}
	return time.After(d)
}

// writeAll writes a group and a batch and reports whether the batch is written. A group gets its answer in any case.
func (e *Engine) writeAll(ctx context.Context, group []*pending, batch []finished) bool {
	e.refresh(ctx)
	if len(batch) == 0 {
		e.commit(ctx, group)
		return true
	}
	var m commitResult
	var changed bool
	err := e.cfg.DB.Write(context.WithoutCancel(ctx), func(tx *store.Tx) (err error) {
		if changed, err = e.writeOutcomes(context.WithoutCancel(ctx), tx, batch); err != nil || len(group) == 0 {
			return err
		}
		m, err = e.write(context.WithoutCancel(ctx), tx, group)
		return err
	})
	if err == nil {
		e.answer(group, m, nil)
		e.completed(ctx, batch, changed)
		return true
	}
	e.releaseRoom(m)
	if len(group) == 0 {
		e.cfg.Log.Error("write outcomes failed", "outcomes", len(batch), "error", err)
		return false
	}
	// Neither may fail for what is wrong with the other.
	e.commit(ctx, group)
	return e.writeAll(ctx, nil, batch)
}
