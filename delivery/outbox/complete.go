package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"schakel/store"
)

// completeLoop writes outcomes in batches: while one transaction goes to disk the next batch gathers. It ends when ctx ends
// and all outcomes are written; the senders have ended by then.
func (e *Engine) completeLoop(ctx context.Context) {
	var linger linger
	for {
		select {
		case first := <-e.outcomes:
			batch := first.appendTo(nil)
			linger.wait(ctx, func() int { return len(batch) + len(e.outcomes) })
			batch = e.gatherOutcomes(batch)
			linger.wrote(e.cfg.Now(), len(batch))
			e.complete(ctx, batch)
		case <-ctx.Done():
			if batch := e.gatherOutcomes(nil); len(batch) > 0 {
				e.complete(ctx, batch)
				continue
			}
			return
		}
	}
}

// gatherOutcomes adds waiting outcomes to a batch, up to MaxBatch.
func (e *Engine) gatherOutcomes(batch []sendResult) []sendResult {
	for len(batch) < e.cfg.MaxBatch {
		select {
		case f := <-e.outcomes:
			batch = f.appendTo(batch)
		default:
			return batch
		}
	}
	return batch
}

// appendTo appends f, or the members of its group one by one, so that they are written in one transaction.
func (f sendResult) appendTo(all []sendResult) []sendResult {
	if f.group != nil {
		return append(all, f.group...)
	}
	return append(all, f)
}

// complete writes a batch, retrying while the database is away: an outcome that is not written means that the event is sent
// once more. When the engine stops the write under way is finished; only if that fails is the batch left.
func (e *Engine) complete(ctx context.Context, batch []sendResult) {
	e.refresh(ctx)
	wait := firstWait
	for {
		var changed bool
		err := e.writeOn(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
			changed, err = e.writeOutcomes(ctx, tx, batch)
			return err
		})
		if err == nil {
			e.completed(ctx, batch, changed)
			return
		}
		e.cfg.Log.Error("write outcomes failed", "outcomes", len(batch), "error", err)
		if e.closing.Load() {
			break // the leases end by themselves
		}
		select {
		case <-time.After(wait):
			wait = min(2*wait, lastWait)
		case <-ctx.Done():
		}
	}
	e.completed(ctx, batch, false)
}

// How long it takes until outcomes that could not be written are tried again: at first, and in the end.
const (
	firstWait = 50 * time.Millisecond
	lastWait  = 5 * time.Second
)

// completed gives back the room of a batch. changed means that an endpoint or a subscription changed by it.
func (e *Engine) completed(ctx context.Context, batch []sendResult, changed bool) {
	if changed {
		e.changed()
	}
	e.saveCircuits(context.WithoutCancel(ctx), e.settle(batch))
}

// writeOutcomes writes a batch and reports whether an endpoint or a subscription changed by it.
func (e *Engine) writeOutcomes(ctx context.Context, tx *store.Tx, batch []sendResult) (changed bool, err error) {
	outcomes := make([]store.Outcome, 0, len(batch))
	var untried []store.Lease
	for _, f := range batch {
		if f.outcome == nil {
			untried = append(untried, f.lease)
		} else {
			outcomes = append(outcomes, *f.outcome)
		}
	}
	if err := tx.Complete(ctx, shiftDueTimes(outcomes, tx.Now.Time)); err != nil {
		return false, fmt.Errorf("complete deliveries: %w", err)
	}
	if err := tx.RecordIssues(ctx, outcomes); err != nil {
		return false, err
	}
	if err := tx.Unclaim(ctx, untried); err != nil {
		return false, fmt.Errorf("give deliveries back: %w", err)
	}
	if err := e.saveBackoffs(ctx, tx, batch); err != nil {
		return false, err
	}
	for _, f := range batch {
		if err := e.dissolve(ctx, tx, f, uuid.NewString); err != nil {
			return false, err
		}
		acted, err := e.applyAnswer(ctx, tx, f)
		if err != nil {
			return false, err
		}
		changed = changed || acted
	}
	return changed, nil
}

