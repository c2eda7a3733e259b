package main

import (
	"sync/atomic"
	"time"
)

// ledger knows of each event of one load when it was accepted and when it arrived. Event number n has place n; a time
// is in microseconds since the start, plus one, so that 0 is never. The memory is only taken as places are used.
type ledger struct {
	began    time.Time
	route    func(place int) int // the endpoint each event is for
	next     atomic.Int64        // places given out
	accepted []atomic.Uint32
	arrived  []atomic.Uint32

	acceptances atomic.Int64 // events answered 202
	receipts    atomic.Int64 // different events that arrived
	repeats     atomic.Int64 // arrivals of one that had arrived
	misdirected atomic.Int64 // arrivals at another endpoint than its own
}

func newLedger(places int, route func(place int) int) *ledger {
	return &ledger{
		began: time.Now(), route: route,
		accepted: make([]atomic.Uint32, places), arrived: make([]atomic.Uint32, places),
	}
}

// take gives out n places in a row and names the first; false is that there are no more.
func (l *ledger) take(n int) (first int, ok bool) {
	end := int(l.next.Add(int64(n)))
	return end - n, end <= len(l.accepted)
}

func (l *ledger) now() uint32 { return uint32(time.Since(l.began).Microseconds()) + 1 }

// accept notes that n events from first on were answered 202.
func (l *ledger) accept(first, n int) {
	now := l.now()
	for i := first; i < first+n; i++ {
		l.accepted[i].Store(now)
	}
	l.acceptances.Add(int64(n))
}

// receive notes that an event arrived.
func (l *ledger) receive(place int, now uint32) {
	switch {
	case place >= len(l.arrived):
		l.misdirected.Add(1)
	case l.arrived[place].CompareAndSwap(0, now):
		l.receipts.Add(1)
	default:
		l.repeats.Add(1)
	}
}

// verdict holds the final counts of a ledger.
type verdict struct {
	accepted, delivered, lost int
	repeats, misdirected      int
	latency                   histogram // from 202 to receipt; an arrival before the 202 was read counts as 0
}

// judge compares acceptances with arrivals; except names the places that are not expected to arrive, nil is none.
func (l *ledger) judge(except func(place int) bool) verdict {
	v := verdict{repeats: int(l.repeats.Load()), misdirected: int(l.misdirected.Load())}
	for i := range min(int(l.next.Load()), len(l.accepted)) {
		accepted, arrived := l.accepted[i].Load(), l.arrived[i].Load()
		if accepted == 0 || except != nil && except(i) {
			continue
		}
		v.accepted++
		if arrived == 0 {
			v.lost++
			continue
		}
		v.delivered++
		v.latency.add(time.Duration(int64(arrived)-int64(accepted)) * time.Microsecond)
	}
	return v
}
