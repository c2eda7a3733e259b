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
	var batch []sendResult // unwritten outcomes, also while the database is away
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
func (e *Engine) writeAll(ctx context.Context, group []*pending, batch []sendResult) bool {
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
	// Neither may fail by a fault of the other.
	e.commit(ctx, group)
	return e.writeAll(ctx, nil, batch)
}

// bounded puts a deadline on ctx on PostgreSQL, so that a connection that is silently dropped does not hold intake up until
// TCP gives up. A group commit that was cut off is retried: what it wrote is known by then. SQLite has no connection to lose,
// and a context that can end costs its driver.
func (e *Engine) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if e.cfg.DB.Dialect() == store.SQLite {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, e.cfg.Deadline)
}

// writeOn runs fn in a transaction that is finished also when the engine stops.
func (e *Engine) writeOn(ctx context.Context, fn func(ctx context.Context, tx *store.Tx) error) error {
	ctx, cancel := e.bounded(context.WithoutCancel(ctx))
	defer cancel()
	return e.cfg.DB.Write(ctx, func(tx *store.Tx) error { return fn(ctx, tx) })
}

// Every transaction costs the wait for the disk, and a new copy of the last page of each table and index. When events come one by
// one faster than that, small groups pay it over and over. So when the last transaction had some events and outcomes and few wait
// now, the next one waits a moment for more. One that comes alone goes at once.
const (
	// lingerFrom is the least number of events and outcomes in the last transaction that makes waiting pay.
	lingerFrom = 8
	// lingerTo waiting events and outcomes are written at once.
	lingerTo = 64
	// lingerTime bounds the wait. At less than 2,000 events a second so little comes meanwhile that the writer stops waiting.
	lingerTime = 2 * time.Millisecond
)

// linger waits for more to write, if that pays: lately is the number of events and outcomes written last, here the number for
// the next transaction.
func (e *Engine) linger(ctx context.Context, lately, here int) {
	if lately < lingerFrom || here >= lingerTo {
		return
	}
	select {
	case <-time.After(lingerTime):
	case <-ctx.Done():
	}
}
