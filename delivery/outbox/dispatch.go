package outbox

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"schakel/registry/sorted"
	"schakel/store"
)

// queuesPerClaim bounds the endpoints one transaction claims for, so that intake does not wait long for the writer.
const queuesPerClaim = 64

// ready wakes the queues of the endpoints that have new deliveries.
func (e *Engine) ready(endpoints map[string]struct{}) {
	if len(endpoints) == 0 {
		return
	}
	e.cfg.OnReady(endpoints)
	e.mu.Lock()
	for id := range endpoints {
		if q := e.queues[id]; q != nil {
			q.ready = true
		}
	}
	e.mu.Unlock()
	signal(e.wake)
}

// dispatchLoop claims due deliveries and hands them to the senders, until stopped.
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
		err := e.refreshQueues(ctx)
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

func (e *Engine) wakeAll() {
	e.readyAll()
	signal(e.wake)
}

func (e *Engine) readyAll() {
	e.cfg.OnReady(nil)
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, q := range e.queues {
		q.ready = true
	}
}

// refreshQueues reads the endpoints again when something about them changed since it last did.
func (e *Engine) refreshQueues(ctx context.Context) error {
	seen, err := e.cfg.DB.FanoutEpoch(ctx)
	if err != nil || seen == e.queuesEpoch {
		return err
	}
	e.mu.Lock()
	moves := e.circuitMoves
	e.mu.Unlock()
	endpoints, err := e.cfg.DB.Endpoints(ctx, "")
	if err != nil {
		return fmt.Errorf("read endpoints: %w", err)
	}
	sendings, err := e.cfg.DB.Sendings(ctx)
	if err != nil {
		return fmt.Errorf("read how subscriptions are sent: %w", err)
	}
	e.sendings.Store(&sendings)
	e.mu.Lock()
	defer e.mu.Unlock()
	known := make(map[string]bool, len(endpoints))
	for _, ep := range endpoints {
		if e.cfg.Transports[ep.Kind] == nil {
			continue
		}
		known[ep.ID] = true
		q := e.queues[ep.ID]
		if q == nil {
			q = newEndpointQueue(ep)
			e.queues[ep.ID] = q
		} else {
			q.learn(ep, moves)
			q.ready = true
		}
		q.learnWait(store.EndpointWait{EndpointID: ep.ID, Until: ep.WaitUntil, ProbeOwner: ep.ProbeOwner}, e.node)
		e.logUnreadable(q)
	}
	for id := range e.queues {
		if !known[id] {
			delete(e.queues, id)
		}
	}
	e.queuesEpoch = seen
	return nil
}

// claimRequest is a claim to be made for an endpoint queue.
type claimRequest struct {
	queue *endpointQueue
	room  int
	terms terms
	tests bool // only test events
	probe bool // the single request after a backoff of the endpoint
	// behind bounds the deliveries that may be claimed behind others of the same key, and each those of one key.
	behind, each int
	retriesOnly  bool // only what was tried before: the rest waits to fill a batch
}

// claimRequests lists the queues with room, those that hold least first, so that no queue starves behind a busy one.
func (e *Engine) claimRequests() []claimRequest {
	now := e.cfg.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	free := e.cfg.MaxInFlight - e.held
	var requests []claimRequest
	for _, q := range e.queues {
		if !q.ready && !q.due.IsZero() && !now.Before(q.next()) {
			q.ready = true
		}
		if room := q.room(now); room > 0 {
			requests = append(requests, claimRequest{queue: q, room: room, terms: q.terms, probe: q.backoff.probe})
		} else if room := q.testRoom(now); room > 0 {
			requests = append(requests, claimRequest{queue: q, room: room, tests: true, probe: q.backoff.probe})
		}
	}
	sorted.By(requests, func(a, b claimRequest) int { return a.queue.held - b.queue.held })
	requests = requests[:min(len(requests), queuesPerClaim)]
	runs := e.cfg.MaxInFlight/runShare - e.following()
	for i := range requests {
		r := &requests[i]
		r.room = min(r.room, max(0, (free+1)/claimedShare))
		free -= r.room
		if !r.tests {
			r.behind, r.each = r.queue.behind(r.room, max(0, min(runs, free)/claimedShare))
			free, runs = free-r.behind, runs-r.behind
		}
	}
	return slices.DeleteFunc(requests, func(r claimRequest) bool { return r.room == 0 })
}