// applyAnswer applies an answer to the endpoint and the subscription: 403 suspends the one, 410 ends the other.
func (e *Engine) applyAnswer(ctx context.Context, tx *store.Tx, f sendResult) (bool, error) {
	if f.result.Unasked && f.ep.UnaskedAt.IsZero() {
		if err := e.answeredUnasked(ctx, tx, f.ep); err != nil {
			return false, err
		}
	}
	switch {
	case f.result.SuspendEndpoint:
		return e.suspendEndpoint(ctx, tx, f.ep.ID, string(f.result.Detail))
	case f.result.EndSubscription && f.subID != "":
		return e.endSubscription(ctx, tx, f)
	}
	return false, nil
}

func (e *Engine) suspendEndpoint(ctx context.Context, tx *store.Tx, id, reason string) (bool, error) {
	ep, err := tx.Endpoint(ctx, id)
	if err != nil || ep.Status != store.EndpointActive {
		return false, err
	}
	ep.Status, ep.StatusReason = store.EndpointSuspended, reason
	if err := tx.UpdateEndpoint(ctx, &ep); err != nil {
		return false, fmt.Errorf("suspend endpoint: %w", err)
	}
	return true, errors.Join(
		e.audit(ctx, tx, "endpoint.suspended", "endpoint", ep.ID, ep.Name, ep.PartnerID, reason),
		e.cfg.Notifier.EndpointSuspended(ctx, tx, ep, reason))
}

// answeredUnasked marks an endpoint whose receiver sent what no request asked for, and audits it. This process heeds the mark
// at once, the other nodes when they read the endpoint again.
func (e *Engine) answeredUnasked(ctx context.Context, tx *store.Tx, ep *store.Endpoint) error {
	noted, err := tx.NoteUnasked(ctx, ep.ID)
	if err != nil || !noted {
		return err
	}
	e.cfg.Log.Warn("receiver sent more than one answer on a connection; each request has a connection of its own from now on", "endpoint", ep.ID)
	return e.audit(ctx, tx, "endpoint.unasked", "endpoint", ep.ID, ep.Name, ep.PartnerID,
		"verdict.unasked-mark")
}

func (e *Engine) endSubscription(ctx context.Context, tx *store.Tx, f sendResult) (bool, error) {
	sub, err := tx.Subscription(ctx, f.subID)
	if err != nil || sub.Status == store.SubscriptionEnded {
		return false, err
	}
	reason := string(f.result.Detail)
	sub.Status, sub.StatusReason = store.SubscriptionEnded, reason
	if err := tx.UpdateSubscription(ctx, &sub); err != nil {
		return false, fmt.Errorf("end subscription: %w", err)
	}
	return true, errors.Join(
		e.audit(ctx, tx, "subscription.ended", "subscription", sub.ID, sub.Name, sub.PartnerID, reason),
		e.cfg.Notifier.SubscriptionEnded(ctx, tx, sub, reason))
}

// audit records a decision of the engine itself.
func (e *Engine) audit(ctx context.Context, tx *store.Tx, action, kind, id, name, partnerID, reason string) error {
	entry := store.Audit{Action: action, ObjectKind: kind, ObjectID: id, ObjectName: name, PartnerID: partnerID}
	return Actor{Kind: "system", Name: "Schakel"}.audit(ctx, tx, entry, map[string]any{"reason": reason})
}

// settle gives back the room a batch took and counts it. It returns the circuits that moved.
func (e *Engine) settle(batch []sendResult) []circuitChange {
	e.mu.Lock()
	for _, f := range batch {
		if !f.inRun {
			f.queue.held--
		}
		e.held--
		r := f.result
		if f.ordered && !f.inRun {
			f.queue.ready = true // the next of its key may go now
		}
		if f.outcome != nil && r.Status == store.DeliveryDelivered {
			f.queue.arrivedAt = f.outcome.Attempt.StartedAt
		}
		due := r.DueAt
		if f.outcome == nil {
			due = e.cfg.Now()
		}
		if !due.IsZero() && (f.queue.due.IsZero() || due.Before(f.queue.due)) {
			f.queue.due = due
		}
	}
	changed := e.moveCircuits(batch)
	e.mu.Unlock()
	for _, f := range batch {
		if f.outcome != nil {
			e.stats.outcome(f.result.Status)
		}
	}
	signal(e.wake)
	return changed
}
