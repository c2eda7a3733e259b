package store

import "context"

// Resend puts a delivery back to be tried from now on, under the given Idempotency-Key, unless it is open already or
// its subscription may not be sent to. It tells whether it did.
func (tx *Tx) Resend(ctx context.Context, id, key string, keyExpires Time) (bool, error) {
	n, err := tx.exec(ctx, `UPDATE delivery SET status = 'pending', reason = '', detail = '', round = 0, due_at = ?, lease_owner = '',
		batch_id = '', alone = TRUE, idempotency_key = ?, key_expires_at = ?, updated_at = ?
		WHERE id = ? AND status IN ('held', 'dead', 'delivered')
		AND EXISTS (SELECT 1 FROM endpoint e WHERE e.id = delivery.endpoint_id AND e.status <> 'ended') AND (subscription_id = '' OR EXISTS
			(SELECT 1 FROM subscription s WHERE s.id = delivery.subscription_id AND s.sending))`,
		tx.Now, key, keyExpires, tx.Now, id)
	return n == 1, err
}

// TryNow makes an open delivery that waits for its next try due at once.
func (tx *Tx) TryNow(ctx context.Context, id string) (bool, error) {
	n, err := tx.exec(ctx, `UPDATE delivery SET due_at = ?, updated_at = ? WHERE id = ? AND status = 'retrying' AND lease_owner = ''`, tx.Now, tx.Now, id)
	return n == 1, err
}

// Discard takes a held or dead delivery out of its queue for good. It tells whether it did.
func (tx *Tx) Discard(ctx context.Context, id, detail string) (bool, error) {
	n, err := tx.exec(ctx, `UPDATE delivery SET status = 'discarded', detail = ?, due_at = NULL, updated_at = ?
		WHERE id = ? AND status IN ('held', 'dead')`, detail, tx.Now, id)
	return n == 1, err
}

// HoldStopped holds up to limit open deliveries of subscriptions that may not be sent to, so that they can be seen,
// and tells how many. A subscription that ended leaves dead letters. What a pull consumer has in its hands it may settle
// until its lease ends. CROSS JOIN makes SQLite begin with the few subscriptions and not with all that waits.
func (tx *Tx) HoldStopped(ctx context.Context, limit int) (int64, error) {
	return tx.exec(ctx, `WITH stopped AS MATERIALIZED (SELECT d.id FROM subscription s CROSS JOIN delivery d
			WHERE d.subscription_id = s.id AND NOT s.sending AND d.status IN ('pending', 'retrying')
			AND NOT (d.lease_owner LIKE 'lck%' AND d.due_at > ?) LIMIT ?`+tx.skipLocked("d")+`)
		UPDATE delivery SET due_at = NULL, lease_owner = '', updated_at = ?,
		status = CASE WHEN (SELECT s.status FROM subscription s WHERE s.id = delivery.subscription_id) = 'ended' THEN 'dead' ELSE 'held' END,
		reason = 'subscription-' || (SELECT CASE WHEN s.status = 'approved' THEN 'suspended' ELSE s.status END
			FROM subscription s WHERE s.id = delivery.subscription_id)
		WHERE id IN (SELECT id FROM stopped)`, tx.Now, limit, tx.Now)
}

// ReleaseHeld makes up to limit deliveries pending again that were held for a subscription or an endpoint which may be
// sent to now. Both conditions on the state are needed: SQLite uses a partial index only by its very words.
func (tx *Tx) ReleaseHeld(ctx context.Context, limit int) (int64, error) {
	return tx.exec(ctx, `WITH released AS MATERIALIZED (SELECT d.id FROM delivery d
			JOIN endpoint e ON e.id = d.endpoint_id AND e.status = 'active'
			LEFT JOIN subscription s ON s.id = d.subscription_id
			WHERE d.status = 'held' AND d.status IN ('held', 'dead') AND d.reason IN ('subscription-paused', 'subscription-suspended', 'endpoint-suspended')
			AND (s.sending OR d.subscription_id = '') LIMIT ?`+tx.skipLocked("d")+`)
		UPDATE delivery SET status = 'pending', reason = '', detail = '', due_at = ?, updated_at = ?
		WHERE id IN (SELECT id FROM released)`, limit, tx.Now, tx.Now)
}

// ExpireKeys makes up to limit open deliveries dead whose Idempotency-Key has expired, and tells how many: a new key needs
// a person's confirmation, which is the resend (IDEM-12, IDEM-13). What a consumer pulls carries no key and waits as long as it
// takes.
func (tx *Tx) ExpireKeys(ctx context.Context, limit int) (int64, error) {
	return tx.exec(ctx, `WITH expired AS MATERIALIZED (`+expiredKeys+` LIMIT ?`+tx.skipLocked("d")+`)
		UPDATE delivery SET status = 'dead', reason = 'key-expired', due_at = NULL, lease_owner = '', updated_at = ?,
		detail = 'The Idempotency-Key expired before the event arrived. Resend it to send it under a new key.'
		WHERE id IN (SELECT id FROM expired)`, tx.Now, tx.Now, limit, tx.Now)
}

const expiredKeys = `SELECT d.id FROM delivery d WHERE d.status IN ('pending', 'retrying') AND d.key_expires_at <= ? AND d.due_at <= ?
	AND d.endpoint_id NOT IN (SELECT e.id FROM endpoint e WHERE e.kind = 'pull')`

// HasExpiredKeys tells whether ExpireKeys would find something. It may read all that waits, and holds nobody up by that.
func (q *Queries) HasExpiredKeys(ctx context.Context, now Time) (bool, error) {
	var ids []string
	err := q.list(ctx, &ids, expiredKeys+` LIMIT 1`, now, now)
	return len(ids) > 0, err
}
