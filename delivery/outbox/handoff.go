package outbox

import (
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

// hand picks the deliveries that this node sends at once, takes the room for them and leases them to it.
func (e *Engine) hand(tx *store.Tx, index *index, copies []copyOf) commitResult {
	m := commitResult{waiting: make(map[string]struct{}), handed: make(map[*endpointQueue][]*store.Claimed), epoch: index.epoch}
	now := e.cfg.Now()
	batched := make(map[*endpointQueue][]*copyOf)
	e.mu.Lock()
	defer e.mu.Unlock()
	current := !e.closing.Load() && e.queuesEpoch == index.epoch
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
		c.LeaseOwner, c.DueAt, c.Retry = e.node, e.lease(tx.Now.Time, &q.endpoint), e.retryOf(c.SubscriptionID)
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
