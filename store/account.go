package store

import (
	"context"
	"errors"
	"time"
)

// Roles of a portal account: the first four are of the organisation that runs this Schakel, the others of a partner. What a role allows
// the registry decides.
const (
	RoleAdministrator = "administrator"
	RoleApprover      = "approver"
	RoleOperator      = "operator"
	RoleAuditor       = "auditor"
	RoleManager       = "manager"
	RoleIntegrator    = "integrator"
	RoleReader        = "reader"
)

// States of a portal account.
const (
	AccountInvited = "invited" // has no way to log in yet: its link was not used
	AccountActive  = "active"
	AccountBlocked = "blocked"
)

// Account is a person who can log in to the portal.
type Account struct {
	ID           string `db:"id"`
	Email        string `db:"email"` // lower case
	Name         string `db:"name"`
	PasswordHash string `db:"password_hash"` // argon2id; empty when the account has none
	Role         string `db:"role"`
	PartnerID    string `db:"partner_id"` // empty for the roles of the organisation
	Status       string `db:"status"`
	SessionEpoch int64  `db:"session_epoch"` // sessions of an older epoch have ended
	CreatedAt    Time   `db:"created_at"`
	UpdatedAt    Time   `db:"updated_at"`
	LastLoginAt  Time   `db:"last_login_at"`
	// PreviousLoginAt is the login before the last one; zero when there was none.
	PreviousLoginAt Time   `db:"previous_login_at"`
	Language        string `db:"language"`      // of the portal, as a BCP 47 tag; empty follows the browser
	LastLanguage    string `db:"last_language"` // of the pages on which it logged in last; empty when not known
	TimeZone        string `db:"time_zone"`     // IANA name, such as Europe/Amsterdam; empty follows the browser
	// Notify and the fields below choose the mails about issues, dead letters and held deliveries. The default is immediately.
	Notify      string `db:"notify"`
	DigestEvery string `db:"digest_every"`
	DigestDay   int64  `db:"digest_day"`  // of a weekly digest: 0 is Sunday
	DigestHour  int64  `db:"digest_hour"` // 0 to 23, in the time zone of the account
	DigestDue   Time   `db:"digest_due"`  // zero for none
	DigestFrom  Time   `db:"digest_from"` // what happened since is told in the next one
	// Factors counts its second factors: InsertFactor and DeleteFactor change it. ShortPassword says that the password is too short to
	// stand alone.
	Factors       int64 `db:"factors"`
	ShortPassword bool  `db:"short_password"`
}

// InsertAccount adds an account under a new id. A second account with the e-mail address is ErrConflict.
func (tx *Tx) InsertAccount(ctx context.Context, a *Account) error {
	a.ID, a.CreatedAt, a.UpdatedAt = tx.NewID("acc"), tx.Now, tx.Now
	if a.Notify == "" {
		a.Notify, a.DigestEvery, a.DigestDay, a.DigestHour = NotifyImmediate, DigestDaily, 1, 7
	}
	return tx.insert(ctx, "account", a)
}

// UpdateAccount writes all that may change of an account.
func (tx *Tx) UpdateAccount(ctx context.Context, a *Account) error {
	a.UpdatedAt = tx.Now
	return tx.update(ctx, "account", a, "email", "name", "password_hash", "role", "partner_id", "status", "session_epoch",
		"updated_at", "last_login_at", "previous_login_at", "language", "last_language", "time_zone",
		"notify", "digest_every", "digest_day", "digest_hour", "digest_due", "digest_from", "short_password")
}

// DeleteAccount removes an account with all that is its own: factors, sessions, browsers, filters, links, and what a provider calls it. What
// its owner did stays in the audit trail.
func (tx *Tx) DeleteAccount(ctx context.Context, id string) error {
	for _, own := range []string{
		`DELETE FROM account_identity WHERE account_id = ?`, `DELETE FROM account_factor WHERE account_id = ?`, `DELETE FROM recovery_code WHERE account_id = ?`,
		`DELETE FROM login_session WHERE account_id = ?`, `DELETE FROM login_device WHERE account_id = ?`, `DELETE FROM saved_filter WHERE account_id = ?`,
		`DELETE FROM one_time_link WHERE purpose IN ('invitation', 'password-reset') AND subject = ?`,
	} {
		if err := tx.do(ctx, own, id); err != nil {
			return err
		}
	}
	return tx.one(ctx, `DELETE FROM account WHERE id = ?`, id)
}

// Account finds an account by id.
func (q *Queries) Account(ctx context.Context, id string) (Account, error) {
	return getOne[Account](ctx, q, `SELECT * FROM account WHERE id = ?`, id)
}

// AccountByEmail finds an account by its lower-case e-mail address.
func (q *Queries) AccountByEmail(ctx context.Context, email string) (Account, error) {
	return getOne[Account](ctx, q, `SELECT * FROM account WHERE email = ?`, email)
}

// AccountByIdentity finds the account an OpenID Connect issuer knows as subject.
func (q *Queries) AccountByIdentity(ctx context.Context, issuer, subject string) (Account, error) {
	return getOne[Account](ctx, q, `SELECT a.* FROM account a JOIN account_identity i ON i.account_id = a.id
		WHERE i.issuer = ? AND i.subject = ?`, issuer, subject)
}

