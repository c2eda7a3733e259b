package store

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
)

// messageFinal holds for a delivery of which the same message may not go to its receiver again by AMQP: it got a negative AppRec, is answered
// or still to be answered in time, or was sent twice (AMQP-113, AMQP-118).
const messageFinal = `(delivery.reason = 'amqp-sent-before' OR EXISTS
	(SELECT 1 FROM amqp_message m WHERE m.delivery_id <> '' AND m.delivery_id = delivery.id AND m.kind IN ('business', 'request')
	AND (m.status IN ('rejected', 'acknowledged', 'partly') OR m.status = 'open' AND (m.kind = 'request' OR m.resends > 0 OR m.overdue_at IS NULL))))`

// sentForGood is messageFinal among deliveries to endpoints of any kind.
const sentForGood = `endpoint_id IN (SELECT e.id FROM endpoint e WHERE e.kind = 'amqp') AND ` + messageFinal

// mayGoAgain holds for a closed delivery that a resend puts back. The endpoint is looked up once for both of its conditions.
const mayGoAgain = `EXISTS (SELECT 1 FROM endpoint e WHERE e.id = delivery.endpoint_id AND e.status <> 'ended' AND (e.kind <> 'amqp' OR NOT ` + messageFinal + `))
	AND (subscription_id = '' OR EXISTS (SELECT 1 FROM subscription s WHERE s.id = delivery.subscription_id AND s.sending))`

// SentForGood finds those of up to a page of deliveries that cannot be resent because the same message may not go again by AMQP.
func (q *Queries) SentForGood(ctx context.Context, ids []string) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	w := whereIn(`id`, ids)
	w.add(sentForGood)
	return listOf[string](ctx, q, `SELECT id FROM delivery`+w.sql()+` ORDER BY id`, w.args...)
}

// Resend puts a delivery back to be tried from now on, under the given Idempotency-Key, unless it is open already,
// its subscription may not be sent to, or the same message may not go again. It reports whether it did.
func (tx *Tx) Resend(ctx context.Context, id, key string, keyExpires Time) (bool, error) {
	queues, err := tx.orderingByID(ctx, id)
	if err != nil {
		return false, err
	}
	var found []Delivery
	err = tx.list(ctx, &found, `UPDATE delivery SET behind = CASE WHEN status = 'held' THEN behind ELSE order_key <> '' END,
		status = 'pending', reason = '', detail = '', round = 0, due_at = ?, lease_owner = '',
		batch_id = '', alone = TRUE, idempotency_key = ?, key_expires_at = ?, updated_at = ?
		WHERE id = ? AND status IN ('held', 'dead', 'delivered')
		AND `+mayGoAgain+` RETURNING id, subscription_id, order_key, behind`,
		tx.Now, key, keyExpires, tx.Now, id)
	if err != nil {
		return false, err
	}
	for i := range found {
		if d := &found[i]; d.OrderKey != "" && d.Behind {
			queues.enter(d.orderKey(), d.ID)
		}
	}
	return len(found) == 1, queues.settle(ctx)
}

// Resendable reads the deliveries among ids that ResendMany takes: closed ones outside any order, whose events are in the clear.
func (tx *Tx) Resendable(ctx context.Context, ids []string) ([]Delivery, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	w := whereIn(`id`, ids)
	w.add(`id >= ? AND id <= ? AND `+resendable, slices.Min(ids), slices.Max(ids))
	w.add(`NOT EXISTS (SELECT 1 FROM event e WHERE e.id = delivery.event_id AND e.data_key <> '')`)
	return listOf[Delivery](ctx, &tx.Queries, `SELECT `+deliveryColumns+`, replay_of FROM delivery`+w.sql(), w.args...)
}

// resendable holds for what ResendMany takes, as far as the delivery itself tells. The sign keeps SQLite from the indexes of states.
const resendable = `order_key = '' AND status || '' IN ('held', 'dead', 'delivered')`

