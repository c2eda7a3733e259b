package store

import "context"

// InsertLink adds a one-time link by the hash of its token. Older unused links of the same purpose and subject die.
func (tx *Tx) InsertLink(ctx context.Context, tokenHash []byte, purpose, subject string, expires Time) error {
	if err := tx.RevokeLinks(ctx, purpose, subject); err != nil {
		return err
	}
	_, err := tx.exec(ctx, `INSERT INTO one_time_link (token_hash, purpose, subject, created_at, expires_at) VALUES (?, ?, ?, ?, ?)`,
		tokenHash, purpose, subject, tx.Now, expires)
	return err
}

// RevokeLinks ends all links of a purpose for a subject.
func (tx *Tx) RevokeLinks(ctx context.Context, purpose, subject string) error {
	_, err := tx.exec(ctx, `DELETE FROM one_time_link WHERE purpose = ? AND subject = ?`, purpose, subject)
	return err
}

// LinkSubject tells whom a live, unused link of this purpose is for, without using it.
func (q *Queries) LinkSubject(ctx context.Context, tokenHash []byte, purpose string, now Time) (string, error) {
	var subject string
	return subject, q.get(ctx, &subject, `SELECT subject FROM one_time_link
		WHERE token_hash = ? AND purpose = ? AND used_at IS NULL AND expires_at > ?`, tokenHash, purpose, now)
}

// UseLink uses a link up and tells whom it is for; a used, expired or unknown one is ErrNotFound.
func (tx *Tx) UseLink(ctx context.Context, tokenHash []byte, purpose string) (string, error) {
	subject, err := tx.LinkSubject(ctx, tokenHash, purpose, tx.Now)
	if err != nil {
		return "", err
	}
	return subject, tx.one(ctx, `UPDATE one_time_link SET used_at = ? WHERE token_hash = ? AND used_at IS NULL`, tx.Now, tokenHash)
}

// Throttle is what is remembered of failed logins for one bucket (an account or an address).
type Throttle struct {
	Bucket       string `db:"bucket"`
	Failures     int64  `db:"failures"`
	BlockedUntil Time   `db:"blocked_until"`
	UpdatedAt    Time   `db:"updated_at"`
}

// Throttle reads a bucket; an unknown one is empty.
func (q *Queries) Throttle(ctx context.Context, bucket string) (Throttle, error) {
	t := Throttle{Bucket: bucket}
	err := q.get(ctx, &t, `SELECT * FROM login_throttle WHERE bucket = ?`, bucket)
	if err == ErrNotFound {
		err = nil
	}
	return t, err
}

// SaveThrottle writes a bucket; one without failures is removed.
func (tx *Tx) SaveThrottle(ctx context.Context, t Throttle) error {
	if t.Failures == 0 {
		_, err := tx.exec(ctx, `DELETE FROM login_throttle WHERE bucket = ?`, t.Bucket)
		return err
	}
	_, err := tx.exec(ctx, `INSERT INTO login_throttle (bucket, failures, blocked_until, updated_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (bucket) DO UPDATE SET failures = excluded.failures, blocked_until = excluded.blocked_until, updated_at = excluded.updated_at`,
		t.Bucket, t.Failures, t.BlockedUntil, tx.Now)
	return err
}

// LockThrottle reads a bucket and keeps others from changing it until the transaction ends, so that logins tried at
// the same moment are counted one by one.
func (tx *Tx) LockThrottle(ctx context.Context, bucket string) (Throttle, error) {
	var t Throttle
	return t, tx.get(ctx, &t, `INSERT INTO login_throttle (bucket, failures, updated_at) VALUES (?, 0, ?)
		ON CONFLICT (bucket) DO UPDATE SET bucket = excluded.bucket
		RETURNING bucket, failures, blocked_until, updated_at`, bucket, tx.Now)
}
