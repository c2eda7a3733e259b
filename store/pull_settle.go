package store

import (
	"context"
	"errors"
)

// PullLock names a delivery as one receive call handed it out.
type PullLock struct{ DeliveryID, LockID string }

// PullVerdict holds the result of one lock in a call that settles.
type PullVerdict string

// The verdicts.
const (
	PullDone    PullVerdict = "done"
	PullLost    PullVerdict = "lost"    // the lease ended, or the delivery was settled before
	PullUnknown PullVerdict = "unknown" // the subscription has no such delivery
	PullStopped PullVerdict = "stopped" // the subscription may not be received from any more
)

// PullAcknowledge makes deliveries delivered whose leases live; what the consumer has in its hands it may acknowledge
// also after its subscription was stopped. A second acknowledgement under the same lock is done too: the answer to the
// first may have been lost (EDU-17).
func (tx *Tx) PullAcknowledge(ctx context.Context, subscriptionID string, locks []PullLock) ([]PullVerdict, error) {
	return tx.settlePull(ctx, subscriptionID, locks, true, func(rows []Delivery) error {
		queues, err := tx.orderingOf(ctx, rows)
		if err != nil {
			return err
		}
		ids := idsOf(rows)
		// The lock stays on the row, so that it can be told that it was this lock.
		_, err = tx.exec(ctx, `UPDATE delivery SET status = 'delivered', reason = '', detail = '', due_at = NULL, updated_at = ?, delivered_at = ?
			WHERE id IN (`+marks(len(ids))+`)`, append([]any{tx.Now, tx.Now}, ids...)...)
		if err != nil {
			return err
		}
		return errors.Join(queues.settle(ctx), tx.endReceives(ctx, PullAcknowledged, Time{}, ids))
	})
}

// PullRelease gives deliveries back to be received again from due on. Those that were received maxReceives times are dead.
func (tx *Tx) PullRelease(ctx context.Context, subscriptionID string, locks []PullLock, due Time, maxReceives int64) ([]PullVerdict, error) {
	return tx.settlePull(ctx, subscriptionID, locks, false, func(rows []Delivery) error {
		fit, worn := splitWorn(rows, maxReceives-1)
		if ids := idsOf(worn); len(ids) > 0 {
			if err := tx.bury(ctx, worn); err != nil {
				return err
			}
			if err := tx.endReceives(ctx, PullReleased, Time{}, ids); err != nil {
				return err
			}
		}
		ids := idsOf(fit)
		if len(ids) == 0 {
			return nil
		}
		_, err := tx.exec(ctx, `UPDATE delivery SET status = 'retrying', reason = ?, detail = '', due_at = ?, lease_owner = '', updated_at = ?
			WHERE id IN (`+marks(len(ids))+`)`, append([]any{ReasonReleased, due, tx.Now}, ids...)...)
		if err != nil {
			return err
		}
		return tx.endReceives(ctx, PullReleased, due, ids)
	})
}

// PullReject puts deliveries into the error queue: the consumer says that it cannot take them.
func (tx *Tx) PullReject(ctx context.Context, subscriptionID string, locks []PullLock) ([]PullVerdict, error) {
	return tx.settlePull(ctx, subscriptionID, locks, false, func(rows []Delivery) error {
		ids := idsOf(rows)
		_, err := tx.exec(ctx, `UPDATE delivery SET status = 'held', reason = ?, due_at = NULL, lease_owner = '', updated_at = ?,
			detail = 'The consumer rejected it. Find out why with the partner, then resend or discard it.'
			WHERE id IN (`+marks(len(ids))+`)`, append([]any{ReasonRejected, tx.Now}, ids...)...)
		if err != nil {
			return err
		}
		return errors.Join(tx.endReceives(ctx, PullRejected, Time{}, ids), tx.raised(ctx, DeliveryHeld, rows))
	})
}

// PullRenew moves the end of leases that live to lease, while the subscription may be sent to (guarantee G2).
func (tx *Tx) PullRenew(ctx context.Context, subscriptionID string, locks []PullLock, lease Time) ([]PullVerdict, error) {
	may, err := tx.mayPull(ctx, subscriptionID)
	if err != nil {
		return nil, err
	}
	verdicts, err := tx.settlePull(ctx, subscriptionID, locks, false, func(rows []Delivery) error {
		if !may {
			return nil
		}
		ids := idsOf(rows)
		_, err := tx.exec(ctx, `UPDATE delivery SET due_at = ?, updated_at = ? WHERE id IN (`+marks(len(ids))+`)`, append([]any{lease, tx.Now}, ids...)...)
		if err != nil {
			return err
		}
		return tx.extendReceives(ctx, lease, ids)
	})
	for i, v := range verdicts {
		if !may && v == PullDone {
			verdicts[i] = PullStopped
		}
	}
	return verdicts, err
}

// settlePull reads and locks the deliveries, judges each lock, and gives those whose lease lives to change. The verdicts
// are in the order of the locks. With repeatable, what this very lock has acknowledged before is done too.
func (tx *Tx) settlePull(ctx context.Context, subscriptionID string, locks []PullLock, repeatable bool, change func([]Delivery) error) ([]PullVerdict, error) {
	rows, err := tx.lockDeliveries(ctx, locks)
	if err != nil {
		return nil, err
	}
	verdicts := make([]PullVerdict, len(locks))
	var live []Delivery
	seen := make(map[string]bool, len(locks))
	for i, l := range locks {
		d := rows[l.DeliveryID]
		verdicts[i] = judgeLock(d, subscriptionID, l.LockID, tx.Now, repeatable)
		if verdicts[i] == PullDone && d.Status != DeliveryDelivered && !seen[d.ID] {
			seen[d.ID] = true
			live = append(live, d)
		}
	}
	if len(live) == 0 {
		return verdicts, nil
	}
	return verdicts, change(live)
}

// judgeLock reports whether a lock still holds a delivery; a zero delivery does not exist.
func judgeLock(d Delivery, subscriptionID, lockID string, now Time, repeatable bool) PullVerdict {
	switch {
	case d.ID == "" || d.SubscriptionID != subscriptionID:
		return PullUnknown
	case d.LeaseOwner != lockID:
		return PullLost
	case d.Status == DeliveryDelivered && repeatable:
		return PullDone
	case d.Status != DeliveryPending && d.Status != DeliveryRetrying, !d.DueAt.After(now.Time):
		return PullLost
	}
	return PullDone
}

// lockDeliveries reads the deliveries of locks, and keeps others from changing them until the transaction ends.
func (tx *Tx) lockDeliveries(ctx context.Context, locks []PullLock) (map[string]Delivery, error) {
	found := make(map[string]Delivery, len(locks))
	if len(locks) == 0 {
		return found, nil
	}
	ids := make([]any, len(locks))
	for i, l := range locks {
		ids[i] = l.DeliveryID
	}
	query := `SELECT ` + deliveryColumns + ` FROM delivery WHERE id IN (` + marks(len(ids)) + `) ORDER BY id`
	if tx.dialect == Postgres {
		query += ` FOR UPDATE`
	}
	var rows []Delivery
	err := tx.list(ctx, &rows, query, ids...)
	for _, d := range rows {
		found[d.ID] = d
	}
	return found, err
}
