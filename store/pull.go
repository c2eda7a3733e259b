package store

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"

	"schakel/registry/sorted"
)

// Reasons of a delivery that a consumer had before.
const (
	ReasonReleased     = "released"
	ReasonLeaseExpired = "lease-expired"
	// ReasonCountExceeded marks a dead one: it was received too often without an acknowledgement.
	ReasonCountExceeded = "delivery-count-exceeded"
)

// leasedByPull holds for a delivery that a pull consumer has in its hands; the migrations index it by these very words.
const leasedByPull = `lease_owner > 'lck' AND lease_owner < 'lcl' AND status IN ('pending', 'retrying')`

// NewLockID returns a fresh random name for the lock that one receive call holds.
func NewLockID() string { return "lck_" + rand.Text() }

// PullClaim asks deliveries of a pull subscription.
type PullClaim struct {
	SubscriptionID string
	LockID         string // of NewLockID
	ClientID       string // who receives, for the attempts
	Limit          int
	Lease          Time  // until when the consumer may settle them
	MaxReceives    int64 // after so many receives without an acknowledgement a delivery is dead
}

// PullClaim leases due deliveries of one subscription to a consumer, oldest due first, and records an attempt for each.
// It takes none unless the subscription may be sent to and its endpoint is an active one of kind pull at this moment
// (guarantee G2): a revocation waits for this transaction, or this transaction sees it.
func (tx *Tx) PullClaim(ctx context.Context, c PullClaim) ([]Claimed, error) {
	if may, err := tx.mayPull(ctx, c.SubscriptionID); err != nil || !may {
		return nil, err
	}
	var taken []Delivery
	for more := true; more; {
		rows, err := tx.leaseForPull(ctx, c, c.Limit-len(taken))
		if err != nil {
			return nil, err
		}
		fit, worn := splitWorn(rows, c.MaxReceives)
		if err := tx.buryWorn(ctx, worn); err != nil {
			return nil, err
		}
		taken = append(taken, fit...)
		more = len(worn) > 0 && len(taken) < c.Limit
	}
	if len(taken) == 0 {
		return nil, nil
	}
	sorted.By(taken, func(a, b Delivery) int { return strings.Compare(a.ID, b.ID) })
	return tx.handOver(ctx, c, taken)
}

// mayPull reports whether deliveries of a subscription may be handed out, and on PostgreSQL keeps that so until the
// transaction ends: every change of the subscription, its endpoint or its partner writes the subscription's row. The
// question comes after the lock, in a statement of its own, so that it sees what the lock waited for.
func (tx *Tx) mayPull(ctx context.Context, subscriptionID string) (bool, error) {
	var found []string
	if tx.dialect == Postgres {
		if err := tx.list(ctx, &found, `SELECT id FROM subscription WHERE id = ? FOR SHARE`, subscriptionID); err != nil {
			return false, err
		}
	}
	found = nil
	err := tx.list(ctx, &found, `SELECT s.id FROM subscription s JOIN endpoint e ON e.id = s.endpoint_id
		WHERE s.id = ? AND s.sending AND e.status = 'active' AND e.kind = 'pull'`, subscriptionID)
	return len(found) == 1, err
}

func (tx *Tx) leaseForPull(ctx context.Context, c PullClaim, limit int) ([]Delivery, error) {
	return listOf[Delivery](ctx, &tx.Queries, `WITH due AS MATERIALIZED (
			SELECT d.id FROM delivery d WHERE d.subscription_id = ? AND d.behind = FALSE AND d.status IN ('pending', 'retrying') AND d.due_at <= ? AND `+unexpired+`
			ORDER BY d.due_at, d.id LIMIT ?`+tx.skipLocked("d")+`)
		UPDATE delivery SET due_at = ?, lease_owner = ?, attempts = attempts + 1, round = round + 1, updated_at = ?
		WHERE id IN (SELECT id FROM due) RETURNING `+deliveryColumns,
		c.SubscriptionID, tx.Now, tx.Now, limit, c.Lease, c.LockID, tx.Now)
}

// splitWorn parts the deliveries that were received as often as allowed before this receive.
func splitWorn(rows []Delivery, maxReceives int64) (fit, worn []Delivery) {
	for _, d := range rows {
		if d.Round > maxReceives {
			worn = append(worn, d)
		} else {
			fit = append(fit, d)
		}
	}
	return fit, worn
}

// buryWorn makes deliveries dead that were leased once too often; this last lease reached nobody and does not count.
func (tx *Tx) buryWorn(ctx context.Context, worn []Delivery) error {
	if err := tx.buryAs(ctx, worn, ReasonCountExceeded, wornDetail, `attempts = attempts - 1, round = round - 1`); err != nil {
		return err
	}
	return tx.endReceives(ctx, PullExpired, Time{}, idsOf(worn))
}

// bury makes deliveries dead that were received as often as allowed.
func (tx *Tx) bury(ctx context.Context, worn []Delivery) error {
	return tx.buryAs(ctx, worn, ReasonCountExceeded, wornDetail, `updated_at = ?`, tx.Now)
}

const wornDetail = "It was received as often as is allowed and never acknowledged. Find out why the consumer fails on it, then resend it."

