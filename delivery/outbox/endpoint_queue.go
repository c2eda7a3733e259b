package outbox

import (
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	"schakel/delivery/window"
	"schakel/store"
)

// endpointQueue holds the claimed and due work of one endpoint with its limits. One slow endpoint fills only its own queue
// (guarantee G6). The engine's mutex guards it.
type endpointQueue struct {
	endpoint    store.Endpoint
	limiter     *rate.Limiter // nil when the endpoint has no limit
	slots       chan struct{} // one token per attempt that may run at once
	held        int           // claimed and not completed; a run counts once
	runLength   int           // most deliveries that may follow one of the same key in a run; 0 while none had a key
	followRatio int           // deliveries that followed each other one in the last claim, on average
	done        atomic.Int64  // deliveries its senders have finished with
	requests    atomic.Int64  // send tasks that were started and have not ended
	ready       bool          // may have due deliveries
	due         time.Time     // next due time; zero when none is known
	backoff     backoff       // asked for with Retry-After
	circuit     circuit
	moved       uint64      // the engine's count of moves of circuits when this one was last moved or saved
	unsaved     int         // moves of the circuit that are not in the database yet
	terms       terms       // how it takes batches
	lookAt      time.Time   // next check whether enough waits to fill a batch
	week        window.Week // delivery windows
	read        string      // windows already checked for readability
	opensAt     time.Time   // start of the next delivery window; zero when it is open now
	arrivedAt   store.Time  // start of the newest attempt that arrived since issues were looked at; zero for none
	tests       bool        // a test event may wait, which goes at once
}

func newEndpointQueue(e store.Endpoint) *endpointQueue {
	q := &endpointQueue{ready: true}
	q.configure(e)
	return q
}

// configure applies the present settings of the endpoint.
func (q *endpointQueue) configure(e store.Endpoint) {
	n := max(1, int(e.MaxConcurrency))
	if q.slots == nil || cap(q.slots) != n {
		q.slots = make(chan struct{}, n)
	}
	switch {
	case e.RatePerSecond <= 0:
		q.limiter = nil
	case q.limiter == nil:
		q.limiter = rate.NewLimiter(rate.Limit(e.RatePerSecond), int(e.RatePerSecond))
	case q.limiter.Limit() != rate.Limit(e.RatePerSecond):
		q.limiter.SetLimit(rate.Limit(e.RatePerSecond))
		q.limiter.SetBurst(int(e.RatePerSecond))
	}
	if q.endpoint.URL != e.URL { // a receiver at another address did not ask for the backoff
		q.backoff = backoff{generation: q.backoff.generation + 1, running: q.backoff.running}
	}
	q.terms, q.week, q.opensAt, q.lookAt = termsOf(e), weekOf(e), time.Time{}, time.Time{}
	q.circuit, q.endpoint = circuitOf(e), e
}

// A queue holds up to claimAhead times its concurrency, so that one claim serves many attempts and a slot never waits for the
// database. More is claimed when half of that is used up. Followers in runs count for that, down to leastClaimAhead: many keys at
// once would make the writer change as many parts of the database in each transaction, for which all others wait.
const (
	claimAhead      = 8
	leastClaimAhead = 2
)

// maxBatched bounds the deliveries that a queue with batches holds, unless two batches are more: it must leave room to others.
const maxBatched = 1024

// perRequest returns the number of deliveries one request can take.
func (q *endpointQueue) perRequest() int { return max(1, q.terms.events) }

// capacity returns the most deliveries the queue holds.
func (q *endpointQueue) capacity() int {
	if !q.terms.on() {
		return max(leastClaimAhead, claimAhead/(1+q.followRatio)) * cap(q.slots)
	}
	return min(2*q.terms.events*cap(q.slots), max(2*q.terms.events, maxBatched))
}

// room returns how many deliveries may be claimed now; under a rate limit at most what it lets through in a second.
func (q *endpointQueue) room(now time.Time) int {
	if !q.ready || q.endpoint.Status != store.EndpointActive || q.backoff.active(now) || now.Before(q.lookAt) || q.closed(now) {
		return 0
	}
	if q.circuit.open() {
		if now.Before(q.circuit.probeAt) {
			return 0
		}
		return max(0, 1-q.held) // half-open: one probe
	}
	if q.full() || q.backoff.full(q.held, q.perRequest()) {
		return 0
	}
	room := q.capacity() - q.held
	if q.backoff.width > 0 {
		room = min(room, q.backoff.room(q.perRequest())-q.held)
	}
	if q.limiter != nil {
		room = min(room, q.perRequest()*int(q.endpoint.RatePerSecond)-q.held)
	}
	return max(0, room)
}

// full reports whether the queue holds enough for now; a completed delivery changes that.
func (q *endpointQueue) full() bool { return q.held > q.capacity()/2 }

// next returns when to look at the queue again; zero when only a signal will wake it.
func (q *endpointQueue) next() time.Time {
	next := q.due
	if q.ready && !q.lookAt.IsZero() && (next.IsZero() || q.lookAt.Before(next)) {
		next = q.lookAt
	}
	if q.ready && next.IsZero() {
		next = q.opensAt
	}
	if q.endpoint.Status != store.EndpointActive || next.IsZero() {
		return time.Time{}
	}
	for _, t := range []time.Time{q.backoff.until, q.circuit.probeAt, q.lookAt, q.opensAt} {
		if t.After(next) {
			next = t
		}
	}
	return next
}

// weekOf reads the delivery windows of an endpoint. They were checked before they were stored, but a zone may be gone from the
// database of zones, or not be taken any more: then nothing is sent, because the receiver said that it may not always.
func weekOf(e store.Endpoint) window.Week {
	w, err := window.Parse(e.Windows)
	if err != nil {
		return window.Never()
	}
	return w
}

// logUnreadable logs the windows of an endpoint that hold everything back because they cannot be read; once for each text.
func (e *Engine) logUnreadable(q *endpointQueue) {
	if q.endpoint.Windows == q.read {
		return
	}
	q.read = q.endpoint.Windows
	if err := window.Check(q.read); err != nil {
		e.cfg.Log.Error("windows of endpoint cannot be read, nothing is sent to it", "endpoint", q.endpoint.ID, "error", err)
	}
}

// closed reports whether it is outside the delivery windows now, and remembers until when. The caller holds the mutex.
func (q *endpointQueue) closed(now time.Time) bool {
	if q.week.Always() {
		return false
	}
	if now.Before(q.opensAt) {
		return true
	}
	q.opensAt = time.Time{}
	if q.week.Open(now) {
		return false
	}
	if q.opensAt = q.week.Next(now); q.opensAt.IsZero() {
		q.opensAt = now.Add(time.Hour) // never, or in an hour that a change of clocks leaves out
	}
	return true
}

// testRoom returns 1 when a test event may be claimed though the queue is closed: whoever tests wants to see the answer now.
func (q *endpointQueue) testRoom(now time.Time) int {
	if !q.tests || q.endpoint.Status != store.EndpointActive || q.circuit.open() || q.backoff.active(now) || q.backoff.full(q.held, 1) || !q.closed(now) {
		return 0
	}
	return 1
}

func (e *Engine) wakeForTest(endpointID string) {
	e.mu.Lock()
	if q := e.queues[endpointID]; q != nil {
		q.tests = true
	}
	e.mu.Unlock()
	e.ready(map[string]struct{}{endpointID: {}})
}