// ResendMany is Resend for many deliveries at once, as Resendable reads them, and notes that a job sent them again. keys holds a new
// Idempotency-Key for each, or "" where it keeps its own. It returns which it put back.
func (tx *Tx) ResendMany(ctx context.Context, jobID string, rows []Delivery, keys []string, keyExpires Time) ([]string, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	ids, from := make([]string, len(rows)), make(map[string]string, len(rows))
	for i := range rows {
		ids[i], from[rows[i].ID] = rows[i].ID, rows[i].ReplayOf
	}
	values, args := `unnest(CAST(? AS TEXT[]), CAST(? AS TEXT[])) AS v (column1, column2)`, []any{ids, keys}
	if tx.dialect == SQLite {
		values, args = `(VALUES `+strings.TrimSuffix(strings.Repeat(`(?, ?), `, len(ids)), `, `)+`) AS v`, nil
		for i, id := range ids {
			args = append(args, id, keys[i])
		}
	}
	args = append([]any{tx.Now, keyExpires, jobID, tx.Now}, args...)
	done, err := listOf[string](ctx, &tx.Queries, `UPDATE delivery SET status = 'pending', reason = '', detail = '', round = 0, due_at = ?, lease_owner = '',
		batch_id = '', alone = TRUE, idempotency_key = CASE WHEN v.column2 = '' THEN idempotency_key ELSE v.column2 END,
		key_expires_at = CASE WHEN v.column2 = '' THEN key_expires_at ELSE ? END, replay_of = ?, updated_at = ?
		FROM `+values+` WHERE id = v.column1 AND id >= ? AND id <= ? AND `+resendable+`
		AND `+mayGoAgain+` RETURNING id`,
		append(args, slices.Min(ids), slices.Max(ids))...)
	if err != nil {
		return nil, err
	}
	moved := make(map[string]int)
	for _, id := range done {
		if job := from[id]; job != "" && job != jobID {
			moved[job]++
		}
	}
	for _, job := range slices.Sorted(maps.Keys(moved)) {
		if err := tx.addMoved(ctx, job, jobID, moved[job]); err != nil {
			return nil, err
		}
	}
	return done, nil
}

// TryNow makes an open delivery that waits for its next try due at once.
func (tx *Tx) TryNow(ctx context.Context, id string) (bool, error) {
	n, err := tx.exec(ctx, `UPDATE delivery SET due_at = ?, updated_at = ? WHERE id = ? AND status = 'retrying' AND lease_owner = ''`, tx.Now, tx.Now, id)
	return n == 1, err
}

// Discard takes a held or dead delivery out of its queue for good, with the message by AMQP that it was sent as. It reports whether
// it did.
func (tx *Tx) Discard(ctx context.Context, id, detail string) (bool, error) {
	queues, err := tx.orderingByID(ctx, id)
	if err != nil {
		return false, err
	}
	discarded, err := listOf[Delivery](ctx, &tx.Queries, `UPDATE delivery SET status = 'discarded', detail = ?, due_at = NULL, updated_at = ?
		WHERE id = ? AND status IN ('held', 'dead') RETURNING `+failedColumns, detail, tx.Now, id)
	if err != nil || len(discarded) != 1 {
		return false, err
	}
	return true, errors.Join(queues.settle(ctx), tx.dropAMQPOf(ctx, id, detail), tx.resolveOf(ctx, discarded))
}

// HoldStopped holds up to limit open deliveries of subscriptions that may not be sent to, so that they can be seen,
// and returns how many. A subscription that ended leaves dead letters. What a pull consumer has in its hands it may settle
// until its lease ends. CROSS JOIN makes SQLite begin with the few subscriptions and not with all that waits.
func (tx *Tx) HoldStopped(ctx context.Context, limit int) (int64, error) {
	found, queues, err := tx.leaving(ctx, `SELECT d.id, d.subscription_id, d.order_key FROM subscription s CROSS JOIN delivery d WHERE `+stopped+` LIMIT ?`, tx.Now, limit)
	if err != nil || len(found) == 0 {
		return 0, err
	}
	w := whereIn(`d.id`, found)
	var held []Delivery
	err = tx.list(ctx, &held, `WITH stopped AS MATERIALIZED (SELECT d.id FROM delivery d JOIN subscription s ON `+stopped+w.and()+tx.skipLocked("d")+`)
		UPDATE delivery SET due_at = NULL, lease_owner = '', updated_at = ?,
		status = CASE WHEN (SELECT s.status FROM subscription s WHERE s.id = delivery.subscription_id) = 'ended' THEN 'dead' ELSE 'held' END,
		reason = 'subscription-' || (SELECT CASE WHEN s.status = 'approved' THEN 'suspended' ELSE s.status END
			FROM subscription s WHERE s.id = delivery.subscription_id)
		WHERE id IN (SELECT id FROM stopped) RETURNING endpoint_id, event_type, status`, append(append([]any{tx.Now}, w.args...), tx.Now)...)
	if err != nil {
		return 0, err
	}
	return int64(len(held)), errors.Join(queues.settle(ctx), tx.raiseNotices(ctx, held))
}

