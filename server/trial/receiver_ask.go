package trial

import (
	"net/http"
	"slices"
	"strconv"
	"time"
)

// answerAs does what was decided about an event.
func answerAs(w http.ResponseWriter, q *http.Request, status int) {
	switch status {
	case Hang:
		<-q.Context().Done()
		panic(http.ErrAbortHandler)
	case LoseAnswer:
		panic(http.ErrAbortHandler)
	case Drip:
		drip(w, q)
	default:
		w.WriteHeader(status)
	}
}

// drip answers until the other side has had enough.
func drip(w http.ResponseWriter, q *http.Request) {
	w.WriteHeader(http.StatusAccepted)
	flush := http.NewResponseController(w)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		if _, err := w.Write([]byte(".")); err != nil || flush.Flush() != nil {
			return
		}
		select {
		case <-q.Context().Done():
			return
		case <-tick.C:
		}
	}
}

// Behave sets what the receiver does with an event: the status it answers, or
// Hang, Drip or LoseAnswer. Nil takes all with 202.
func (r *Receiver) Behave(judge func(path, id string) int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.judge = judge
}

// WantOrder has the numbers of a subject come in order at a path (guarantee G5).
func (r *Receiver) WantOrder(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.order[path] = true
}

// RepeatsAfterFaults says that outcomes may be lost here, with the program or its database. Deliveries of a key that were
// sent in one run are sent once more then, in order, from the first whose outcome was not written. What is new must still
// come in order.
func (r *Receiver) RepeatsAfterFaults() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = true
}

// Before sets what is called first at each request; nil is nothing.
func (r *Receiver) Before(do func(*http.Request)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.before = do
}

// Reply makes the body of the answer to a request.
type Reply func(body []byte) []byte

// Reply sets what is answered with 200 to what is taken at a path.
func (r *Receiver) Reply(path string, reply Reply) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reply == nil {
		r.reply = map[string]Reply{}
	}
	r.reply[path] = reply
}

// replyTo is nil when nothing is said at a path.
func (r *Receiver) replyTo(path string, body []byte) []byte {
	r.mu.Lock()
	reply := r.reply[path]
	r.mu.Unlock()
	if reply == nil {
		return nil
	}
	return reply(body)
}

// Got gives an event that was taken at a path.
func (r *Receiver) Got(path, id string) (Taken, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if hook := r.paths[path]; hook != nil && hook.events[id] != nil {
		return hook.events[id].Taken, hook.events[id].Times > 0
	}
	return Taken{}, false
}

// Bodies are the events that were taken at a path, as they arrived, in no order.
func (r *Receiver) Bodies(path string) (bodies []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.paths[path] == nil {
		return nil
	}
	for _, s := range r.paths[path].events {
		if s.Times > 0 {
			bodies = append(bodies, string(s.Body))
		}
	}
	return bodies
}

// Offers returns how many different events were offered at a path.
func (r *Receiver) Offers(path string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.paths[path] == nil {
		return 0
	}
	return len(r.paths[path].events)
}

// Attempts returns how often anything was offered at a path.
func (r *Receiver) Attempts(path string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.paths[path] == nil {
		return 0
	}
	return r.paths[path].offers
}

// TakenAt returns how many different events were taken at a path.
func (r *Receiver) TakenAt(path string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.paths[path] == nil {
		return 0
	}
	for _, s := range r.paths[path].events {
		if s.Times > 0 {
			n++
		}
	}
	return n
}

// Broken lists the rules that were broken, with the event.
func (r *Receiver) Broken() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.broken)
}

// Quiet waits until nobody is connected: what a killed process had sent has been
// noted, and cannot be taken for something that came later.
func (r *Receiver) Quiet(t T) {
	t.Helper()
	Eventually(t, "the connections of the receiver are closed", func() (bool, string) {
		n := r.conns.Load()
		return n == 0, strconv.FormatInt(n, 10) + " are open"
	})
}

// WaitFor waits until an event was taken at a path.
func (r *Receiver) WaitFor(t T, path, id string) Taken {
	t.Helper()
	var got Taken
	Eventually(t, "event "+id+" arrives at "+path, func() (ok bool, _ string) {
		got, ok = r.Got(path, id)
		return ok, ""
	})
	return got
}
