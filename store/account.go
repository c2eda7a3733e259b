package store

import "context"

// Roles and states of a portal account.
const (
	RoleAdministrator = "administrator"
	RolePartner       = "partner"
	AccountInvited    = "invited" // has no way to log in yet: its link was not used
	AccountActive     = "active"
	AccountBlocked    = "blocked"
)

// Account is a person who can log in to the portal.
type Account struct {
	ID           string `db:"id"`
	Email        string `db:"email"` // lower case
	Name         string `db:"name"`
	PasswordHash string `db:"password_hash"` // argon2id; empty when the account has none
	Role         string `db:"role"`
	PartnerID    string `db:"partner_id"` // of RolePartner
	Status       string `db:"status"`
	SessionEpoch int64  `db:"session_epoch"` // sessions of an older epoch have ended
	CreatedAt    Time   `db:"created_at"`
	UpdatedAt    Time   `db:"updated_at"`
	LastLoginAt  Time   `db:"last_login_at"`
	// PreviousLoginAt is the login before the last one; zero when there was none.
	PreviousLoginAt Time `db:"previous_login_at"`
}

// InsertAccount adds an account under a new id. A second account with the e-mail address is ErrConflict.
func (tx *Tx) InsertAccount(ctx context.Context, a *Account) error {
	a.ID, a.CreatedAt, a.UpdatedAt = tx.NewID("acc"), tx.Now, tx.Now
	return tx.insert(ctx, "account", a)
}

// UpdateAccount writes all that may change of an account.
func (tx *Tx) UpdateAccount(ctx context.Context, a *Account) error {
	a.UpdatedAt = tx.Now
	return tx.update(ctx, "account", a, "email", "name", "password_hash", "role", "partner_id", "status", "session_epoch",
		"updated_at", "last_login_at", "previous_login_at")
}

// Account finds an account by id.
func (q *Queries) Account(ctx context.Context, id string) (Account, error) {
	var a Account
	return a, q.get(ctx, &a, `SELECT * FROM account WHERE id = ?`, id)
}

// AccountByEmail finds an account by its lower-case e-mail address.
func (q *Queries) AccountByEmail(ctx context.Context, email string) (Account, error) {
	var a Account
	return a, q.get(ctx, &a, `SELECT * FROM account WHERE email = ?`, email)
}

// AccountByIdentity finds the account an OpenID Connect issuer knows as subject.
func (q *Queries) AccountByIdentity(ctx context.Context, issuer, subject string) (Account, error) {
	var a Account
	return a, q.get(ctx, &a, `SELECT a.* FROM account a JOIN account_identity i ON i.account_id = a.id
		WHERE i.issuer = ? AND i.subject = ?`, issuer, subject)
}

// InsertIdentity ties an account to what an OpenID Connect issuer calls it.
func (tx *Tx) InsertIdentity(ctx context.Context, accountID, issuer, subject string) error {
	_, err := tx.exec(ctx, `INSERT INTO account_identity (issuer, subject, account_id, created_at) VALUES (?, ?, ?, ?)`,
		issuer, subject, accountID, tx.Now)
	return err
}

// Accounts lists the accounts of a partner, or of all administrators when partnerID is empty, by e-mail address.
func (q *Queries) Accounts(ctx context.Context, partnerID string) ([]Account, error) {
	var rows []Account
	return rows, q.list(ctx, &rows, `SELECT * FROM account WHERE partner_id = ? ORDER BY email`, partnerID)
}