// InsertIdentity ties an account to what an OpenID Connect issuer calls it.
func (tx *Tx) InsertIdentity(ctx context.Context, accountID, issuer, subject string) error {
	return tx.do(ctx, `INSERT INTO account_identity (issuer, subject, account_id, created_at) VALUES (?, ?, ?, ?)`,
		issuer, subject, accountID, tx.Now)
}

// Accounts lists the accounts of a partner, or of all administrators when partnerID is empty, by e-mail address.
func (q *Queries) Accounts(ctx context.Context, partnerID string) ([]Account, error) {
	return listOf[Account](ctx, q, `SELECT * FROM account WHERE partner_id = ? ORDER BY email`, partnerID)
}

// InsertLink adds a one-time link by the hash of its token. Older unused links of the same purpose and subject die.
func (tx *Tx) InsertLink(ctx context.Context, tokenHash []byte, purpose, subject string, expires Time) error {
	if err := tx.RevokeLinks(ctx, purpose, subject); err != nil {
		return err
	}
	return tx.do(ctx, `INSERT INTO one_time_link (token_hash, purpose, subject, created_at, expires_at) VALUES (?, ?, ?, ?, ?)`,
		tokenHash, purpose, subject, tx.Now, expires)
}

// LinkExpiry finds until when the unused link of a purpose for a subject works.
func (q *Queries) LinkExpiry(ctx context.Context, purpose, subject string, now Time) (Time, error) {
	return getOne[Time](ctx, q, `SELECT expires_at FROM one_time_link WHERE purpose = ? AND subject = ? AND used_at IS NULL AND expires_at > ?`, purpose, subject, now)
}

// RevokeLinks ends all links of a purpose for a subject.
func (tx *Tx) RevokeLinks(ctx context.Context, purpose, subject string) error {
	return tx.do(ctx, `DELETE FROM one_time_link WHERE purpose = ? AND subject = ?`, purpose, subject)
}

// LinkSubject returns whom a live, unused link of this purpose is for, without using it.
func (q *Queries) LinkSubject(ctx context.Context, tokenHash []byte, purpose string, now Time) (string, error) {
	return getOne[string](ctx, q, `SELECT subject FROM one_time_link
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

// Throttle counts the failed logins of one bucket (an account or an address).
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
		return tx.do(ctx, `DELETE FROM login_throttle WHERE bucket = ?`, t.Bucket)
	}
	return tx.do(ctx, `INSERT INTO login_throttle (bucket, failures, blocked_until, updated_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (bucket) DO UPDATE SET failures = excluded.failures, blocked_until = excluded.blocked_until, updated_at = excluded.updated_at`,
		t.Bucket, t.Failures, t.BlockedUntil, tx.Now)
}

// LockThrottle reads a bucket and keeps others from changing it until the transaction ends, so that logins tried at
// the same moment are counted one by one.
func (tx *Tx) LockThrottle(ctx context.Context, bucket string) (Throttle, error) {
	return getOne[Throttle](ctx, &tx.Queries, `INSERT INTO login_throttle (bucket, failures, updated_at) VALUES (?, 0, ?)
		ON CONFLICT (bucket) DO UPDATE SET bucket = excluded.bucket
		RETURNING bucket, failures, blocked_until, updated_at`, bucket, tx.Now)
}

// SessionFind reads a portal session by the hash of its token. An expired or unknown one is not found.
func (db *DB) SessionFind(ctx context.Context, tokenHash []byte) (data []byte, expires time.Time, found bool, err error) {
	var row struct {
		Data      []byte `db:"data"`
		ExpiresAt Time   `db:"expires_at"`
	}
	err = db.get(ctx, &row, `SELECT data, expires_at FROM session WHERE token_hash = ? AND expires_at > ?`, tokenHash, At(db.now()))
	if errors.Is(err, ErrNotFound) {
		return nil, time.Time{}, false, nil
	}
	return row.Data, row.ExpiresAt.Time, err == nil, err
}

// SessionSave writes a session until expires.
func (db *DB) SessionSave(ctx context.Context, tokenHash, data []byte, expires time.Time) error {
	return db.Write(ctx, func(tx *Tx) error {
		return tx.do(ctx, `INSERT INTO session (token_hash, data, expires_at) VALUES (?, ?, ?)
			ON CONFLICT (token_hash) DO UPDATE SET data = excluded.data, expires_at = excluded.expires_at`,
			tokenHash, data, At(expires))
	})
}

// SessionDelete ends a session; ending an unknown one is no error.
func (db *DB) SessionDelete(ctx context.Context, tokenHash []byte) error {
	return db.Write(ctx, func(tx *Tx) error {
		return tx.do(ctx, `DELETE FROM session WHERE token_hash = ?`, tokenHash)
	})
}

// UseOnce records value until expires and reports whether this was its first use. All nodes share the record.
func (db *DB) UseOnce(ctx context.Context, value string, expires time.Time) (bool, error) {
	var first bool
	err := db.Write(ctx, func(tx *Tx) (err error) {
		first, err = tx.UseOnce(ctx, value, expires)
		return err
	})
	return first, err
}

// UseOnce is that of DB, together with what the use does.
func (tx *Tx) UseOnce(ctx context.Context, value string, expires time.Time) (bool, error) {
	n, err := tx.exec(ctx, `INSERT INTO used_once (value, expires_at) VALUES (?, ?) ON CONFLICT (value) DO NOTHING`, value, At(expires))
	return n == 1, err
}
