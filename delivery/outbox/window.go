package outbox

import (
	"time"

	"schakel/delivery/window"
	"schakel/store"
)

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

// wakeForTest wakes a queue for a test event.
func (e *Engine) wakeForTest(endpointID string) {
	e.mu.Lock()
	if q := e.queues[endpointID]; q != nil {
		q.tests = true
	}
	e.mu.Unlock()
	e.ready(map[string]struct{}{endpointID: {}})
}
