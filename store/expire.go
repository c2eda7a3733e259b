package store

import (
	"context"
	"errors"
	"fmt"
)

// ReasonEventExpired is why a delivery is discarded whose event has expired, by its attribute expirytime.
const ReasonEventExpired = "event-expired"

// Expired reports whether the event of a delivery has expired by a moment: it is not sent any more (CE-24).
func (d *Delivery) Expired(now Time) bool {
	return !d.ExpiresAt.IsZero() && !now.Before(d.ExpiresAt.Time)
}

// unexpired holds for a delivery whose event has not expired. It takes the present time.
const unexpired = `(expires_at IS NULL OR expires_at > ?)`

// mayExpire holds for a delivery d that is discarded when its event expires: it waits, for its turn, for its next try, or for the end
// of a pause or a suspension. What the receiver rejected stays in the error queue: it has had the event, and a person decides.
const mayExpire = `d.expires_at IS NOT NULL AND d.status IN ('pending', 'retrying', 'held')
	AND (d.status <> 'held' OR d.reason IN ('subscription-paused', 'subscription-suspended', 'endpoint-suspended'))`

// overdue holds for one of those whose event has expired and that nobody has in hand. It takes the present time twice.
const overdue = mayExpire + ` AND d.expires_at <= ? AND (d.lease_owner = '' OR d.due_at <= ?)`

// ExpireEvents discards up to limit deliveries whose events have expired, and answers how many. Those that a node is sending, or
// a consumer has received, end as their attempt does. What came behind them in order may go.
func (tx *Tx) ExpireEvents(ctx context.Context, limit int) (int64, error) {
	condition, args := overdue, []any{tx.Now, tx.Now}
	if tx.dialect == Postgres { // a living node keeps what it has claimed past its lease
		condition, args = condition+` AND NOT (d.lease_owner = ANY (?))`, append(args, tx.livingNodes())
	}
	found, queues, err := tx.leaving(ctx, `SELECT d.id, d.subscription_id, d.order_key FROM delivery d WHERE `+condition+
		` ORDER BY d.expires_at LIMIT ?`, append(args, limit)...)
	if err != nil || len(found) == 0 {
		return 0, err
	}
	w := whereIn(`d.id`, found)
	args = append(append(args[:len(args):len(args)], w.args...), ReasonEventExpired, tx.Now, detailEventExpired)
	discarded, err := listOf[Delivery](ctx, &tx.Queries, `WITH overdue AS MATERIALIZED (SELECT d.id FROM delivery d WHERE `+condition+w.and()+tx.skipLocked("d")+`)
		UPDATE delivery SET status = 'discarded', reason = ?, due_at = NULL, lease_owner = '', updated_at = ?,
		detail = ?
		WHERE id IN (SELECT id FROM overdue) RETURNING `+failedColumns, args...)
	if err != nil {
		return 0, fmt.Errorf("discard expired events: %w", err)
	}
	return int64(len(discarded)), errors.Join(queues.settle(ctx), tx.resolveOf(ctx, discarded))
}

// NextExpiry finds the time at which the event of the next delivery expires that ExpireEvents would discard then, which may be past while somebody
// has it in hand; zero when there is none.
func (q *Queries) NextExpiry(ctx context.Context) (Time, error) {
	t, err := getOne[Time](ctx, q, `SELECT d.expires_at FROM delivery d WHERE `+mayExpire+` ORDER BY d.expires_at LIMIT 1`)
	if errors.Is(err, ErrNotFound) {
		err = nil
	}
	return t, err
}
