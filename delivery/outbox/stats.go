package outbox

import (
	"sync/atomic"

	"schakel/store"
)

type stats struct {
	accepted, duplicates, handed, delivered, retried, held, dead, expired atomic.Int64
}

// Stats is a reading of the engine's counters, all since the start of the process but InFlight.
type Stats struct {
	Accepted, Duplicates           int64 // events
	Handed                         int64 // new deliveries that went to their senders without a claim
	Delivered, Retried, Held, Dead int64 // outcomes of attempts
	Expired                        int64 // deliveries discarded because their event expired
	InFlight                       int   // deliveries this node holds now
}

// Stats reads the counters.
func (e *Engine) Stats() Stats {
	e.mu.Lock()
	inFlight := e.held
	e.mu.Unlock()
	s := &e.stats
	return Stats{
		Accepted: s.accepted.Load(), Duplicates: s.duplicates.Load(), Handed: s.handed.Load(), Delivered: s.delivered.Load(), Retried: s.retried.Load(),
		Held: s.held.Load(), Dead: s.dead.Load(), Expired: s.expired.Load(), InFlight: inFlight,
	}
}

func (s *stats) accept(r Receipt) {
	for _, a := range r.Events {
		if a.Duplicate {
			s.duplicates.Add(1)
		} else {
			s.accepted.Add(1)
		}
	}
}

func (s *stats) outcome(status string) {
	switch status {
	case store.DeliveryDelivered:
		s.delivered.Add(1)
	case store.DeliveryRetrying:
		s.retried.Add(1)
	case store.DeliveryHeld:
		s.held.Add(1)
	case store.DeliveryDead:
		s.dead.Add(1)
	}
}
