package outbox

import (
	"time"

	"golang.org/x/time/rate"

	"schakel/store"
)

// lane is what the engine knows of one endpoint: what it may send, and what it is sending. One slow endpoint fills only
// its own lane (guarantee G6). The engine's mutex guards it.
type lane struct {
	endpoint  store.Endpoint
	limiter   *rate.Limiter // nil when the endpoint has no limit
	slots     chan struct{} // one token per attempt that may run at once
	held      int           // claimed and not completed
	ready     bool          // may have due deliveries
	due       time.Time     // when the next delivery is due; zero when none is known
	notBefore time.Time     // Retry-After of the endpoint
	circuit   circuit
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
	l.circuit = circuitOf(e)
	l.endpoint = e
}

// ahead is how many times its concurrency a lane holds at most, so that one claim serves many attempts and a slot never
// waits for the database. More is claimed when half of that is used up.
const ahead = 8

// room is how many deliveries may be claimed now; under a rate limit no more than what it lets through in a second.
func (l *lane) room(now time.Time) int {
	if !l.ready || l.endpoint.Status != store.EndpointActive || now.Before(l.notBefore) {
		return 0
	}
	if l.circuit.open() {
		if now.Before(l.circuit.probeAt) {
			return 0
		}
		return max(0, 1-l.held) // half-open: one probe
	}
	if l.full() {
		return 0
	}
	room := ahead*cap(l.slots) - l.held
	if l.limiter != nil {
		room = min(room, int(l.endpoint.RatePerSecond)-l.held)
	}
	return max(0, room)
}

// full tells whether the lane holds enough for now; a completed delivery changes that.
func (l *lane) full() bool { return l.held > ahead/2*cap(l.slots) }

// next is when the lane should be looked at again; zero when only a signal will wake it.
func (l *lane) next() time.Time {
	if l.endpoint.Status != store.EndpointActive || l.due.IsZero() {
		return time.Time{}
	}
	next := l.due
	for _, t := range []time.Time{l.notBefore, l.circuit.probeAt} {
		if t.After(next) {
			next = t
		}
	}
	return next
}
