package outbox

import (
	"context"
	"sync"
	"time"

	"schakel/store"
)

// Nodes that share a PostgreSQL say that they live by a count in the table node. A node takes another for dead when it has seen
// that count stand still for most of a lease; what the dead one had claimed is due at once. So it is free within the lease, and
// what a living node has claimed stays its own, also past its lease.
//
// Only what was seen counts, by how long it lasted on this machine, which no setting of a clock changes, and no clock of another. Who could not read the table for a while,
// because the database was away or the process stood still, begins to watch anew: after a restart of PostgreSQL
// the nodes that live have beaten again before anybody takes them for dead.
//
// The known hole: a node that is cut off from the database, but not from a receiver, while others are not, may be in the
// middle of an attempt when another takes the delivery over. It starts no other.

const (
	// beatsALease counts how often a node beats in the time of a lease, and looks for the beats of others.
	beatsALease = 6
	// silentBeats is for how many beats a node must be silent to be taken for dead: with one before and one after, a lease.
	silentBeats = 4
	// healing is how long after a silence of its own a node leaves what it claimed itself to those that are about to write what
	// became of it.
	healing = 3 * lastWait
)

// heart is what a node knows of its own life and that of others.
type heart struct {
	mu      sync.Mutex
	beaten  time.Time // when it last beat; zero while it has none
	doubt   time.Time // until when claims may be lost that this node made before it was taken for dead
	healing time.Time // until when outcomes from before a silence may still be written
	looked  time.Time
	seen    map[string]pulse
}

// pulse is the count of another node, and since when it has not changed.
type pulse struct {
	beats int64
	since time.Time
}

func (e *Engine) beatEvery() time.Duration { return max(e.cfg.Lease/beatsALease, time.Millisecond) }

// heartLoop beats and looks for the beats of others, until stopped.
func (e *Engine) heartLoop(ctx context.Context) {
	ticker := time.NewTicker(e.beatEvery())
	defer ticker.Stop()
	for {
		if err := e.beat(ctx); err != nil && ctx.Err() == nil {
			e.cfg.Log.Warn("cannot tell other nodes that this one lives", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// beat says that this node lives, and takes over from those that do not.
func (e *Engine) beat(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, e.cfg.Deadline)
	defer cancel()
	began := e.cfg.Now()
	var known bool
	err := e.cfg.DB.Write(bounded, func(tx *store.Tx) (err error) {
		known, err = tx.Beat(bounded, e.node)
		return err
	})
	if err != nil {
		return err
	}
	e.lives(began, known)
	nodes, err := e.cfg.DB.Nodes(bounded)
	if err != nil {
		return err
	}
	for _, n := range e.silent(nodes, e.cfg.Now()) {
		if err := e.takeOver(bounded, n); err != nil {
			return err
		}
	}
	return nil
}

// lives notes a beat of this node. One that was not known and had beaten before was taken for dead.
func (e *Engine) lives(now time.Time, known bool) {
	h := &e.heart
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.beaten.IsZero() && now.Sub(h.beaten).Abs() > 2*e.beatEvery() {
		h.healing = now.Add(healing)
	}
	if !known && !h.beaten.IsZero() {
		h.doubt = now.Add(e.cfg.Lease + longestAttempt)
		e.cfg.Log.Warn("another node has taken over what this one had claimed: it was silent for too long")
	}
	h.beaten = now
}

// longestAttempt bounds the time of an attempt at any endpoint: twice its time-out.
const longestAttempt = 10 * time.Minute

// silent lists the nodes that are dead, and makes known those that live.
func (e *Engine) silent(nodes []store.Node, now time.Time) (dead []store.Node) {
	h := &e.heart
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.seen == nil || now.Sub(h.looked).Abs() > 2*e.beatEvery() {
		h.seen = make(map[string]pulse)
	}
	h.looked = now
	seen, living := make(map[string]pulse, len(nodes)), []string{}
	if now.Before(h.healing) {
		living = append(living, e.node)
	}
	for _, n := range nodes {
		if n.ID == e.node {
			continue
		}
		p, ok := h.seen[n.ID]
		if !ok || p.beats != n.Beats {
			p = pulse{n.Beats, now}
		}
		seen[n.ID] = p
		if now.Sub(p.since) >= silentBeats*e.beatEvery() {
			dead = append(dead, n)
		} else {
			living = append(living, n.ID)
		}
	}
	h.seen = seen
	e.cfg.DB.SetLiving(living)
	return dead
}

func (e *Engine) takeOver(ctx context.Context, n store.Node) error {
	var done bool
	err := e.cfg.DB.Write(ctx, func(tx *store.Tx) (err error) {
		done, err = tx.BuryNode(ctx, n)
		return err
	})
	if err == nil && done {
		e.cfg.Log.Warn("a node is silent; what it had claimed is free", "node", n.ID)
		e.readyAll()
		signal(e.wake)
	}
	return err
}

// claimsHold reports whether others leave this node what it claimed: it has beaten lately. sure is false for a while after it was
// taken for dead: then each claim has to be looked up.
func (e *Engine) claimsHold() (hold, sure bool) {
	h := &e.heart
	h.mu.Lock()
	defer h.mu.Unlock()
	now := e.cfg.Now()
	if h.beaten.IsZero() { // no other node
		return true, true
	}
	return now.Sub(h.beaten).Abs() < (silentBeats-1)*e.beatEvery(), !now.Before(h.doubt)
}
