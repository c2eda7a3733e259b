package outbox

import (
	"sync"
	"sync/atomic"

	"schakel/store"
)

// errand is a claimed delivery, or a batch of them, for a sender.
type errand struct {
	lane   *lane
	ep     *store.Endpoint
	slots  chan struct{}
	single *store.Claimed
	after  []*store.Claimed // what follows single in a run
	bundle *bundle          // in place of single
	epoch  string
	probe  bool // the single request after a pause of the endpoint
}

// crew are senders that are done and wait for another errand. A new goroutine would grow its stack anew for each request,
// which costs as much as encoding the event.
type crew struct {
	errands chan errand
	over    chan struct{} // closed when the engine stops
	end     sync.Once
	idle    atomic.Int64
}

// maxIdle is how many senders wait at most.
const maxIdle = 128

func newCrew() *crew { return &crew{errands: make(chan errand), over: make(chan struct{})} }

// dismiss lets those that wait go.
func (c *crew) dismiss() { c.end.Do(func() { close(c.over) }) }

// dispatch gives an errand to a sender that waits, or to a new one. It does not block. An engine that was not started has
// no crew.
func (e *Engine) dispatch(task errand) {
	e.senders.Add(1)
	if e.crew != nil {
		select {
		case e.crew.errands <- task:
			return
		default:
		}
	}
	go e.runErrands(task)
}

// runErrands is the life of a sender.
func (e *Engine) runErrands(task errand) {
	for ok := true; ok; task, ok = e.crew.next() {
		if task.bundle != nil {
			e.sendBundle(task)
		} else {
			e.send(task)
		}
	}
}

// next waits for another errand; none comes when enough wait already, or the engine stops.
func (c *crew) next() (task errand, ok bool) {
	if c == nil {
		return errand{}, false
	}
	defer c.idle.Add(-1)
	if c.idle.Add(1) > maxIdle {
		return errand{}, false
	}
	select {
	case task = <-c.errands:
		return task, true
	case <-c.over:
		return errand{}, false
	}
}
