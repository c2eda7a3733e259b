package outbox

import "schakel/store"

// queues places the deliveries of each key that were claimed together: all in one send task, one after the other, or in
// one batch. What cannot is given back.
type queues struct {
	of   map[queueKey]*queue
	back []store.Lease
}

type queueKey struct{ subscription, key string }

// queue holds the place of the first delivery of a key.
type queue struct {
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

// begin notes where a delivery goes, when it is the first of its key.
func (q *queues) begin(c *store.Claimed, to place) {
	if c.OrderKey == "" || q.of[keyOf(c)] != nil {
		return
	}
	if q.of == nil {
		q.of = make(map[queueKey]*queue)
	}
	q.of[keyOf(c)] = &queue{place: to, head: c.ID, full: to == elsewhere}
}

// giveBack leaves out a delivery, and with it all that come behind.
func (q *queues) giveBack(c *store.Claimed) {
	q.back = append(q.back, store.LeaseOf(&c.Delivery))
	q.close(c)
}

// close lets nothing more follow in the queue of a delivery.
func (q *queues) close(c *store.Claimed) {
	if known := q.of[keyOf(c)]; known != nil {
		known.full = true
	}
}

func (q *queues) closeOf(members []store.Claimed) {
	for i := range members {
		q.close(&members[i])
	}
}

// closed reports whether a delivery may not follow the others of its key.
func (q *queues) closed(c *store.Claimed) bool {
	known := q.of[keyOf(c)]
	return known != nil && known.full
}

// follows reports whether a delivery can go where those before it with its key went.
func (s *sorting) follows(c *store.Claimed) bool {
	known := s.queues.of[keyOf(c)]
	if known == nil || known.full {
		return false
	}
	fresh := s.terms.on() && !c.Alone && c.Round == 0 && c.BatchID == ""
	return fresh == (known.place == inBatch)
}

// single adds a delivery that goes by itself, or follows another.
func (s *sorting) single(c *store.Claimed) {
	if known := s.queues.of[keyOf(c)]; known != nil && c.OrderKey != "" {
		if s.load.after == nil {
			s.load.after = make(map[string][]*store.Claimed)
		}
		s.load.after[known.head] = append(s.load.after[known.head], c)
		return
	}
	s.queues.begin(c, alone)
	s.load.singles = append(s.load.singles, c)
}
