package store

import "context"

// LoginDevice is a browser in which the owner of an account logged in.
type LoginDevice struct {
	TokenHash string `db:"token_hash"` // SHA-256 in hexadecimal of what the browser keeps
	AccountID string `db:"account_id"`
	CreatedAt Time   `db:"created_at"`
	UsedAt    Time   `db:"used_at"` // the last login
}

// LoginDevice finds a browser by the hash of what it keeps.
func (q *Queries) LoginDevice(ctx context.Context, tokenHash string) (LoginDevice, error) {
	return getOne[LoginDevice](ctx, q, `SELECT * FROM login_device WHERE token_hash = ?`, tokenHash)
}

// SaveLoginDevice adds a browser, or notes another login in it.
func (tx *Tx) SaveLoginDevice(ctx context.Context, tokenHash, accountID string) error {
	return tx.do(ctx, `INSERT INTO login_device (token_hash, account_id, created_at, used_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (token_hash) DO UPDATE SET used_at = excluded.used_at`, tokenHash, accountID, tx.Now, tx.Now)
}

// DeleteLoginDevices forgets the browsers of an account.
func (tx *Tx) DeleteLoginDevices(ctx context.Context, accountID string) error {
	return tx.do(ctx, `DELETE FROM login_device WHERE account_id = ?`, accountID)
}

// HasIdentity reports whether an OpenID Connect issuer knows the owner of an account.
func (q *Queries) HasIdentity(ctx context.Context, accountID string) (bool, error) {
	n, err := getOne[int](ctx, q, `SELECT COUNT(*) FROM account_identity WHERE account_id = ?`, accountID)
	return n > 0, err
}