// stopped holds for an open delivery d whose subscription s may not be sent to. It takes the present time.
const stopped = `d.subscription_id = s.id AND NOT s.sending AND d.status IN ('pending', 'retrying')
	AND NOT (d.lease_owner LIKE 'lck%' AND d.due_at > ?)`

// leaving reads deliveries that are about to leave their queues, which it locks. The query selects id, subscription_id and
// order_key.
func (tx *Tx) leaving(ctx context.Context, query string, args ...any) (ids []string, queues *ordering, err error) {
	var found []Delivery
	if err := tx.list(ctx, &found, query, args...); err != nil {
		return nil, nil, err
	}
	for i := range found {
		ids = append(ids, found[i].ID)
	}
	queues, err = tx.orderingOf(ctx, found)
	return ids, queues, err
}

// ReleaseHeld makes up to limit deliveries pending again that were held for a subscription or an endpoint which may be
// sent to now. Both conditions on the state are needed: SQLite uses a partial index only by its very words.
func (tx *Tx) ReleaseHeld(ctx context.Context, limit int) (int64, error) {
	return tx.exec(ctx, `WITH released AS MATERIALIZED (SELECT d.id FROM delivery d
			JOIN endpoint e ON e.id = d.endpoint_id AND e.status = 'active'
			LEFT JOIN subscription s ON s.id = d.subscription_id
			WHERE d.status = 'held' AND d.status <> 'pending' AND d.status <> 'delivered' AND d.reason IN ('subscription-paused', 'subscription-suspended', 'endpoint-suspended')
			AND (s.sending OR d.subscription_id = '') LIMIT ?`+tx.skipLocked("d")+`)
		UPDATE delivery SET status = 'pending', reason = '', detail = '', due_at = ?, updated_at = ?
		WHERE id IN (SELECT id FROM released)`, limit, tx.Now, tx.Now)
}

// ReleaseUnencrypted makes the deliveries of a subscription pending again that were held because their data could not be encrypted.
func (tx *Tx) ReleaseUnencrypted(ctx context.Context, subscriptionID string) error {
	return tx.do(ctx, `UPDATE delivery SET status = 'pending', reason = '', detail = '', due_at = ?, updated_at = ?
		WHERE subscription_id = ? AND status = 'held' AND status <> 'pending' AND status <> 'delivered' AND reason = 'encryption'`, tx.Now, tx.Now, subscriptionID)
}

// ExpireKeys makes up to limit open deliveries dead whose Idempotency-Key has expired, and returns how many: a new key needs
// a person's confirmation, which is the resend (IDEM-12, IDEM-13). The cause of its issue stays that of its last failed attempt, if one
// failed. What a consumer pulls carries no key and waits as long as it takes.
func (tx *Tx) ExpireKeys(ctx context.Context, limit int) (int64, error) {
	found, queues, err := tx.leaving(ctx, `SELECT d.id, d.subscription_id, d.order_key FROM delivery d WHERE `+expired+` LIMIT ?`, tx.Now, tx.Now, limit)
	if err != nil || len(found) == 0 {
		return 0, err
	}
	w := whereIn(`d.id`, found)
	var dead []Delivery
	err = tx.list(ctx, &dead, `WITH expired AS MATERIALIZED (SELECT d.id FROM delivery d WHERE `+expired+w.and()+tx.skipLocked("d")+`)
		UPDATE delivery SET status = 'dead', reason = 'key-expired', cause = CASE WHEN cause = '' THEN 'key-expired' ELSE cause END,
		due_at = NULL, lease_owner = '', updated_at = ?, detail = ?
		WHERE id IN (SELECT id FROM expired) RETURNING `+failedColumns, append(append([]any{tx.Now, tx.Now}, w.args...), tx.Now, detailKeyExpired)...)
	if err != nil {
		return 0, err
	}
	return int64(len(dead)), errors.Join(queues.settle(ctx), tx.raiseNotices(ctx, dead), tx.recordFailures(ctx, dead))
}

// expired holds for an open delivery d whose key has expired. It takes the present time twice.
const expired = `d.status IN ('pending', 'retrying') AND d.key_expires_at <= ? AND d.due_at <= ?
	AND d.endpoint_id NOT IN (SELECT e.id FROM endpoint e WHERE e.kind = 'pull')`

// HasExpiredKeys reports whether ExpireKeys would find something. It may read all that waits, and holds nobody up by that.
func (q *Queries) HasExpiredKeys(ctx context.Context, now Time) (bool, error) {
	ids, err := listOf[string](ctx, q, `SELECT d.id FROM delivery d WHERE `+expired+` LIMIT 1`, now, now)
	return len(ids) > 0, err
}