func (tx *Tx) buryAs(ctx context.Context, worn []Delivery, reason, detail, set string, args ...any) error {
	if len(worn) == 0 {
		return nil
	}
	queues, err := tx.orderingOf(ctx, worn)
	if err != nil {
		return err
	}
	args = append([]any{reason, reason, detail}, args...)
	dead, err := listOf[Delivery](ctx, &tx.Queries, `UPDATE delivery SET status = 'dead', reason = ?, cause = ?, due_at = NULL, lease_owner = '', detail = ?, `+set+`
		WHERE id IN (`+marks(len(worn))+`) RETURNING `+failedColumns, append(args, idsOf(worn)...)...)
	if err != nil {
		return err
	}
	return errors.Join(queues.settle(ctx), tx.raiseNotices(ctx, dead), tx.recordFailures(ctx, dead))
}

// PullExpire writes down that leases of consumers ended without an answer, for up to limit deliveries, and returns how many.
// They can be received again, or are dead when they were received maxReceives times. PullClaim does without it; it makes
// the deliveries of consumers that never come back show.
func (tx *Tx) PullExpire(ctx context.Context, maxReceives int64, limit int) (int, error) {
	rows, err := listOf[Delivery](ctx, &tx.Queries, `SELECT id, subscription_id, endpoint_id, order_key, round FROM delivery d WHERE `+leasedByPull+` AND due_at <= ?
		ORDER BY due_at LIMIT ?`+tx.skipLocked("d"), tx.Now, limit)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	tx.countFailed(rows)
	fit, worn := splitWorn(rows, maxReceives-1)
	if err := tx.bury(ctx, worn); err != nil {
		return 0, err
	}
	if len(fit) > 0 {
		ids := idsOf(fit)
		args := append([]any{ReasonLeaseExpired, tx.Now}, ids...)
		_, err := tx.exec(ctx, `UPDATE delivery SET status = 'retrying', reason = ?, lease_owner = '', updated_at = ?
			WHERE id IN (`+marks(len(ids))+`)`, args...)
		if err != nil {
			return 0, err
		}
	}
	return len(rows), tx.endReceives(ctx, PullExpired, Time{}, idsOf(rows))
}

// PullDue returns when the earliest open delivery of a subscription can be received; zero when there is none.
func (q *Queries) PullDue(ctx context.Context, subscriptionID string) (Time, error) {
	due, err := listOf[Time](ctx, q, `SELECT due_at FROM delivery WHERE subscription_id = ? AND behind = FALSE AND status IN ('pending', 'retrying')
		ORDER BY due_at LIMIT 1`, subscriptionID)
	if err != nil || len(due) == 0 {
		return Time{}, err
	}
	return due[0], nil
}

// PullBacklog counts what waits at a pull endpoint, over all its subscriptions.
type PullBacklog struct {
	Waiting int  `db:"waiting"` // to be received, now or after a delay
	Leased  int  `db:"leased"`  // in the hands of consumers
	Oldest  Time `db:"oldest"`  // when the oldest of both was accepted; zero when there is none
}

// PullBacklog counts what waits at an endpoint.
func (q *Queries) PullBacklog(ctx context.Context, endpointID string, now Time) (PullBacklog, error) {
	return getOne[PullBacklog](ctx, q, `SELECT COUNT(*) - COUNT(CASE WHEN lease_owner <> '' AND due_at > ? THEN 1 END) AS waiting,
		COUNT(CASE WHEN lease_owner <> '' AND due_at > ? THEN 1 END) AS leased, MIN(created_at) AS oldest
		FROM delivery WHERE endpoint_id = ? AND status IN ('pending', 'retrying')`, now, now, endpointID)
}

func idsOf(rows []Delivery) []any {
	ids := make([]any, len(rows))
	for i, d := range rows {
		ids[i] = d.ID
	}
	return ids
}

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
		tx.countAllArrived(rows)
		// The lock stays on the row, so that it can be told that it was this lock.
		_, err = tx.exec(ctx, `UPDATE delivery SET status = 'delivered', reason = '', detail = '', due_at = NULL, updated_at = ?, delivered_at = ?
			WHERE id IN (`+marks(len(ids))+`)`, append([]any{tx.Now, tx.Now}, ids...)...)
		if err != nil {
			return err
		}
		return errors.Join(queues.settle(ctx), tx.endReceives(ctx, PullAcknowledged, Time{}, ids), tx.resolveOf(ctx, rows))
	})
}

// PullRelease gives deliveries back to be received again from due on. Those that were received maxReceives times are dead.
func (tx *Tx) PullRelease(ctx context.Context, subscriptionID string, locks []PullLock, due Time, maxReceives int64) ([]PullVerdict, error) {
	return tx.settlePull(ctx, subscriptionID, locks, false, func(rows []Delivery) error {
		tx.countFailed(rows)
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
		tx.countFailed(rows)
		ids := idsOf(rows)
		held, err := listOf[Delivery](ctx, &tx.Queries, `UPDATE delivery SET status = 'held', reason = ?, cause = ?, due_at = NULL, lease_owner = '', updated_at = ?, detail = ?
			WHERE id IN (`+marks(len(ids))+`) RETURNING `+failedColumns, append([]any{ReasonRejected, ReasonRejected, tx.Now, detailPullRejected}, ids...)...)
		if err != nil {
			return err
		}
		return errors.Join(tx.endReceives(ctx, PullRejected, Time{}, ids), tx.raiseNotices(ctx, held), tx.recordFailures(ctx, held))
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
	query := `SELECT ` + deliveryColumns + `, cause FROM delivery WHERE id IN (` + marks(len(ids)) + `) ORDER BY id`
	if tx.dialect == Postgres {
		query += ` FOR UPDATE`
	}
	rows, err := listOf[Delivery](ctx, &tx.Queries, query, ids...)
	for _, d := range rows {
		found[d.ID] = d
	}
	return found, err
}
