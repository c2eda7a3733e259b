package store

import "context"

// How an account is told of issues, dead letters and held deliveries.
const (
	NotifyImmediate = "immediate" // the default
	NotifyDigest    = "digest"
	NotifyBoth      = "both"
	NotifyOff       = "off"
)

// How often a digest comes.
const (
	DigestDaily  = "daily" // the default
	DigestWeekly = "weekly"
)

// TellsAtOnce reports whether the owner of an account wants mails when something happens.
func (a Account) TellsAtOnce() bool {
	return a.Status == AccountActive && (a.Notify == NotifyImmediate || a.Notify == NotifyBoth)
}

// HasDigestDue reports whether DueDigests would find something.
func (q *Queries) HasDigestDue(ctx context.Context, now Time) (bool, error) {
	ids, err := listOf[string](ctx, q, `SELECT id FROM account WHERE digest_due IS NOT NULL AND digest_due <= ? LIMIT 1`, now)
	return len(ids) > 0, err
}

// DueDigests lists up to limit accounts whose digest is due. Until the transaction ends no other node gets them.
func (tx *Tx) DueDigests(ctx context.Context, limit int) ([]Account, error) {
	return listOf[Account](ctx, &tx.Queries, `SELECT * FROM account WHERE digest_due IS NOT NULL AND digest_due <= ?
		ORDER BY digest_due, id LIMIT ?`+tx.skipLocked("account"), tx.Now, limit)
}

// RaisedIssues lists up to limit issues that are open since a moment, the longest first, and that people were neither told of then, nor
// at all since another moment. Until the transaction ends no other node gets them.
func (tx *Tx) RaisedIssues(ctx context.Context, raised, told Time, limit int) ([]Issue, error) {
	return listOf[Issue](ctx, &tx.Queries, `SELECT * FROM issue WHERE raised_at IS NOT NULL AND raised_at <= ? AND (told_at IS NULL OR told_at <= ?)
		ORDER BY raised_at, id LIMIT ?`+tx.skipLocked("issue"), raised, told, limit)
}

// HasRaisedIssues reports whether RaisedIssues would find something.
func (q *Queries) HasRaisedIssues(ctx context.Context, raised, told Time) (bool, error) {
	ids, err := listOf[string](ctx, q, `SELECT id FROM issue WHERE raised_at IS NOT NULL AND raised_at <= ? AND (told_at IS NULL OR told_at <= ?) LIMIT 1`, raised, told)
	return len(ids) > 0, err
}

// IssuesTold notes that people were told of the open issues of an endpoint.
func (tx *Tx) IssuesTold(ctx context.Context, endpointID string) error {
	return tx.do(ctx, `UPDATE issue SET raised_at = NULL, told_at = ? WHERE endpoint_id = ? AND status <> 'resolved' AND raised_at IS NOT NULL`, tx.Now, endpointID)
}
