package outbox

import (
	"context"
	"runtime"
	"runtime/metrics"
	"time"
)

// What comes in costs less than what goes out, so that without a brake a busy machine takes in more than it sends, and a
// backlog grows for as long as somebody publishes. The brake works only while much goes out, or this process does not keep
// up: a receiver that is slow fills its own lane, and holds nobody up who publishes (guarantee G6). In any case so many
// events a second come in as braked says.

const (
	// crowd is the part of the room for deliveries in flight from which on intake may have to wait.
	crowd = 8
	// brakeLook is how often the brake looks again.
	brakeLook = 2 * time.Millisecond
	// braked is how many events a second the brake lets pass whatever happens.
	braked = 2000
	// brakeMost bounds how long one group waits.
	brakeMost = 250 * time.Millisecond
	// calmLooks is how many looks in a row must find that waiting does not help, and the brake is let go.
	calmLooks = 8
	// brakeRest is for how long it is off then; each time in a row for twice as long, up to longRest.
	brakeRest = 20 * time.Millisecond
	longRest  = 2 * time.Second
	// brisk is how many deliveries are done with between two looks when the receivers are no hindrance: 1,000 a second.
	brisk = 2
	// queued is how many goroutines for each processor wait for it when a process does not keep up.
	queued = 2
)

// brake holds back one group at a time.
type brake struct {
	since  time.Time // when the group came
	off    time.Time // until when the brake is off
	rest   time.Duration
	looked time.Time
	sent   int64 // what crowd told at the last look
	calm   int   // looks in a row at which little moved and no goroutine waited for a processor
}

// holds tells whether a group has to wait; finished is how many outcomes are about to be written. It is asked at least
// every brakeLook.
func (b *brake) holds(e *Engine, group []*pending, finished int) bool {
	now := e.cfg.Now()
	crowded, sent := e.crowd(finished)
	if b.since.IsZero() {
		b.since, b.looked, b.sent, b.calm = now, now, sent, 0
	}
	switch {
	case now.Before(b.off):
		return false
	case now.Sub(b.since).Abs() >= e.longest(group), !crowded:
		b.rest = 0 // waiting helped, or would have
		return false
	}
	if now.Sub(b.looked).Abs() < brakeLook {
		return true
	}
	if b.calm++; sent >= b.sent+brisk || sent > b.sent && e.behind() {
		b.calm = 0
	}
	b.looked, b.sent = now, sent
	if b.calm >= calmLooks {
		b.rest = min(max(2*b.rest, brakeRest), longRest)
		b.off = now.Add(b.rest)
		return false
	}
	return true
}

// next readies the brake for another group.
func (b *brake) next() { b.since = time.Time{} }

// wait returns when the brake lets the group go.
func (b *brake) wait(ctx context.Context, e *Engine, group []*pending) {
	defer b.next()
	for b.holds(e, group, 0) {
		select {
		case <-time.After(brakeLook):
		case <-ctx.Done():
			return
		}
	}
}

// longest is how long a group may wait, with all that would join it.
func (e *Engine) longest(group []*pending) time.Duration {
	events := min(e.cfg.MaxBatch, eventsOf(group)*(1+len(e.submissions)))
	return min(time.Duration(events)*time.Second/braked, brakeMost)
}

// crowd tells whether much is in flight, but for so many whose outcomes are about to be written, or more waits for lanes
// that are full; and how many deliveries the senders of these lanes were done with.
func (e *Engine) crowd(finished int) (crowded bool, done int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := e.held-finished >= e.cfg.MaxInFlight/crowd
	for _, l := range e.lanes {
		if all || l.ready && l.full() {
			crowded, done = true, done+l.done.Load()
		}
	}
	return crowded, done
}

// behind tells whether goroutines of this process wait for a processor.
func (e *Engine) behind() bool {
	sample := []metrics.Sample{{Name: "/sched/goroutines/runnable:goroutines"}}
	metrics.Read(sample)
	return sample[0].Value.Kind() == metrics.KindUint64 && sample[0].Value.Uint64() >= uint64(queued*runtime.GOMAXPROCS(0))
}
