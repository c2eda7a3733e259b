package outbox

import (
	"time"

	"schakel/store"
)

// Deliveries of one key go one after the other (guarantee G5). So that a key with a backlog need not wait for the database
// between any two of them, the node that claims the first claims those right behind it too: a run. One send task sends a run
// in its order and hands over each outcome as it comes; they are written in batches. It ends at the first delivery that did
// not arrive, or when it has taken its slot for long enough, and gives back the rest. A run takes the place of one
// delivery in its endpoint queue.
//
// After a crash in the middle of a run it begins again with the first outcome that was not written: the receiver sees some
// of it twice, in the same order, under the same ids and keys.

const (
	// firstRun bounds the deliveries that follow the first one of a key in an endpoint's first runs.
	firstRun = 16
	// longestRun bounds them, and what one claim takes for runs.
	longestRun = 512
	// runTime bounds a run: then it leaves its slot to others.
	runTime = 500 * time.Millisecond
	// runShare divides the room for deliveries in flight: runs may take this part of it.
	runShare = 4
)

// following counts the deliveries that follow others in runs. The caller holds the mutex.
func (e *Engine) following() int {
	places := 0
	for _, q := range e.queues {
		places += q.held
	}
	return max(0, e.held-places)
}

// behind bounds the deliveries that may be claimed behind others of their key, given the room left in all, and those of one key.
func (q *endpointQueue) behind(claimed, room int) (most, each int) {
	if q.runLength == 0 || q.circuit.open() || q.backoff.width > 0 {
		return 0, 0
	}
	most, each = min(longestRun, room), q.runLength
	if q.terms.on() { // they go into the batch of the first
		most, each = min(most, q.capacity()-q.held-claimed), q.terms.events-1
	}
	if q.limiter != nil {
		most = min(most, q.perRequest()*int(q.endpoint.RatePerSecond)-q.held-claimed)
	}
	return max(0, most), each
}

// adaptRun adapts the length of runs to what the receiver takes in a part of runTime.
func (q *endpointQueue) adaptRun(sent int, whole bool, took time.Duration) {
	switch {
	case took >= runTime:
		q.runLength = max(1, sent/2)
	case whole && took < runTime/4 && sent >= q.runLength:
		q.runLength = min(2*q.runLength, longestRun)
	}
}

// sendRun sends a delivery and those that follow it.
func (e *Engine) sendRun(task sendTask) {
	began := e.cfg.Now()
	run := append([]*store.Claimed{task.single}, task.followers...)
	sent := 0
	for sent < len(run) {
		done := e.attempt(&task, run[sent])
		sent++
		arrived := done.outcome != nil && done.result.Status == store.DeliveryDelivered
		if rest := run[sent:]; len(rest) > 0 && (!arrived || e.cfg.Now().Sub(began).Abs() >= runTime) {
			e.outcomes <- sendResult{group: giveBack(&task, done, rest)}
			break
		}
		done.inRun = sent < len(run)
		e.outcomes <- done
	}
	e.mu.Lock()
	task.queue.adaptRun(sent, sent == len(run), e.cfg.Now().Sub(began).Abs())
	e.mu.Unlock()
}

// giveBack ends a run with an outcome and the deliveries after it, which were not tried. They are written together.
func giveBack(task *sendTask, done sendResult, rest []*store.Claimed) []sendResult {
	done.inRun = true
	group := []sendResult{done}
	for i, c := range rest {
		f := untried(task.queue, task.ep, c)
		f.inRun = i < len(rest)-1
		group = append(group, f)
	}
	return group
}

// keyQueues places the deliveries of each key that were claimed together: all in one send task, one after the other, or in one
// batch. It gives back the rest.
type keyQueues struct {
	of   map[queueKey]*keyQueue
	back []store.Lease
}

type queueKey struct{ subscription, key string }

// keyQueue holds the place of the first delivery of a key.
type keyQueue struct {
	place place
	head  string // its id
	full  bool   // nothing may follow any more
}

type place int

const (
	alone     place = iota // a send task of its own
	inBatch                // a batch that is being filled
	elsewhere              // a batch that was made before
)

func keyOf(c *store.Claimed) queueKey { return queueKey{c.SubscriptionID, c.OrderKey} }

// begin notes the place of a delivery, when it is the first of its key.
func (q *keyQueues) begin(c *store.Claimed, to place) {
	if c.OrderKey == "" || q.of[keyOf(c)] != nil {
		return
	}
	if q.of == nil {
		q.of = make(map[queueKey]*keyQueue)
	}
	q.of[keyOf(c)] = &keyQueue{place: to, head: c.ID, full: to == elsewhere}
}

// giveBack leaves out a delivery, and with it all behind it.
func (q *keyQueues) giveBack(c *store.Claimed) {
	q.back = append(q.back, store.LeaseOf(&c.Delivery))
	q.close(c)
}

// close lets nothing more follow in the queue of a delivery.
func (q *keyQueues) close(c *store.Claimed) {
	if known := q.of[keyOf(c)]; known != nil {
		known.full = true
	}
}

func (q *keyQueues) closeOf(members []store.Claimed) {
	for i := range members {
		q.close(&members[i])
	}
}

// closed reports whether a delivery may not follow the others of its key.
func (q *keyQueues) closed(c *store.Claimed) bool {
	known := q.of[keyOf(c)]
	return known != nil && known.full
}

// follows reports whether a delivery can go where those before it with its key went.
func (s *batcher) follows(c *store.Claimed) bool {
	known := s.keys.of[keyOf(c)]
	if known == nil || known.full {
		return false
	}
	fresh := s.terms.on() && !c.Alone && c.Round == 0 && c.BatchID == ""
	return fresh == (known.place == inBatch)
}

// single adds a delivery that goes by itself, or follows another.
func (s *batcher) single(c *store.Claimed) {
	if known := s.keys.of[keyOf(c)]; known != nil && c.OrderKey != "" {
		if s.work.followers == nil {
			s.work.followers = make(map[string][]*store.Claimed)
		}
		s.work.followers[known.head] = append(s.work.followers[known.head], c)
		return
	}
	s.keys.begin(c, alone)
	s.work.singles = append(s.work.singles, c)
}
