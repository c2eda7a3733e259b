package outbox

import (
	"time"

	"schakel/store"
)

// A delivery can be handed to its sender as it is written, already leased to this node: it costs no claim and its event is
// not read again. That is done where nothing older waits and the lane has room; all else waits to be claimed. A crash
// after the commit leaves a lease that ends, as after a claim.

// made is what a group commit made.
type made struct {
	waiting map[string]struct{} // endpoints with deliveries to be claimed
	handed  map[*lane][]*store.Claimed
	bundled []handedBatches
	epoch   string
	expires bool // an event of it expires
}

// hand picks the deliveries that this node sends at once, takes the room for them and leases them to it.
func (e *Engine) hand(tx *store.Tx, index *index, copies []copyOf) made {
	m := made{waiting: make(map[string]struct{}), handed: make(map[*lane][]*store.Claimed), epoch: index.epoch}
	now := e.cfg.Now()
	together := make(map[*lane][]*copyOf)
	e.mu.Lock()
	defer e.mu.Unlock()
	current := !e.closing.Load() && e.laneEpoch == index.epoch
	for i := range copies {
		c := &copies[i]
		l := e.lanes[c.EndpointID]
		m.expires = m.expires || !c.ExpiresAt.IsZero()
		if current && l != nil && c.OrderKey == "" && c.target.Sending && l.terms.on() {
			together[l] = append(together[l], c)
			continue
		}
		if !current || l == nil || c.OrderKey != "" || !c.target.Sending || !l.takes(now, e.cfg.MaxInFlight-e.held) {
			m.waiting[c.EndpointID] = struct{}{}
			continue
		}
		l.held++
		e.held++
		c.LeaseOwner, c.DueAt, c.Retry = e.node, e.lease(tx.Now.Time, &l.endpoint), e.retryOf(c.SubscriptionID)
		m.handed[l] = append(m.handed[l], &c.Claimed)
	}
	for l, list := range together {
		e.handTogether(tx, &m, l, list, now)
	}
	return m
}

// share is the part of the engine's free room that one lane may take with what it is handed. A lane that hardly moves leaves
// the others room however many like it there are (guarantee G6).
const share = 4

// largeShare is that part for what a lane claims, and for what it is handed in batches.
const largeShare = 2

// takes tells whether a new delivery may go to its sender at once: the lane is open and nothing older waits. free is the
// room of the whole engine. A lane is handed more than it would claim, for what it cannot take costs a claim later.
func (l *lane) takes(now time.Time, free int) bool {
	return l.idle(now) && !l.terms.on() && free > 0 && l.held < max(l.most(), free/share) && (l.limiter == nil || l.held < int(l.endpoint.RatePerSecond))
}

// idle tells whether the lane is open and nothing older waits.
func (l *lane) idle(now time.Time) bool {
	if l.ready || l.endpoint.Status != store.EndpointActive || l.pause.holds(now) || l.pause.width > 0 || l.circuit.open() || l.closed(now) {
		return false
	}
	return l.due.IsZero() || now.Before(l.due)
}

// letGo gives back the room of what was not committed.
func (e *Engine) letGo(m made) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for l, claims := range m.handed {
		l.held -= len(claims)
		e.held -= len(claims)
	}
	for _, b := range m.bundled {
		b.lane.held -= len(b.copies)
		e.held -= len(b.copies)
	}
}

// sendHanded starts the senders of what is committed. When the engine stops meanwhile, its end frees the leases.
func (e *Engine) sendHanded(m made) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.draining {
		return
	}
	for l, claims := range m.handed {
		e.stats.handed.Add(int64(len(claims)))
		e.start(l, load{singles: claims}, m.epoch, false)
	}
	for _, b := range m.bundled {
		e.stats.handed.Add(int64(len(b.copies)))
		e.start(b.lane, b.load, m.epoch, false)
	}
}
