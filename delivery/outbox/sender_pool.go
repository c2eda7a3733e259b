package outbox

import (
	"sync"
	"sync/atomic"

	"schakel/store"
)

// sendTask is a claimed delivery, a run or a batch for a sender.
type sendTask struct {
	queue     *endpointQueue
	ep        *store.Endpoint
	slots     chan struct{}
	single    *store.Claimed
	followers []*store.Claimed // the rest of a run
	batch     *frozenBatch     // in place of single
	epoch     string
	probe     bool // the single request after a backoff of the endpoint
}

// senderPool holds idle senders that wait for another send task. A new goroutine would grow its stack again for each request,
// which costs as much as encoding the event.
type senderPool struct {
	tasks   chan sendTask
	stopped chan struct{} // closed when the engine stops
	once    sync.Once
	idle    atomic.Int64
}

// maxIdle bounds the idle senders.
const maxIdle = 128

func newSenderPool() *senderPool {
	return &senderPool{tasks: make(chan sendTask), stopped: make(chan struct{})}
}

// stop ends the idle senders.
func (c *senderPool) stop() { c.once.Do(func() { close(c.stopped) }) }

// dispatch gives a send task to an idle sender, or to a new one. It does not block. An engine that was not started has no
// pool.
func (e *Engine) dispatch(task sendTask) {
	e.senders.Add(1)
	if e.pool != nil {
		select {
		case e.pool.tasks <- task:
			return
		default:
		}
	}
	go e.runSender(task)
}

// runSender sends one task after another, until the pool has no use for it.
func (e *Engine) runSender(task sendTask) {
	for ok := true; ok; task, ok = e.pool.next() {
		if task.batch != nil {
			e.sendBatch(task)
		} else {
			e.send(task)
		}
	}
}

// next waits for another send task; none comes when enough senders are idle already, or the engine stops.
func (c *senderPool) next() (task sendTask, ok bool) {
	if c == nil {
		return sendTask{}, false
	}
	defer c.idle.Add(-1)
	if c.idle.Add(1) > maxIdle {
		return sendTask{}, false
	}
	select {
	case task = <-c.tasks:
		return task, true
	case <-c.stopped:
		return sendTask{}, false
	}
}
