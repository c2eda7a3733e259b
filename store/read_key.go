package store

import "context"

// ReadKey is a static token with which a pipeline reads the contract register as
// its partner does. The token itself is not kept.
type ReadKey struct {
	ID           string `db:"id"`
	PartnerID    string `db:"partner_id"`
	Name         string `db:"name"`
	SecretHash   string `db:"secret_hash"`
	Hint         string `db:"hint"` // its last characters
	CreatedAt    Time   `db:"created_at"`
	CreatedBy    string `db:"created_by"`
	ExpiresAt    Time   `db:"expires_at"`   // unset: never
	LastUsedAt   Time   `db:"last_used_at"` // to the hour or so; unset: never
	RevokedAt    Time   `db:"revoked_at"`
	RevokeReason string `db:"revoke_reason"`
}

// InsertReadKey adds a key under a new id.
func (tx *Tx) InsertReadKey(ctx context.Context, k *ReadKey) error {
	k.ID, k.CreatedAt = tx.NewID("rdk"), tx.Now
	return tx.insert(ctx, "read_key", k)
}

// RevokeReadKey ends a key; ErrNotFound when it is revoked already.
func (tx *Tx) RevokeReadKey(ctx context.Context, id, reason string) error {
	return tx.one(ctx, `UPDATE read_key SET revoked_at = ?, revoke_reason = ? WHERE id = ? AND revoked_at IS NULL`, tx.Now, reason, id)
}

// TouchReadKey records that a key was used now.
func (tx *Tx) TouchReadKey(ctx context.Context, id string) error {
	return tx.one(ctx, `UPDATE read_key SET last_used_at = ? WHERE id = ?`, tx.Now, id)
}

// ReadKey finds a key by its id.
func (q *Queries) ReadKey(ctx context.Context, id string) (ReadKey, error) {
	var k ReadKey
	return k, q.get(ctx, &k, `SELECT * FROM read_key WHERE id = ?`, id)
}

// ReadKeyBySecret finds a key by the hash of its token.
func (q *Queries) ReadKeyBySecret(ctx context.Context, hash string) (ReadKey, error) {
	var k ReadKey
	return k, q.get(ctx, &k, `SELECT * FROM read_key WHERE secret_hash = ?`, hash)
}

// ReadKeys lists the keys of a partner, newest first.
func (q *Queries) ReadKeys(ctx context.Context, partnerID string) ([]ReadKey, error) {
	var rows []ReadKey
	return rows, q.list(ctx, &rows, `SELECT * FROM read_key WHERE partner_id = ? ORDER BY id DESC`, partnerID)
}
