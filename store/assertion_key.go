package store

import "context"

// AssertionKey is a key with a certificate that signs our client assertions; the private part is sealed.
type AssertionKey struct {
	ID          string `db:"id"` // its kid
	Algorithm   string `db:"algorithm"`
	PrivateKey  string `db:"private_key"`
	Certificate string `db:"certificate"` // PEM, with those that lead to its root
	NotAfter    Time   `db:"not_after"`
	CreatedAt   Time   `db:"created_at"`
	StartsAt    Time   `db:"starts_at"`
	RetiredAt   Time   `db:"retired_at"`
}

// InsertAssertionKey adds a key; ErrConflict when it is there.
func (tx *Tx) InsertAssertionKey(ctx context.Context, k *AssertionKey) error {
	k.CreatedAt = tx.Now
	return tx.insert(ctx, "assertion_key", k)
}

// AssertionKeys lists the keys, the one that starts last first.
func (q *Queries) AssertionKeys(ctx context.Context) ([]AssertionKey, error) {
	return listOf[AssertionKey](ctx, q, `SELECT * FROM assertion_key ORDER BY starts_at DESC, created_at DESC, id DESC`)
}

// RetireAssertionKeys ends the keys that are in use by a moment; they stay published for a while.
func (tx *Tx) RetireAssertionKeys(ctx context.Context, at Time) error {
	return tx.do(ctx, `UPDATE assertion_key SET retired_at = ? WHERE retired_at IS NULL OR retired_at > ?`, at, at)
}
