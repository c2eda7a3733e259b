package outbox

import (
	"context"
	"time"

	"schakel/store"
)

// A delivery can be handed to its sender as it is written, already leased to this node: it costs no claim and its event is
// not read again. That is done where nothing older waits and the endpoint queue has room; all else waits to be claimed. A crash
// after the commit leaves a lease that ends, as after a claim.

// commitResult holds what a group commit wrote and hands over.
type commitResult struct {
	waiting map[string]struct{} // endpoints with deliveries to be claimed
	handed  map[*endpointQueue][]*store.Claimed
	batches []handedBatches
	epoch   string
	expires bool // an event of it expires
}

// handOver picks the deliveries that this node sends at once, takes the room for them and leases them to it.
func (e *Engine) handOver(tx *store.Tx, index *index, copies []fanoutDelivery) commitResult {
	m := commitResult{waiting: make(map[string]struct{}), handed: make(map[*endpointQueue][]*store.Claimed), epoch: index.epoch}
	now := e.cfg.Now()
	batched := make(map[*endpointQueue][]*fanoutDelivery)
	e.mu.Lock()
	defer e.mu.Unlock()
	current, known := !e.closing.Load() && e.queuesEpoch == index.epoch, e.sendings.Load()
	for i := range copies {
		c := &copies[i]
		q := e.queues[c.EndpointID]
		m.expires = m.expires || !c.ExpiresAt.IsZero()
		if current && q != nil && c.OrderKey == "" && c.target.Sending && q.terms.on() {
			batched[q] = append(batched[q], c)
			continue
		}
		if !current || q == nil || c.OrderKey != "" || !c.target.Sending || !q.takesDirect(now, e.cfg.MaxInFlight-e.held) {
			m.waiting[c.EndpointID] = struct{}{}
			continue
		}
		q.held++
		e.held++
		c.LeaseOwner, c.DueAt = e.node, e.lease(tx.Now.Time, &q.endpoint)
		if known != nil && len(*known) > 0 {
			applySending(&c.Claimed, *known)
		}
		m.handed[q] = append(m.handed[q], &c.Claimed)
	}
	for q, list := range batched {
		e.handBatches(tx, &m, q, list, now)
	}
	return m
}

// handedShare divides the engine's free room: one queue may take this part of it with what it is handed. Slow endpoints leave
// the others room however many there are (guarantee G6).
const handedShare = 4

// claimedShare divides it for what a queue claims, and for what it is handed in batches.
const claimedShare = 2

// takesDirect reports whether a new delivery may go to its sender at once: the endpoint is open and nothing older waits. free
// is the room of the whole engine. A queue is handed more than it would claim, for what it cannot take costs a claim later.
func (q *endpointQueue) takesDirect(now time.Time, free int) bool {
	return q.acceptsDirect(now) && !q.terms.on() && free > 0 && q.held < max(q.capacity(), free/handedShare) && (q.limiter == nil || q.held < int(q.endpoint.RatePerSecond))
}

// acceptsDirect reports whether the endpoint is open and nothing older waits.
func (q *endpointQueue) acceptsDirect(now time.Time) bool {
	if q.ready || q.endpoint.Status != store.EndpointActive || q.backoff.active(now) || q.backoff.width > 0 || q.circuit.open() || q.closed(now) {
		return false
	}
	return q.due.IsZero() || now.Before(q.due)
}

// releaseRoom gives back the room of what was not committed.
func (e *Engine) releaseRoom(m commitResult) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for q, claims := range m.handed {
		q.held -= len(claims)
		e.held -= len(claims)
	}
	for _, b := range m.batches {
		b.queue.held -= len(b.copies)
		e.held -= len(b.copies)
	}
}

// sendHanded starts the senders of what is committed. When the engine stops meanwhile, its end frees the leases.
func (e *Engine) sendHanded(m commitResult) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.draining {
		return
	}
	for q, claims := range m.handed {
		e.stats.handed.Add(int64(len(claims)))
		e.start(q, claimedWork{singles: claims}, m.epoch, false)
	}
	for _, b := range m.batches {
		e.stats.handed.Add(int64(len(b.copies)))
		e.start(b.queue, b.work, m.epoch, false)
	}
}

// handedBatches holds new deliveries of one endpoint that are sent in batches as they are written.
type handedBatches struct {
	queue    *endpointQueue
	terms    terms
	endpoint store.Endpoint
	copies   []*fanoutDelivery
	work     claimedWork
}

// handBatches takes the room for what fills whole batches. The rest goes too when the endpoint does not ask to wait for more, and
// takes another request now; or else it waits to be claimed, where it gathers others. The caller holds the mutex.
func (e *Engine) handBatches(tx *store.Tx, m *commitResult, q *endpointQueue, list []*fanoutDelivery, now time.Time) {
	n := 0
	if q.acceptsDirect(now) {
		free := e.cfg.MaxInFlight - e.held
		n = min(len(list), max(q.capacity(), (free+q.held)/claimedShare)-q.held, free/claimedShare)
		if n = max(0, n); q.terms.wait > 0 || int(q.requests.Load()) >= cap(q.slots) {
			n = n / q.terms.events * q.terms.events
		}
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
	var frozen []*store.Batch
	for i := range m.batches {
		h := &m.batches[i]
		rows, byID := make([]store.Claimed, len(h.copies)), make(map[string]*fanoutDelivery, len(h.copies))
		for j, c := range h.copies {
			rows[j], byID[c.ID] = c.Claimed, c
		}
		e.setSending(rows)
		s := batcher{e: e, tx: tx, terms: h.terms, endpoint: h.endpoint, unwritten: true}
		if err := s.all(ctx, rows); err != nil {
			return err
		}
		h.work = s.work
		for _, c := range s.work.singles {
			byID[c.ID].Claimed = *c
		}
		for _, b := range s.work.batches {
			frozen = append(frozen, &b.batch)
			for _, c := range b.members {
				byID[c.ID].Claimed = c
			}
		}
	}
	return tx.InsertBatches(ctx, frozen)
}
