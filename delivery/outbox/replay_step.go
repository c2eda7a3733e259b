package outbox

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
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

// offer writes the deliveries that a step found, with the progress of the part, in one transaction: after a crash the part
// goes on there, and no event is replayed twice. What the step read before is judged again under the locks of the subscription
// and the events: a revocation, another replay or pruning came first, or waits.
func (e *Engine) offer(ctx context.Context, r Replay, p store.ReplayPart, offers []offer, cursor string, end bool) (bool, error) {
	moved, made := false, 0
	err := e.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		moved, made = false, 0
		j, now, err := lockPart(ctx, tx, p)
		if err != nil {
			return err
		}
		if moved = j.Status == store.JobRunning; now == nil {
			return nil
		}
		if err := tx.Lock(ctx, "subscription", p.SubscriptionID); err != nil {
			return err
		}
		s, err := e.newScanner(ctx, &tx.Queries, r, p)
		if err != nil || !s.sub.Sending {
			return err
		}
		if made, err = e.writeOffers(ctx, tx, s, j, offers); err != nil {
			return err
		}
		now.Done, now.Refused, now.Cursor, now.Reason = now.Done+int64(made), now.Refused+int64(len(offers)-made), cursor, ""
		if end {
			now.Status = store.JobDone
		}
		j.Done, j.Refused = j.Done+int64(made), j.Refused+int64(len(offers)-made)
		if err := tx.UpdateReplayPart(ctx, now); err != nil {
			return err
		}
		return tx.UpdateResendJob(ctx, &j)
	})
	if err == nil && made > 0 {
		e.ready(map[string]struct{}{p.EndpointID: {}})
	}
	return moved, err
}

// writeOffers makes a delivery of each offer that is still valid, or resends one, and returns their number.
func (e *Engine) writeOffers(ctx context.Context, tx *store.Tx, s *scanner, j store.ResendJob, offers []offer) (int, error) {
	rows, err := lockOffered(ctx, tx, offers)
	if err == nil {
		rows, err = withoutErased(ctx, tx, rows)
	}
	if err != nil {
		return 0, err
	}
	wanted, err := s.judgeAll(ctx, &tx.Queries, rows)
	if err != nil {
		return 0, err
	}
	if err := s.recordHanded(ctx, tx, rows, wanted); err != nil {
		return 0, err
	}
	var made []store.Delivery
	var ids, again []string
	for _, o := range wanted {
		if o.again != nil {
			again = append(again, o.again.ID)
		}
	}
	settle, err := tx.LockOrder(ctx, again)
	if err != nil {
		return 0, err
	}
	for _, row := range rows { // in order of acceptance, which is that of their keys (guarantee G5)
		o, ok := wanted[row.ID]
		switch {
		case !ok:
		case o.again == nil:
			d, err := e.replayed(tx, s, row)
			if err != nil {
				return 0, err
			}
			made, ids = append(made, d), append(ids, d.ID)
		default:
			done, err := e.resend(ctx, tx, *o.again)
			if err != nil {
				return 0, fmt.Errorf("resend delivery: %w", err)
			}
			if done {
				ids = append(ids, o.again.ID)
			}
		}
	}
	if err := tx.InsertDeliveries(ctx, made); err != nil {
		return 0, fmt.Errorf("insert deliveries: %w", err)
	}
	if err := settle(ctx); err != nil {
		return 0, err
	}
	if err := tx.MarkReplayed(ctx, j.ID, ids); err != nil {
		return 0, fmt.Errorf("mark deliveries: %w", err)
	}
	return len(ids), e.notifyNodes(ctx, tx, map[string]struct{}{s.sub.EndpointID: {}})
}

// recordHanded records what the subscription is handed, where it wants nothing twice, and leaves out what it got meanwhile.
func (s *scanner) recordHanded(ctx context.Context, tx *store.Tx, rows []store.Event, wanted map[string]offer) error {
	if !s.dedupe {
		return nil
	}
	var all []store.Handed
	for _, o := range wanted {
		if o.again == nil {
			all = append(all, store.Handed{SubscriptionID: s.sub.ID, Identity: identityOf(o.event)})
		}
	}
	fresh, err := tx.InsertHanded(ctx, all)
	if err != nil || s.mode == ReplayAll {
		return err
	}
	for _, row := range rows { // of two with the same identity the first
		o, ok := wanted[row.ID]
		h := store.Handed{SubscriptionID: s.sub.ID, Identity: identityOf(row)}
		if ok && o.again == nil && !fresh[h] {
			delete(wanted, row.ID)
		}
		fresh[h] = false
	}
	return nil
}

// lockOffered locks the events of offers and leaves out those that retention removed.
func lockOffered(ctx context.Context, tx *store.Tx, offers []offer) ([]store.Event, error) {
	ids := make([]string, len(offers))
	for i, o := range offers {
		ids[i] = o.event.ID
	}
	there, err := tx.LockEvents(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("lock events: %w", err)
	}
	rows := make([]store.Event, 0, len(offers))
	for _, o := range offers {
		if there[o.event.ID] {
			rows = append(rows, o.event)
		}
	}
	return rows, nil
}

func (e *Engine) replayed(tx *store.Tx, s *scanner, row store.Event) (store.Delivery, error) {
	ev, _, err := s.matches(row)
	return store.Delivery{
		ID: tx.NewID("dlv"), EventID: row.ID, SubscriptionID: s.sub.ID, EndpointID: s.sub.EndpointID, PartnerID: s.sub.PartnerID,
		EventType: row.CEType, OrderKey: orderKey(&ev, s.sub.OrderBy), Status: store.DeliveryPending,
		IdempotencyKey: uuid.NewString(), KeyExpiresAt: e.keyExpiry(tx.Now.Time), DueAt: tx.Now, ExpiresAt: expiryOf(row),
	}, err
}
