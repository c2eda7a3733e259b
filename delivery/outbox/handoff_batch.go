package outbox

import (
	"context"
	"time"

	"schakel/store"
)

// handedBatches holds new deliveries of one endpoint that are sent in batches as they are written.
type handedBatches struct {
	queue    *endpointQueue
	terms    terms
	endpoint store.Endpoint
	copies   []*copyOf
	work     claimedWork
}

// handBatches takes the room for what fills whole batches. The rest waits to be claimed, where it gathers others. The caller
// holds the mutex.
func (e *Engine) handBatches(tx *store.Tx, m *commitResult, q *endpointQueue, list []*copyOf, now time.Time) {
	n := 0
	if q.acceptsDirect(now) {
		free := e.cfg.MaxInFlight - e.held
		n = min(len(list), max(q.capacity(), (free+q.held)/claimedShare)-q.held, free/claimedShare)
		n = max(0, n) / q.terms.events * q.terms.events
	}
	if n < len(list) {
		m.waiting[q.endpoint.ID] = struct{}{}
	}
	if n == 0 {
		return
	}
	q.held += n
	e.held += n
	for _, c := range list[:n] {
		c.LeaseOwner, c.DueAt = e.node, e.lease(tx.Now.Time, &q.endpoint)
	}
	m.batches = append(m.batches, handedBatches{queue: q, terms: q.terms, endpoint: q.endpoint, copies: list[:n]})
}

// freezeHanded freezes the batches that handBatches picked, and marks the deliveries that are still to be written.
func (e *Engine) freezeHanded(ctx context.Context, tx *store.Tx, m *commitResult) error {
	for i := range m.batches {
		h := &m.batches[i]
		rows, byID := make([]store.Claimed, len(h.copies)), make(map[string]*copyOf, len(h.copies))
		for j, c := range h.copies {
			rows[j], byID[c.ID] = c.Claimed, c
		}
		e.setRetries(rows)
		s := batcher{e: e, tx: tx, terms: h.terms, endpoint: h.endpoint, unwritten: true}
		if err := s.all(ctx, rows); err != nil {
			return err
		}
		h.work = s.work
		for _, c := range s.work.singles {
			byID[c.ID].Claimed = *c
		}
		for _, b := range s.work.batches {
			for _, c := range b.members {
				byID[c.ID].Claimed = c
			}
		}
	}
	return nil
}
