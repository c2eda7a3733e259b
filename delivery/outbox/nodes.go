package outbox

import (
	"context"
	"strings"
	"sync"
	"time"

	"schakel/store"
)

// maxNotified bounds the endpoints named in one notification, which may have 7,999 bytes; with more, nodes look at all.
const maxNotified = 200

// notifyNodes wakes the other nodes for new deliveries to endpoints, once the transaction is committed.
func (e *Engine) notifyNodes(ctx context.Context, tx *store.Tx, endpoints map[string]struct{}) error {
	if len(endpoints) == 0 {
		return nil
	}
	words := []string{e.node}
	if len(endpoints) > maxNotified {
		words = append(words, "*")
	} else {
		for id := range endpoints {
			words = append(words, id)
		}
	}
	return tx.Notify(ctx, strings.Join(words, " "))
}

// listenLoop listens to the notifications of other nodes. While it cannot, the poll finds the work.
func (e *Engine) listenLoop(ctx context.Context) {
	for ctx.Err() == nil {
		// Notifications from before the connection are lost: changed makes up for them.
		err := e.cfg.DB.Listen(ctx, e.changed, e.onNotification)
		if err == nil || ctx.Err() != nil {
			continue
		}
		e.cfg.Log.Warn("cannot listen to other nodes; looking for work every poll instead", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(e.cfg.Poll):
		}
	}
}

func (e *Engine) onNotification(payload string) {
	if payload == store.NotifyChanged {
		e.changed()
		return
	}
	words := strings.Fields(payload)
	if len(words) < 2 || words[0] == e.node {
		return
	}
	if words[1] == waitWord && len(words) == 4 {
		e.onWaitNotification(words[2], words[3])
		return
	}
	if words[1] == "*" {
		e.wakeAll()
		return
	}
	ids := make(map[string]struct{}, len(words))
	for _, id := range words[1:] {
		ids[id] = struct{}{}
	}
	e.ready(ids)
}

// Nodes that share a PostgreSQL prove that they live by a count in the table node. A node takes another for dead when it has seen
// that count stand still for most of a lease; the claims of the dead one are due at once. So they are free within the lease, and
// the claims of a living node stay its own, also past its lease.
//
// Only what a node saw counts, by how long it lasted on its own monotonic clock. A node that could not read the table for a while,
// because the database was away or the process stood still, begins to watch again: after a restart of PostgreSQL the living nodes
// have beaten again before another takes them for dead.
//
// The known hole: a node that is cut off from the database, but not from a receiver, while others are not, may be in the
// middle of an attempt when another takes the delivery over. It starts no other.

const (
	// beatsPerLease is the number of heartbeats, and of looks for those of others, in the time of a lease.
	beatsPerLease = 6
	// silentBeats missed heartbeats make a node dead: with one before and one after, a lease.
	silentBeats = 4
	// recoveryTime is the time after a silence of its own in which a node leaves its claims to those that are about to write
	// their outcomes.
	recoveryTime = 3 * lastWait
)

// heartbeat holds what a node knows of its own life and of that of others.
type heartbeat struct {
	mu            sync.Mutex
	lastBeat      time.Time // zero while it has none
	doubtUntil    time.Time // until then claims may be lost that this node made before it was taken for dead
	recoversUntil time.Time // until then outcomes from before a silence may still be written
	lastLook      time.Time
	peers         map[string]peerBeat
}

// peerBeat is the count of another node, and since when it has not changed.
type peerBeat struct {
	beats int64
	since time.Time
}

func (e *Engine) heartbeatInterval() time.Duration {
	return max(e.cfg.Lease/beatsPerLease, time.Millisecond)
}

func (e *Engine) heartbeatLoop(ctx context.Context) {
	every(ctx, e.heartbeatInterval(), func() {
		if err := e.beat(ctx); err != nil && ctx.Err() == nil {
			e.cfg.Log.Warn("write heartbeat failed", "error", err)
		}
	})
}

// beat writes a heartbeat of this node, and takes over from dead nodes.
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
	e.noteBeat(began, known)
	nodes, err := e.cfg.DB.Nodes(bounded)
	if err != nil {
		return err
	}
	for _, n := range e.silentNodes(nodes, e.cfg.Now()) {
		if err := e.takeOver(bounded, n); err != nil {
			return err
		}
	}
	return nil
}

// noteBeat notes a heartbeat of this node. A node that was not known and had beaten before was taken for dead.
func (e *Engine) noteBeat(now time.Time, known bool) {
	h := &e.heartbeat
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.lastBeat.IsZero() && now.Sub(h.lastBeat).Abs() > 2*e.heartbeatInterval() {
		h.recoversUntil = now.Add(recoveryTime)
	}
	if !known && !h.lastBeat.IsZero() {
		h.doubtUntil = now.Add(e.cfg.Lease + longestAttempt)
		e.cfg.Log.Warn("another node has taken over the claims of this one: it was silent for too long")
	}
	h.lastBeat = now
}

// longestAttempt bounds the time of an attempt at any endpoint: twice its time-out.
const longestAttempt = 10 * time.Minute

// silentNodes returns the dead nodes, and sets the living ones in the database.
func (e *Engine) silentNodes(nodes []store.Node, now time.Time) (dead []store.Node) {
	h := &e.heartbeat
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.peers == nil || now.Sub(h.lastLook).Abs() > 2*e.heartbeatInterval() {
		h.peers = make(map[string]peerBeat)
	}
	h.lastLook = now
	seen, living := make(map[string]peerBeat, len(nodes)), []string{}
	if now.Before(h.recoversUntil) {
		living = append(living, e.node)
	}
	for _, n := range nodes {
		if n.ID == e.node {
			continue
		}
		p, ok := h.peers[n.ID]
		if !ok || p.beats != n.Beats {
			p = peerBeat{n.Beats, now}
		}
		seen[n.ID] = p
		if now.Sub(p.since) >= silentBeats*e.heartbeatInterval() {
			dead = append(dead, n)
		} else {
			living = append(living, n.ID)
		}
	}
	h.peers = seen
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
		e.cfg.Log.Warn("a node is silent; its claims are released", "node", n.ID)
		e.wakeAll()
	}
	return err
}

// claimsHold reports whether other nodes respect the claims of this one: it has beaten lately. sure is false for a while after
// it was taken for dead: then each claim has to be looked up.
func (e *Engine) claimsHold() (hold, sure bool) {
	h := &e.heartbeat
	h.mu.Lock()
	defer h.mu.Unlock()
	now := e.cfg.Now()
	if h.lastBeat.IsZero() { // no other node
		return true, true
	}
	return now.Sub(h.lastBeat).Abs() < (silentBeats-1)*e.heartbeatInterval(), !now.Before(h.doubtUntil)
}
