package outbox

import (
	"context"
	"time"

	"schakel/store"
)

// writeLoop is commitLoop and completeLoop in one, for a database with one writer: what came in and what was sent meanwhile
// go to disk together, for the price of one.
func (e *Engine) writeLoop(ctx context.Context) {
	var batch []finished // what is left to write when the database is away, too
	wait := firstWait
	for {
		var group []*pending
		var again <-chan time.Time
		if len(batch) > 0 {
			again = time.After(wait)
		}
		select {
		case p := <-e.submissions:
			group = append(group, p)
		case f := <-e.outcomes:
			batch = f.appendTo(batch)
		case <-again:
		case <-ctx.Done():
			e.turnAway()
			if batch = e.gatherOutcomes(batch); len(batch) > 0 {
				e.complete(ctx, batch)
			}
			return
		}
		batch = e.gatherOutcomes(batch)
		if e.writeAll(ctx, e.gather(group), batch) {
			batch, wait = nil, firstWait
		} else {
			wait = min(2*wait, lastWait)
		}
	}
}

// writeAll writes a group and a batch and tells whether the batch is written. A group gets its answer in any case.
func (e *Engine) writeAll(ctx context.Context, group []*pending, batch []finished) bool {
	e.refresh(ctx)
	if len(batch) == 0 {
		e.commit(ctx, group)
		return true
	}
	var m made
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
	e.letGo(m)
	if len(group) == 0 {
		e.cfg.Log.Error("write outcomes failed", "outcomes", len(batch), "error", err)
		return false
	}
	// Neither may fail for what is wrong with the other.
	e.commit(ctx, group)
	return e.writeAll(ctx, nil, batch)
}
