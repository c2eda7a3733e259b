package outbox

import (
	"time"

	"schakel/delivery/window"
	"schakel/store"
)

// weekOf reads when an endpoint may be sent to. Windows were checked before they were stored, but a zone may be gone from
// the database of zones, or not be taken any more: then nothing is sent, because the receiver said that it may not always.
func weekOf(e store.Endpoint) window.Week {
	w, err := window.Parse(e.Windows)
	if err != nil {
		return window.Never()
	}
	return w
}

// tellUnreadable logs the windows of an endpoint that hold everything back because they cannot be read; once for each text.
func (e *Engine) tellUnreadable(l *lane) {
	if l.endpoint.Windows == l.read {
		return
	}
	l.read = l.endpoint.Windows
	if err := window.Check(l.read); err != nil {
		e.cfg.Log.Error("windows of endpoint cannot be read, nothing is sent to it", "endpoint", l.endpoint.ID, "error", err)
	}
}

// closed tells whether it is outside the windows of the lane now, and remembers until when. The caller holds the mutex.
func (l *lane) closed(now time.Time) bool {
	if l.week.Always() {
		return false
	}
	if now.Before(l.opensAt) {
		return true
	}
	l.opensAt = time.Time{}
	if l.week.Open(now) {
		return false
	}
	if l.opensAt = l.week.Next(now); l.opensAt.IsZero() {
		l.opensAt = now.Add(time.Hour) // never, or in an hour that a change of clocks leaves out
	}
	return true
}

// testRoom is whether a test event may be claimed though the lane is closed: whoever tests wants to see the answer now.
func (l *lane) testRoom(now time.Time) int {
	if !l.tests || l.endpoint.Status != store.EndpointActive || l.circuit.open() || l.pause.holds(now) || l.pause.full(l.held, 1) || !l.closed(now) {
		return 0
	}
	return 1
}

// tried wakes a lane for a test event.
func (e *Engine) tried(endpointID string) {
	e.mu.Lock()
	if l := e.lanes[endpointID]; l != nil {
		l.tests = true
	}
	e.mu.Unlock()
	e.ready(map[string]struct{}{endpointID: {}})
}
