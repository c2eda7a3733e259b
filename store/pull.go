package store

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
)

// ReasonCountExceeded is why a delivery is dead that was received too often without an acknowledgement.
const ReasonCountExceeded = "delivery-count-exceeded"

// Reasons of an open delivery that a consumer had before.
const (
	ReasonReleased     = "released"
	ReasonLeaseExpired = "lease-expired"
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
	slices.SortFunc(taken, func(a, b Delivery) int { return strings.Compare(a.ID, b.ID) })
	if err := tx.recordReceives(ctx, c, taken); err != nil {
		return nil, err
	}
	return tx.withEvents(ctx, taken)
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
	var rows []Delivery
	return rows, tx.list(ctx, &rows, `WITH due AS MATERIALIZED (
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
	if len(worn) == 0 {
		return nil
	}
	queues, err := tx.orderingOf(ctx, worn)
	if err != nil {
		return err
	}
	ids := idsOf(worn)
	_, err = tx.exec(ctx, `UPDATE delivery SET `+buried+`, attempts = attempts - 1, round = round - 1
		WHERE id IN (`+marks(len(ids))+`)`, ids...)
	if err != nil {
		return err
	}
	return errors.Join(queues.settle(ctx), tx.endReceives(ctx, PullExpired, Time{}, ids), tx.raised(ctx, DeliveryDead, worn))
}

// buried lists the columns of a delivery that was received too often.
const buried = `status = 'dead', reason = 'delivery-count-exceeded', due_at = NULL, lease_owner = '', detail =
	'It was received as often as is allowed and never acknowledged. Find out why the consumer fails on it, then resend it.'`

// bury makes deliveries dead that were received as often as allowed.
func (tx *Tx) bury(ctx context.Context, worn []Delivery) error {
	if len(worn) == 0 {
		return nil
	}
	queues, err := tx.orderingOf(ctx, worn)
	if err != nil {
		return err
	}
	ids := idsOf(worn)
	_, err = tx.exec(ctx, `UPDATE delivery SET `+buried+`, updated_at = ? WHERE id IN (`+marks(len(ids))+`)`, append([]any{tx.Now}, ids...)...)
	if err != nil {
		return err
	}
	return errors.Join(queues.settle(ctx), tx.raised(ctx, DeliveryDead, worn))
}

// PullExpire writes down that leases of consumers ended without an answer, for up to limit deliveries, and returns how many.
// They can be received again, or are dead when they were received maxReceives times. PullClaim does without it; it makes
// the deliveries of consumers that never come back show.
func (tx *Tx) PullExpire(ctx context.Context, maxReceives int64, limit int) (int, error) {
	var rows []Delivery
	err := tx.list(ctx, &rows, `SELECT id, subscription_id, endpoint_id, order_key, round FROM delivery d WHERE `+leasedByPull+` AND due_at <= ?
		ORDER BY due_at LIMIT ?`+tx.skipLocked("d"), tx.Now, limit)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
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
	var due []Time
	err := q.list(ctx, &due, `SELECT due_at FROM delivery WHERE subscription_id = ? AND behind = FALSE AND status IN ('pending', 'retrying')
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
	var b PullBacklog
	return b, q.get(ctx, &b, `SELECT COUNT(*) - COUNT(CASE WHEN lease_owner <> '' AND due_at > ? THEN 1 END) AS waiting,
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
