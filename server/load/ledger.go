package main

import (
	"math"
	"math/bits"
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

// Each power of two of microseconds is cut into this many equal parts, so that a quantile is at most 1/64 too high.
const (
	partBits = 6
	parts    = 1 << partBits
)

// histogram counts durations. It has a fixed size, and adding takes no memory.
type histogram struct {
	counts [(64 - partBits + 1) * parts]uint32
	total  uint64
}

// add counts a duration; below zero is zero.
func (h *histogram) add(d time.Duration) {
	h.counts[place(uint64(max(0, d.Microseconds())))]++
	h.total++
}

func (h *histogram) merge(other *histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.total += other.total
}

// quantile is the duration that a share q (0 to 1) of all durations did not pass; 0 when there are none.
func (h *histogram) quantile(q float64) time.Duration {
	if h.total == 0 {
		return 0
	}
	rank := min(uint64(q*float64(h.total)), h.total-1)
	for i, n := range h.counts {
		if rank < uint64(n) {
			return time.Duration(min(highest(i), math.MaxInt64/1000)) * time.Microsecond
		}
		rank -= uint64(n)
	}
	return 0
}

// place is the index that counts a number: itself below 64, then 64 places for each power of two.
func place(n uint64) int {
	if n < parts {
		return int(n)
	}
	shift := bits.Len64(n) - partBits - 1
	return shift*parts + int(n>>shift)
}

// highest is the largest number that is counted at an index.
func highest(i int) uint64 {
	if i < 2*parts {
		return uint64(i)
	}
	shift := i/parts - 1
	return (uint64(i-shift*parts)+1)<<shift - 1
}
