package store

import "context"

// Resend puts a delivery back to be tried from now on, under the given Idempotency-Key, unless it is open already or
// its subscription may not be sent to. It tells whether it did.
func (tx *Tx) Resend(ctx context.Context, id, key string, keyExpires Time) (bool, error) {
	n, err := tx.exec(ctx, `UPDATE delivery SET status = 'pending', reason = '', detail = '', round = 0, due_at = ?, lease_owner = '',
		idempotency_key = ?, key_expires_at = ?, updated_at = ?
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

// States of a job.
const (
	JobRunning   = "running"
	JobDone      = "done"
	JobCancelled = "cancelled"
)

// ResendJob resends or discards all deliveries a filter selects, in small steps.
type ResendJob struct {
	ID         string `db:"id"`
	PartnerID  string `db:"partner_id"` // whose job it is; empty for an administrator's
	Action     string `db:"action"`     // resend or discard
	Filter     string `db:"filter"`     // DeliveryFilter as JSON
	Reason     string `db:"reason"`
	Status     string `db:"status"`
	Total      int64  `db:"total"`
	Done       int64  `db:"done"`
	Refused    int64  `db:"refused"` // could not be resent, for instance because the subscription ended
	Cursor     string `db:"cursor"`
	CreatedBy  string `db:"created_by"`
	CreatedAt  Time   `db:"created_at"`
	UpdatedAt  Time   `db:"updated_at"`
	FinishedAt Time   `db:"finished_at"`
}

// InsertResendJob adds a running job under a new id.
func (tx *Tx) InsertResendJob(ctx context.Context, j *ResendJob) error {
	j.ID, j.Status, j.CreatedAt, j.UpdatedAt = tx.NewID("rsd"), JobRunning, tx.Now, tx.Now
	return tx.insert(ctx, "resend_job", j)
}

// UpdateResendJob writes the progress of a job.
func (tx *Tx) UpdateResendJob(ctx context.Context, j *ResendJob) error {
	j.UpdatedAt = tx.Now
	return tx.update(ctx, "resend_job", j, "status", "done", "refused", "cursor", "updated_at", "finished_at")
}

// LockResendJob reads a job for its next step, so that no other node takes the same step.
func (tx *Tx) LockResendJob(ctx context.Context, id string) (ResendJob, error) {
	query := `SELECT * FROM resend_job WHERE id = ?`
	if tx.dialect == Postgres {
		query += ` FOR UPDATE`
	}
	var j ResendJob
	return j, tx.get(ctx, &j, query, id)
}

// ResendJob finds a job.
func (q *Queries) ResendJob(ctx context.Context, id string) (ResendJob, error) {
	var j ResendJob
	return j, q.get(ctx, &j, `SELECT * FROM resend_job WHERE id = ?`, id)
}

// RunningResendJobs lists the jobs that are not finished, oldest first.
func (q *Queries) RunningResendJobs(ctx context.Context) ([]ResendJob, error) {
	var rows []ResendJob
	return rows, q.list(ctx, &rows, `SELECT * FROM resend_job WHERE status = 'running' ORDER BY id`)
}

// ResendJobs lists the jobs of a partner, or of administrators when partnerID is empty, newest first.
func (q *Queries) ResendJobs(ctx context.Context, partnerID string, p Page) ([]ResendJob, int, error) {
	w := where{}
	w.add(`partner_id = ?`, partnerID)
	var rows []ResendJob
	total, err := q.page(ctx, &rows, `*`, `resend_job`, w, `id DESC`, p)
	return rows, total, err
}
