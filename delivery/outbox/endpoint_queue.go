package outbox

import (
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"schakel/delivery/window"
	"schakel/store"
)

// lane is what the engine knows of one endpoint: what it may send, and what it is sending. One slow endpoint fills only
// its own lane (guarantee G6). The engine's mutex guards it.
type lane struct {
	endpoint store.Endpoint
	limiter  *rate.Limiter // nil when the endpoint has no limit
	slots    chan struct{} // one token per attempt that may run at once
	held     int           // claimed and not completed; a run counts once
	run      int           // how many deliveries may follow one of the same key in a run; 0 while none had a key
	follow   int           // how many deliveries followed each other one in the last claim, on average
	done     atomic.Int64  // deliveries its senders were done with
	ready    bool          // may have due deliveries
	due      time.Time     // when the next delivery is due; zero when none is known
	pause    pause         // what it asked for with Retry-After
	circuit  circuit
	terms    terms       // how it takes batches
	lookAt   time.Time   // when to look again whether enough waits to fill a batch
	week     window.Week // when it may be sent to
	read     string      // windows that were looked at for what cannot be read
	opensAt  time.Time   // when it may be again; zero when it may now
	tests    bool        // a test event may wait, which goes at once
}

func newLane(e store.Endpoint) *lane {
	l := &lane{ready: true}
	l.configure(e)
	return l
}

// configure takes over the settings of the endpoint as it is now.
func (l *lane) configure(e store.Endpoint) {
	n := max(1, int(e.MaxConcurrency))
	if l.slots == nil || cap(l.slots) != n {
		l.slots = make(chan struct{}, n)
	}
	switch {
	case e.RatePerSecond <= 0:
		l.limiter = nil
	case l.limiter == nil:
		l.limiter = rate.NewLimiter(rate.Limit(e.RatePerSecond), int(e.RatePerSecond))
	case l.limiter.Limit() != rate.Limit(e.RatePerSecond):
		l.limiter.SetLimit(rate.Limit(e.RatePerSecond))
		l.limiter.SetBurst(int(e.RatePerSecond))
	}
	if l.endpoint.URL != e.URL { // a receiver at another address did not ask for the pause
		l.pause = pause{number: l.pause.number + 1, running: l.pause.running}
	}
	l.circuit, l.terms, l.week, l.opensAt, l.lookAt = circuitOf(e), termsOf(e), weekOf(e), time.Time{}, time.Time{}
	l.endpoint = e
}

// ahead is how many times its concurrency a lane holds at most, so that one claim serves many attempts and a slot never
// waits for the database. More is claimed when half of that is used up. What follows others in runs counts for that, down to
// fewestAhead: many keys at once would make the writer change as many parts of the database in each transaction, for which
// all others wait.
const (
	ahead       = 8
	fewestAhead = 2
)

// maxBatched bounds what a lane with batches holds, unless two batches are more: it must not take the room of others.
const maxBatched = 1024

// each is how many deliveries one request can take.
func (l *lane) each() int { return max(1, l.terms.events) }

// most is how many deliveries a lane holds at most.
func (l *lane) most() int {
	if !l.terms.on() {
		return max(fewestAhead, ahead/(1+l.follow)) * cap(l.slots)
	}
	return min(2*l.terms.events*cap(l.slots), max(2*l.terms.events, maxBatched))
}

// room is how many deliveries may be claimed now; under a rate limit no more than what it lets through in a second.
func (l *lane) room(now time.Time) int {
	if !l.ready || l.endpoint.Status != store.EndpointActive || l.pause.holds(now) || now.Before(l.lookAt) || l.closed(now) {
		return 0
	}
	if l.circuit.open() {
		if now.Before(l.circuit.probeAt) {
			return 0
		}
		return max(0, 1-l.held) // half-open: one probe
	}
	if l.full() || l.pause.full(l.held, l.each()) {
		return 0
	}
	room := l.most() - l.held
	if l.pause.width > 0 {
		room = min(room, l.pause.room(l.each())-l.held)
	}
	if l.limiter != nil {
		room = min(room, l.each()*int(l.endpoint.RatePerSecond)-l.held)
	}
	return max(0, room)
}

// full tells whether the lane holds enough for now; a completed delivery changes that.
func (l *lane) full() bool { return l.held > l.most()/2 }

// next is when the lane should be looked at again; zero when only a signal will wake it.
func (l *lane) next() time.Time {
	next := l.due
	if l.ready && !l.lookAt.IsZero() && (next.IsZero() || l.lookAt.Before(next)) {
		next = l.lookAt
	}
	if l.ready && next.IsZero() {
		next = l.opensAt
	}
	if l.endpoint.Status != store.EndpointActive || next.IsZero() {
		return time.Time{}
	}
	for _, t := range []time.Time{l.pause.until, l.circuit.probeAt, l.lookAt, l.opensAt} {
		if t.After(next) {
			next = t
		}
	}
	return next
}
