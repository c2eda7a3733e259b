package outbox

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"schakel/store"
)

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

// replayed makes a new delivery of a stored event.
func (e *Engine) replayed(tx *store.Tx, s *scanner, row store.Event) (store.Delivery, error) {
	ev, _, err := s.matches(row)
	return store.Delivery{
		ID: tx.NewID("dlv"), EventID: row.ID, SubscriptionID: s.sub.ID, EndpointID: s.sub.EndpointID, PartnerID: s.sub.PartnerID,
		EventType: row.CEType, OrderKey: orderKey(&ev, s.sub.OrderBy), Status: store.DeliveryPending,
		IdempotencyKey: uuid.NewString(), KeyExpiresAt: e.keyExpiry(tx.Now.Time), DueAt: tx.Now, ExpiresAt: expiryOf(row),
	}, err
}
