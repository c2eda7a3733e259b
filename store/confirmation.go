package store

import (
	"context"
	"fmt"
)

// States of a Confirmation: it waits, and then one of the others for good.
const (
	ConfirmationWaiting   = "waiting"
	ConfirmationConfirmed = "confirmed"
	ConfirmationDeclined  = "declined"  // by a second person
	ConfirmationWithdrawn = "withdrawn" // by who asked
	ConfirmationExpired   = "expired"
	ConfirmationStale     = "stale" // what it is about changed meanwhile
)

// Confirmation is an action of one person that takes effect when a second person confirms it.
type Confirmation struct {
	ID          string  `db:"id"`
	Kind        string  `db:"kind"`
	Action      string  `db:"action"`
	ObjectKind  string  `db:"object_kind"`
	ObjectID    string  `db:"object_id"`
	ObjectName  string  `db:"object_name"`
	PartnerID   string  `db:"partner_id"`
	Args        string  `db:"args"`        // JSON
	Fingerprint string  `db:"fingerprint"` // of what the action is about as it was when it was asked
	Changes     Strings `db:"changes"`     // messages: what it does
	Reason      string  `db:"reason"`
	AskedBy     string  `db:"asked_by"` // an account
	AskedName   string  `db:"asked_name"`
	AskedEmail  string  `db:"asked_email"`
	AskedAt     Time    `db:"asked_at"`
	ExpiresAt   Time    `db:"expires_at"`
	Status      string  `db:"status"`
	DecidedBy   string  `db:"decided_by"` // an account; empty when nobody decided
	DecidedName string  `db:"decided_name"`
	DecidedAt   Time    `db:"decided_at"`
	Outcome     string  `db:"outcome"` // why it was declined, or what made it stale
}

// WaitsAt reports whether it can still be decided about at a moment.
func (c Confirmation) WaitsAt(now Time) bool {
	return c.Status == ConfirmationWaiting && c.ExpiresAt.After(now.Time)
}

// InsertConfirmation adds an action that waits, under a new id. ErrConflict means that the same action on the same object waits.
func (tx *Tx) InsertConfirmation(ctx context.Context, c *Confirmation) error {
	c.ID, c.AskedAt, c.Status = tx.NewID("cnf"), tx.Now, ConfirmationWaiting
	return tx.insert(ctx, "confirmation", c)
}

// DecideConfirmation writes what became of an action that waits. ErrConflict means that it does not wait any more.
func (tx *Tx) DecideConfirmation(ctx context.Context, c *Confirmation) error {
	c.DecidedAt = tx.Now
	n, err := tx.exec(ctx, `UPDATE confirmation SET status = ?, decided_by = ?, decided_name = ?, decided_at = ?, outcome = ? WHERE id = ? AND status = 'waiting'`,
		c.Status, c.DecidedBy, c.DecidedName, c.DecidedAt, c.Outcome, c.ID)
	if err != nil {
		return fmt.Errorf("decide about confirmation: %w", err)
	}
	if n == 0 {
		return ErrConflict
	}
	return nil
}

// ExpireConfirmations ends what waited for too long, and lists it.
func (tx *Tx) ExpireConfirmations(ctx context.Context) ([]Confirmation, error) {
	rows, err := listOf[Confirmation](ctx, &tx.Queries, `SELECT * FROM confirmation WHERE status = 'waiting' AND expires_at <= ?
		ORDER BY id LIMIT 100`+tx.skipLocked("confirmation"), tx.Now)
	for i := range rows {
		if err == nil {
			rows[i].Status = ConfirmationExpired
			err = tx.DecideConfirmation(ctx, &rows[i])
		}
	}
	return rows, err
}

// HasExpiredConfirmations reports whether ExpireConfirmations would find something.
func (q *Queries) HasExpiredConfirmations(ctx context.Context, now Time) (bool, error) {
	ids, err := listOf[string](ctx, q, `SELECT id FROM confirmation WHERE status = 'waiting' AND expires_at <= ? LIMIT 1`, now)
	return len(ids) > 0, err
}

// Confirmation finds one by id.
func (q *Queries) Confirmation(ctx context.Context, id string) (Confirmation, error) {
	return getOne[Confirmation](ctx, q, `SELECT * FROM confirmation WHERE id = ?`, id)
}

// WaitingConfirmation finds the action on an object that waits at a moment.
func (q *Queries) WaitingConfirmation(ctx context.Context, action, objectID string, now Time) (Confirmation, error) {
	return getOne[Confirmation](ctx, q, `SELECT * FROM confirmation WHERE action = ? AND object_id = ? AND status = 'waiting' AND expires_at > ?`, action, objectID, now)
}

// ConfirmationFilter selects confirmations; empty members select all. Now is needed with the statuses waiting and expired: what waited for too long
// has expired, whether that was written or not.
type ConfirmationFilter struct {
	Status, Kind string
	ObjectKinds  []string
	ObjectIDs    []string
	Now          Time
	Page
}

func (f ConfirmationFilter) where() (w where) {
	switch f.Status {
	case ConfirmationWaiting:
		w.add(`status = 'waiting' AND expires_at > ?`, f.Now)
	case ConfirmationExpired:
		w.add(`(status = 'expired' OR status = 'waiting' AND expires_at <= ?)`, f.Now)
	default:
		w.text(`status = ?`, f.Status)
	}
	w.text(`kind = ?`, f.Kind)
	w.in(`object_kind`, f.ObjectKinds)
	w.in(`object_id`, f.ObjectIDs)
	return w
}

// Confirmations lists confirmations, newest first, with their total count.
func (q *Queries) Confirmations(ctx context.Context, f ConfirmationFilter) ([]Confirmation, int, error) {
	return pageOf[Confirmation](ctx, q, `*`, `confirmation`, f.where(), `id DESC`, f.Page)
}

// CountConfirmations counts what a filter selects.
func (q *Queries) CountConfirmations(ctx context.Context, f ConfirmationFilter) (int, error) {
	return q.count(ctx, `confirmation`, f.where())
}

// AccountSubjects lists what OpenID Connect issuers call an account.
func (q *Queries) AccountSubjects(ctx context.Context, accountID string) ([]string, error) {
	return listOf[string](ctx, q, `SELECT subject FROM account_identity WHERE account_id = ? ORDER BY subject`, accountID)
}
