package outbox

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"schakel/store"
)

// lanesPerClaim bounds the endpoints one transaction claims for, so that intake does not wait long for the writer.
const lanesPerClaim = 64

// ready wakes the lanes of the endpoints that have new deliveries.
func (e *Engine) ready(endpoints map[string]struct{}) {
	if len(endpoints) == 0 {
		return
	}
	e.cfg.OnReady(endpoints)
	e.mu.Lock()
	for id := range endpoints {
		if l := e.lanes[id]; l != nil {
			l.ready = true
		}
	}
	e.mu.Unlock()
	signal(e.wake)
}

// dispatchLoop claims what is due and hands it to the senders, until stopped.
func (e *Engine) dispatchLoop(ctx context.Context) {
	var polled time.Time
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		now := e.cfg.Now()
		if now.Sub(polled).Abs() >= e.cfg.Poll { // also when the clock was set back
			polled = now
			e.readyAll()
		}
		err := e.refreshLanes(ctx)
		if err == nil {
			err = e.claimDue(ctx)
		}
		wait := e.cfg.Poll
		if err != nil && ctx.Err() == nil {
			e.cfg.Log.Error("dispatch failed", "error", err)
			wait = time.Second
		} else if next := e.nextLook(now); !next.IsZero() {
			wait = min(wait, max(0, next.Sub(now)))
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
		case <-e.wake:
		case <-timer.C:
		}
	}
}

func (e *Engine) readyAll() {
	e.cfg.OnReady(nil)
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, l := range e.lanes {
		l.ready = true
	}
}

// refreshLanes reads the endpoints again when something about them changed since it last did.
func (e *Engine) refreshLanes(ctx context.Context) error {
	seen, err := e.cfg.DB.FanoutEpoch(ctx)
	if err != nil || seen == e.laneEpoch {
		return err
	}
	endpoints, err := e.cfg.DB.Endpoints(ctx, "")
	if err != nil {
		return fmt.Errorf("read endpoints: %w", err)
	}
	retries, err := e.cfg.DB.Retries(ctx)
	if err != nil {
		return fmt.Errorf("read retry schedules: %w", err)
	}
	e.retries.Store(&retries)
	e.mu.Lock()
	defer e.mu.Unlock()
	known := make(map[string]bool, len(endpoints))
	for _, ep := range endpoints {
		if e.cfg.Ways[ep.Kind] == nil {
			continue
		}
		known[ep.ID] = true
		l := e.lanes[ep.ID]
		if l == nil {
			l = newLane(ep)
			e.lanes[ep.ID] = l
		} else {
			l.configure(ep)
			l.ready = true
		}
		l.learn(store.EndpointWait{EndpointID: ep.ID, Until: ep.WaitUntil, ProbeOwner: ep.ProbeOwner}, e.node)
		e.tellUnreadable(l)
	}
	for id := range e.lanes {
		if !known[id] {
			delete(e.lanes, id)
		}
	}
	e.laneEpoch = seen
	return nil
}

// order is a claim to be made for a lane.
type order struct {
	lane  *lane
	room  int
	terms terms
	tests bool // only test events
	probe bool // the single request after a pause of the endpoint
	// behind is how many deliveries may come along behind others of the same key, and each how many of one key.
	behind, each int
	again        bool // only what was tried before: the rest waits to fill a batch
}

// orders lists the lanes with room, those that hold least first, so that no lane starves behind a busy one.
func (e *Engine) orders() []order {
	now := e.cfg.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	free := e.cfg.MaxInFlight - e.held
	var orders []order
	for _, l := range e.lanes {
		if !l.ready && !l.due.IsZero() && !now.Before(l.next()) {
			l.ready = true
		}
		if room := l.room(now); room > 0 {
			orders = append(orders, order{lane: l, room: room, terms: l.terms, probe: l.pause.probe})
		} else if room := l.testRoom(now); room > 0 {
			orders = append(orders, order{lane: l, room: room, tests: true, probe: l.pause.probe})
		}
	}
	slices.SortFunc(orders, func(a, b order) int { return a.lane.held - b.lane.held })
	orders = orders[:min(len(orders), lanesPerClaim)]
	runs := e.cfg.MaxInFlight/runShare - e.following()
	for i := range orders {
		o := &orders[i]
		o.room = min(o.room, max(0, (free+1)/largeShare))
		free -= o.room
		if !o.tests {
			o.behind, o.each = o.lane.behind(o.room, max(0, min(runs, free)/largeShare))
			free, runs = free-o.behind, runs-o.behind
		}
	}
	return slices.DeleteFunc(orders, func(o order) bool { return o.room == 0 })
}