// claimDue claims for the queues with room, round after round, until none has more.
func (e *Engine) claimDue(ctx context.Context) error {
	for ctx.Err() == nil {
		if hold, _ := e.claimsHold(); !hold {
			return nil // another node might take over what this one claims now: the next poll looks again
		}
		requests := e.claimRequests()
		if len(requests) == 0 {
			return nil
		}
		if err := e.claim(ctx, requests); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (e *Engine) claim(ctx context.Context, requests []claimRequest) error {
	// Whatever becomes due after this point sets ready again.
	e.mu.Lock()
	for _, r := range requests {
		r.queue.ready, r.queue.tests, r.queue.lookAt = r.tests, false, time.Time{}
	}
	e.mu.Unlock()
	ctx, cancel := e.bounded(ctx)
	defer cancel()
	looks, err := e.fillAll(ctx, requests)
	if err != nil {
		return err
	}
	work := make([]claimedWork, len(requests))
	next := make([]store.Time, len(requests))
	var epoch string
	err = e.cfg.DB.Write(ctx, func(tx *store.Tx) (err error) {
		if epoch, err = tx.FanoutEpoch(ctx); err != nil {
			return err
		}
		waits, err := e.waits(ctx, tx)
		if err != nil {
			return err
		}
		for i, r := range requests {
			if work[i], err = e.claimUnlessWaiting(ctx, tx, r, waits); err != nil {
				return fmt.Errorf("claim deliveries: %w", err)
			}
			if work[i].wait != nil || work[i].rows == r.room || r.tests || !looks[i].IsZero() {
				continue
			}
			if next[i], err = tx.NextDue(ctx, r.queue.endpoint.ID, e.node); err != nil {
				return fmt.Errorf("read next due time: %w", err)
			}
		}
		return nil
	})
	if err == nil && epoch != e.queuesEpoch {
		// An endpoint may have another address since its queue was read: nothing goes to the old one any more (EDU-07a). When
		// this fails the database is away, and what was claimed comes back when its lease ends.
		err = e.refreshQueues(ctx)
		epoch = "" // each attempt checks its endpoint before it begins: it may be paused by now
	}
	now := e.cfg.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	for i, r := range requests {
		r.queue.due = notYet(next[i].Time, now)
		if err != nil || work[i].rows == r.room || work[i].dissolved {
			r.queue.ready = true
		}
		if !looks[i].IsZero() && work[i].rows < r.room {
			r.queue.ready, r.queue.lookAt = true, looks[i]
		}
		if w := work[i].wait; w != nil {
			r.queue.ready = true
			r.queue.heedWait(*w, e.node)
		}
		if err == nil {
			e.launch(r, work[i], epoch)
		}
	}
	return err
}

// notYet keeps a queue from asking in circles for what is due and yet could not be claimed: another node claims it at this
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
func (e *Engine) launch(r claimRequest, work claimedWork, epoch string) {
	slices.SortFunc(work.singles, func(a, b *store.Claimed) int { return strings.Compare(a.ID, b.ID) })
	held := len(work.singles)
	for _, b := range work.batches {
		held += len(b.members)
	}
	r.queue.held += held
	e.held += held
	behind := 0
	for _, after := range work.followers {
		behind += len(after)
	}
	e.held += behind
	if r.behind > 0 && len(work.singles) > 0 {
		r.queue.followRatio = behind / len(work.singles)
	}
	if work.ordered && r.queue.runLength == 0 {
		r.queue.runLength = firstRun
	}
	e.start(r.queue, work, epoch, r.probe)
}

// start starts the senders of a queue's deliveries. The caller holds the mutex.
func (e *Engine) start(q *endpointQueue, work claimedWork, epoch string, probe bool) {
	ep := q.endpoint // as it is now
	for _, c := range work.singles {
		e.dispatch(sendTask{queue: q, ep: &ep, slots: q.slots, single: c, followers: work.followers[c.ID], epoch: epoch, probe: probe})
	}
	for _, b := range work.batches {
		e.dispatch(sendTask{queue: q, ep: &ep, slots: q.slots, batch: b, epoch: epoch, probe: probe})
	}
}

// nextLook returns when the next queue that is not ready becomes due; zero when none will by itself.
func (e *Engine) nextLook(now time.Time) time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	var first time.Time
	for _, q := range e.queues {
		t := q.next()
		if t.IsZero() && q.ready && q.backoff.active(now) {
			t = q.backoff.until
		}
		if q.full() || q.backoff.full(q.held, q.perRequest()) || t.IsZero() {
			continue // a completed delivery wakes it
		}
		if first.IsZero() || t.Before(first) {
			first = t
		}
	}
	return first
}
