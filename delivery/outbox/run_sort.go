package outbox

import "schakel/store"

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
