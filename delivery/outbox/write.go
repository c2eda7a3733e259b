package outbox

import (
	"context"
	"runtime"
	"runtime/metrics"
	"time"

	"schakel/store"
)

// writeLoop is commitLoop and completeLoop in one, for a database with one writer: what came in and what was sent meanwhile
// share a transaction.
func (e *Engine) writeLoop(ctx context.Context) {
	var group []*pending
	var batch []sendResult // unwritten outcomes, also while the database is away
	var throttle throttle
	var linger linger
	wait := firstWait
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
			linger.wait(ctx, func() int { return eventsOf(group) + len(batch) + len(e.submissions) + len(e.outcomes) })
		}
		batch = e.gatherOutcomes(batch)
		var next []*pending
		if len(group) > 0 && !throttle.holds(e, group, len(batch)) {
			next, group = e.gather(group), nil
			throttle.next()
		} else if len(group) > 0 && len(batch) < e.cfg.MaxBatch/2 {
			continue // more of them share a transaction
		}
		linger.wrote(e.cfg.Now(), eventsOf(next)+len(batch))
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

// An event costs less to accept than to send, so that without a throttle a busy machine accepts more than it sends, and a backlog
// grows for as long as somebody publishes. The throttle works only while much goes out, or this process does not keep up: a slow
// receiver fills its own endpoint queue, and holds up no publisher (guarantee G6). throttleFloor events a second always pass.

const (
	// crowdedShare divides the room for deliveries in flight: from this part on intake may have to wait.
	crowdedShare = 8
	// throttlePoll is the interval at which the throttle looks again.
	throttlePoll = 2 * time.Millisecond
	// throttleFloor is the number of events a second that always pass.
	throttleFloor = 2000
	// throttleMost bounds the wait of one group.
	throttleMost = 250 * time.Millisecond
	// idlePolls looks in a row that find that waiting does not help turn the throttle off.
	idlePolls = 8
	// shortestOff is the time for which it is off then; each time in a row it doubles, up to longestOff.
	shortestOff = 20 * time.Millisecond
	longestOff  = 2 * time.Second
	// brisk deliveries ended between two looks mean that the receivers are no hindrance: 1,000 a second.
	brisk = 2
	// queued goroutines per processor that wait for it mean that a process does not keep up.
	queued = 2
)

// throttle holds back one group at a time.
type throttle struct {
	since    time.Time // arrival of the group
	offUntil time.Time
	offTime  time.Duration
	polled   time.Time
	sent     int64 // deliveries ended, by crowded at the last look
	idle     int   // looks in a row at which little moved and no goroutine waited for a processor
}

// holds reports whether a group has to wait; finished is the number of outcomes about to be written. Call it at least every
// throttlePoll.
func (t *throttle) holds(e *Engine, group []*pending, finished int) bool {
	now := e.cfg.Now()
	crowded, sent := e.crowded(finished)
	if t.since.IsZero() {
		t.since, t.polled, t.sent, t.idle = now, now, sent, 0
	}
	switch {
	case now.Before(t.offUntil):
		return false
	case now.Sub(t.since).Abs() >= e.longest(group), !crowded:
		t.offTime = 0 // waiting helped, or would have
		return false
	}
	if now.Sub(t.polled).Abs() < throttlePoll {
		return true
	}
	if t.idle++; sent >= t.sent+brisk || sent > t.sent && e.behind() {
		t.idle = 0
	}
	t.polled, t.sent = now, sent
	if t.idle >= idlePolls {
		t.offTime = min(max(2*t.offTime, shortestOff), longestOff)
		t.offUntil = now.Add(t.offTime)
		return false
	}
	return true
}

// next readies the throttle for another group.
func (t *throttle) next() { t.since = time.Time{} }

// wait returns when the throttle lets the group go.
func (t *throttle) wait(ctx context.Context, e *Engine, group []*pending) {
	defer t.next()
	for t.holds(e, group, 0) {
		select {
		case <-time.After(throttlePoll):
		case <-ctx.Done():
			return
		}
	}
}

// longest bounds the wait of a group, with all that would join it.
func (e *Engine) longest(group []*pending) time.Duration {
	events := min(e.cfg.MaxBatch, eventsOf(group)*(1+len(e.submissions)))
	return min(time.Duration(events)*time.Second/throttleFloor, throttleMost)
}

// crowded reports whether much is in flight, apart from the outcomes about to be written, or more waits for full queues; and
// how many deliveries the senders of these queues have finished with.
func (e *Engine) crowded(finished int) (crowded bool, done int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := e.held-finished >= e.cfg.MaxInFlight/crowdedShare
	for _, q := range e.queues {
		if all || q.ready && q.full() {
			crowded, done = true, done+q.done.Load()
		}
	}
	return crowded, done
}

// behind reports whether goroutines of this process wait for a processor.
func (e *Engine) behind() bool {
	sample := []metrics.Sample{{Name: "/sched/goroutines/runnable:goroutines"}}
	metrics.Read(sample)
	return sample[0].Value.Kind() == metrics.KindUint64 && sample[0].Value.Uint64() >= uint64(queued*runtime.GOMAXPROCS(0))
}
