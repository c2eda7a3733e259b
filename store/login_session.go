package store

import "context"

// LoginSession is a browser in which somebody is logged in.
type LoginSession struct {
	ID        string `db:"id"`
	AccountID string `db:"account_id"`
	Epoch     int64  `db:"epoch"`   // session epoch of the account at login
	Address   string `db:"address"` // where the login came from
	Agent     string `db:"agent"`   // what the browser calls itself
	StartedAt Time   `db:"started_at"`
	SeenAt    Time   `db:"seen_at"`   // the last use that was written down
	ProvedAt  Time   `db:"proved_at"` // when the owner last gave a password or a factor
	// Provider is the issuer of the OpenID provider where it began, ProviderSession what that calls it, and IDToken, sealed, what it sent
	// last; all are empty for a login here. CheckedAt is when it last said who somebody is.
	Provider        string `db:"provider"`
	ProviderSession string `db:"provider_session"`
	IDToken         string `db:"id_token"`
	CheckedAt       Time   `db:"checked_at"`
}

// LoginSession finds a session by id.
func (q *Queries) LoginSession(ctx context.Context, id string) (LoginSession, error) {
	return getOne[LoginSession](ctx, q, `SELECT * FROM login_session WHERE id = ?`, id)
}

// LoginSessions lists at most limit sessions of an account that began after a moment, newest first.
func (q *Queries) LoginSessions(ctx context.Context, accountID string, after Time, limit int) ([]LoginSession, error) {
	return listOf[LoginSession](ctx, q, `SELECT * FROM login_session WHERE account_id = ? AND started_at > ? ORDER BY started_at DESC, id DESC LIMIT ?`,
		accountID, after, limit)
}

// ProviderSessions lists at most limit sessions that began as one session at a provider.
func (q *Queries) ProviderSessions(ctx context.Context, provider, session string, limit int) ([]LoginSession, error) {
	return listOf[LoginSession](ctx, q, `SELECT * FROM login_session WHERE provider = ? AND provider_session = ? AND provider_session <> '' ORDER BY id LIMIT ?`,
		provider, session, limit)
}

// InsertLoginSession adds a session that begins now, under a new id. Without a time its owner is proved now.
func (tx *Tx) InsertLoginSession(ctx context.Context, s *LoginSession) error {
	s.ID, s.StartedAt, s.SeenAt = tx.NewID("ses"), tx.Now, tx.Now
	if s.ProvedAt.IsZero() {
		s.ProvedAt = tx.Now
	}
	return tx.insert(ctx, "login_session", s)
}

// UpdateLoginSession writes when a session was seen and proved, and what its provider said last; one that is revoked is ErrNotFound.
func (tx *Tx) UpdateLoginSession(ctx context.Context, s *LoginSession) error {
	return tx.update(ctx, "login_session", s, "epoch", "seen_at", "proved_at", "provider_session", "id_token", "checked_at")
}

// DeleteLoginSession ends a session of an account.
func (tx *Tx) DeleteLoginSession(ctx context.Context, accountID, id string) error {
	return tx.one(ctx, `DELETE FROM login_session WHERE id = ? AND account_id = ?`, id, accountID)
}

// EndAllSessions ends the sessions of all accounts, and counts the accounts that had one.
func (tx *Tx) EndAllSessions(ctx context.Context) (int64, error) {
	n, err := tx.exec(ctx, `UPDATE account SET session_epoch = session_epoch + 1 WHERE id IN (SELECT account_id FROM login_session)`)
	if err != nil {
		return 0, err
	}
	return n, tx.do(ctx, `DELETE FROM login_session`)
}

// DeleteLoginSessions ends all sessions of an account.
func (tx *Tx) DeleteLoginSessions(ctx context.Context, accountID string) error {
	return tx.do(ctx, `DELETE FROM login_session WHERE account_id = ?`, accountID)
}

// DeleteOtherSessions ends all sessions of an account but one.
func (tx *Tx) DeleteOtherSessions(ctx context.Context, accountID, but string) error {
	return tx.do(ctx, `DELETE FROM login_session WHERE account_id = ? AND id <> ?`, accountID, but)
}

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