// claimDue claims for the lanes with room, round after round, until no lane has more.
func (e *Engine) claimDue(ctx context.Context) error {
	for ctx.Err() == nil {
		if hold, _ := e.claimsHold(); !hold {
			return nil // what it claims now might be taken from it: the next poll looks again
		}
		orders := e.orders()
		if len(orders) == 0 {
			return nil
		}
		if err := e.claim(ctx, orders); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (e *Engine) claim(ctx context.Context, orders []order) error {
	// Whatever becomes due after this point sets ready again.
	e.mu.Lock()
	for _, o := range orders {
		o.lane.ready, o.lane.tests, o.lane.lookAt = o.tests, false, time.Time{}
	}
	e.mu.Unlock()
	ctx, cancel := e.bounded(ctx)
	defer cancel()
	looks, err := e.fillAll(ctx, orders)
	if err != nil {
		return err
	}
	claims := make([]load, len(orders))
	next := make([]store.Time, len(orders))
	var epoch string
	err = e.cfg.DB.Write(ctx, func(tx *store.Tx) (err error) {
		if epoch, err = tx.FanoutEpoch(ctx); err != nil {
			return err
		}
		waits, err := e.waits(ctx, tx)
		if err != nil {
			return err
		}
		for i, o := range orders {
			if claims[i], err = e.takeHeeding(ctx, tx, o, waits); err != nil {
				return fmt.Errorf("claim deliveries: %w", err)
			}
			if claims[i].wait != nil || claims[i].claimed == o.room || o.tests || !looks[i].IsZero() {
				continue
			}
			if next[i], err = tx.NextDue(ctx, o.lane.endpoint.ID, e.node); err != nil {
				return fmt.Errorf("read next due time: %w", err)
			}
		}
		return nil
	})
	if err == nil && epoch != e.laneEpoch {
		// An endpoint may have another address since its lane was read: nothing goes to the old one any more (EDU-07a). When
		// this fails the database is away, and what was claimed comes back when its lease ends.
		err = e.refreshLanes(ctx)
		epoch = "" // what was claimed rests on lanes as they were, perhaps of an endpoint that is paused by now: each asks before it begins
	}
	now := e.cfg.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	for i, o := range orders {
		o.lane.due = notYet(next[i].Time, now)
		if err != nil || claims[i].claimed == o.room || claims[i].again {
			o.lane.ready = true
		}
		if !looks[i].IsZero() && claims[i].claimed < o.room {
			o.lane.ready, o.lane.lookAt = true, looks[i]
		}
		if w := claims[i].wait; w != nil {
			o.lane.ready = true
			o.lane.heed(*w, e.node)
		}
		if err == nil {
			e.launch(o, claims[i], epoch)
		}
	}
	return err
}

// notYet keeps a lane from asking in circles for what is due and yet could not be claimed: another node takes it at this
// moment, or it waits for the sweep to hold it.
func notYet(due, now time.Time) time.Time {
	if due.IsZero() || due.After(now) {
		return due
	}
	return now.Add(500 * time.Millisecond)
}

func (e *Engine) lease(now time.Time, ep *store.Endpoint) store.Time {
	return store.At(now.Add(e.cfg.Lease + 2*time.Duration(ep.TimeoutMS)*time.Millisecond))
}

// launch starts a sender for each claim. The caller holds the mutex.
func (e *Engine) launch(o order, claims load, epoch string) {
	slices.SortFunc(claims.singles, func(a, b *store.Claimed) int { return strings.Compare(a.ID, b.ID) })
	held := len(claims.singles)
	for _, b := range claims.bundles {
		held += len(b.members)
	}
	o.lane.held += held
	e.held += held
	behind := 0
	for _, after := range claims.after {
		behind += len(after)
	}
	e.held += behind
	if o.behind > 0 && len(claims.singles) > 0 {
		o.lane.follow = behind / len(claims.singles)
	}
	if claims.ordered && o.lane.run == 0 {
		o.lane.run = firstRun
	}
	e.start(o.lane, claims, epoch, o.probe)
}

// start starts the senders of what a lane has room for. The caller holds the mutex.
func (e *Engine) start(l *lane, claims load, epoch string, probe bool) {
	ep := l.endpoint // as it is now
	for _, c := range claims.singles {
		e.dispatch(errand{lane: l, ep: &ep, slots: l.slots, single: c, after: claims.after[c.ID], epoch: epoch, probe: probe})
	}
	for _, b := range claims.bundles {
		e.dispatch(errand{lane: l, ep: &ep, slots: l.slots, bundle: b, epoch: epoch, probe: probe})
	}
}

// nextLook is when a lane that is not ready becomes due; zero when none will by itself.
func (e *Engine) nextLook(now time.Time) time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	var first time.Time
	for _, l := range e.lanes {
		t := l.next()
		if t.IsZero() && l.ready && l.pause.holds(now) {
			t = l.pause.until
		}
		if l.full() || l.pause.full(l.held, l.each()) || t.IsZero() {
			continue // a completed delivery wakes it
		}
		if first.IsZero() || t.Before(first) {
			first = t
		}
	}
	return first
}
