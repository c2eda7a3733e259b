package outbox

import (
	"context"
	"time"

	"schakel/store"
)

// handedBatches are new deliveries that go out in batches as they are written.
type handedBatches struct {
	lane     *lane
	terms    terms
	endpoint store.Endpoint
	copies   []*copyOf
	load     load
}

// handTogether takes the room for what fills whole batches. The rest waits to be claimed, where it gathers others. The caller
// holds the mutex.
func (e *Engine) handTogether(tx *store.Tx, m *made, l *lane, list []*copyOf, now time.Time) {
	n := 0
	if l.idle(now) {
		free := e.cfg.MaxInFlight - e.held
		n = min(len(list), max(l.most(), (free+l.held)/largeShare)-l.held, free/largeShare)
		n = max(0, n) / l.terms.events * l.terms.events
	}
	if n < len(list) {
		m.waiting[l.endpoint.ID] = struct{}{}
	}
	if n == 0 {
		return
	}
	l.held += n
	e.held += n
	for _, c := range list[:n] {
		c.LeaseOwner, c.DueAt = e.node, e.lease(tx.Now.Time, &l.endpoint)
	}
	m.bundled = append(m.bundled, handedBatches{lane: l, terms: l.terms, endpoint: l.endpoint, copies: list[:n]})
}

// bundle freezes the batches that handTogether picked, and marks the deliveries that are still to be written.
func (e *Engine) bundle(ctx context.Context, tx *store.Tx, m *made) error {
	for i := range m.bundled {
		h := &m.bundled[i]
		rows, byID := make([]store.Claimed, len(h.copies)), make(map[string]*copyOf, len(h.copies))
		for j, c := range h.copies {
			rows[j], byID[c.ID] = c.Claimed, c
		}
		e.setRetries(rows)
		s := sorting{e: e, tx: tx, terms: h.terms, endpoint: h.endpoint, unwritten: true}
		if err := s.all(ctx, rows); err != nil {
			return err
		}
		h.load = s.load
		for _, c := range s.load.singles {
			byID[c.ID].Claimed = *c
		}
		for _, b := range s.load.bundles {
			for _, c := range b.members {
				byID[c.ID].Claimed = c
			}
		}
	}
	return nil
}
