package outbox

import (
	"context"
	"encoding/json"
	"fmt"

	"schakel/store"
)

// How a replay goes about it: new events of the same endpoint must not wait long behind old ones.
const (
	// replayAhead bounds the waiting deliveries of all replays together at one endpoint.
	replayAhead = 2000
	// replaySeconds lowers that bound where an endpoint has a rate limit: to what it lets through in that time.
	replaySeconds = 10
	// replayStep bounds the events that one transaction replays.
	replayStep = 500
	// scanPages bounds the pages that one step reads, so that its progress is stored.
	scanPages = 40
)

// ReasonBusy marks a part of a replay that waits for its endpoint to work off its backlog.
const ReasonBusy = "busy"

// stepReplay takes a step for each subscription of a replay that can go on, and reports whether any could.
func (e *Engine) stepReplay(ctx context.Context, j store.ResendJob) (moved bool, err error) {
	var r Replay
	if err := json.Unmarshal([]byte(j.Filter), &r); err != nil {
		return false, fmt.Errorf("read replay: %w", err)
	}
	parts, err := e.cfg.DB.ReplayParts(ctx, j.ID)
	if err != nil {
		return false, fmt.Errorf("read parts of replay: %w", err)
	}
	open := 0
	for _, p := range parts {
		if p.Status != store.JobRunning {
			continue
		}
		open++
		went, err := e.stepPart(ctx, r, p)
		if err != nil {
			return moved, fmt.Errorf("replay to subscription %s: %w", p.SubscriptionID, err)
		}
		moved = moved || went
	}
	if open == 0 {
		return true, e.finishReplay(ctx, j.ID)
	}
	return moved, nil
}

func (e *Engine) finishReplay(ctx context.Context, id string) error {
	return e.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		j, err := tx.LockResendJob(ctx, id)
		if err != nil || j.Status != store.JobRunning {
			return err
		}
		j.Status, j.FinishedAt = store.JobDone, tx.Now
		return tx.UpdateResendJob(ctx, &j)
	})
}

// stepPart replays the next events to one subscription, as many as its endpoint has room for.
func (e *Engine) stepPart(ctx context.Context, r Replay, p store.ReplayPart) (bool, error) {
	room, err := e.replayRoom(ctx, p.EndpointID)
	if err != nil {
		return false, err
	}
	if room == 0 {
		return false, e.partWaits(ctx, p, ReasonBusy)
	}
	q := &e.cfg.DB.Queries
	s, err := e.newScanner(ctx, q, r, p)
	if err != nil {
		return false, err
	}
	if !s.sub.Sending {
		return e.partStopped(ctx, p, s.sub)
	}
	var offers []offer
	end := false
	for page := 0; page < scanPages && !end && len(offers) < room; page++ {
		var found []offer
		if found, end, err = s.page(ctx, q, room-len(offers)); err != nil {
			return false, err
		}
		offers = append(offers, found...)
	}
	return e.offer(ctx, r, p, offers, s.span.AfterID, end)
}

// replayRoom returns how many deliveries replays may add at an endpoint now. It returns 0 until half of replayAhead is gone,
// so that a step is worth its transaction.
func (e *Engine) replayRoom(ctx context.Context, endpointID string) (int, error) {
	ep, err := e.cfg.DB.Endpoint(ctx, endpointID)
	if err != nil {
		return 0, fmt.Errorf("read endpoint: %w", err)
	}
	most := replayAhead
	if ep.RatePerSecond > 0 {
		most = min(most, int(ep.RatePerSecond)*replaySeconds)
	}
	waiting, err := e.cfg.DB.ReplaysWaiting(ctx, endpointID)
	if err != nil {
		return 0, fmt.Errorf("count what waits: %w", err)
	}
	if waiting > most/2 {
		return 0, nil
	}
	return min(most-waiting, replayStep), nil
}

// partWaits stores why a part does not go on now.
func (e *Engine) partWaits(ctx context.Context, p store.ReplayPart, reason string) error {
	if p.Reason == reason {
		return nil
	}
	return e.changePart(ctx, p, func(now *store.ReplayPart) { now.Reason = reason })
}

// partStopped handles a subscription that may not be sent to: one that ended gets nothing more, another may be resumed.
func (e *Engine) partStopped(ctx context.Context, p store.ReplayPart, sub store.Subscription) (bool, error) {
	ep, err := e.cfg.DB.Endpoint(ctx, sub.EndpointID)
	if err != nil {
		return false, fmt.Errorf("read endpoint: %w", err)
	}
	switch {
	case sub.Status == store.SubscriptionEnded || sub.Status == store.SubscriptionRejected || ep.Status == store.EndpointEnded:
		return true, e.changePart(ctx, p, func(now *store.ReplayPart) { now.Status, now.Reason = store.JobDone, store.ReasonSubscriptionEnded })
	case sub.Status == store.SubscriptionPaused:
		return false, e.partWaits(ctx, p, store.ReasonSubscriptionPaused)
	}
	return false, e.partWaits(ctx, p, store.ReasonSubscriptionSuspended)
}

// changePart changes a part unless another node went on with it meanwhile.
func (e *Engine) changePart(ctx context.Context, p store.ReplayPart, change func(now *store.ReplayPart)) error {
	return e.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		_, now, err := lockPart(ctx, tx, p)
		if err != nil || now == nil {
			return err
		}
		change(now)
		return tx.UpdateReplayPart(ctx, now)
	})
}

// lockPart locks a job and returns its part; nil when the job was stopped or another node took this step.
func lockPart(ctx context.Context, tx *store.Tx, p store.ReplayPart) (store.ResendJob, *store.ReplayPart, error) {
	j, err := tx.LockResendJob(ctx, p.JobID)
	if err != nil || j.Status != store.JobRunning {
		return j, nil, err
	}
	now, err := tx.ReplayPart(ctx, p.JobID, p.SubscriptionID)
	if err != nil || now.Status != p.Status || now.Cursor != p.Cursor {
		return j, nil, err
	}
	return j, &now, nil
}
