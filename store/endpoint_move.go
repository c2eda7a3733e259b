package store

import (
	"context"
	"fmt"
)

// Modes and states of an EndpointMove.
const (
	MoveApproval = "approval" // it waits for somebody of the organisation
	MoveProof    = "proof"    // it waits for the new host

	MoveWaiting   = "waiting"
	MoveDone      = "done"
	MoveDeclined  = "declined"
	MoveWithdrawn = "withdrawn" // by a person, by another change, or with its endpoint
	MoveExpired   = "expired"
	MoveStale     = "stale" // the endpoint changed meanwhile
)

// EndpointMove is a change of where an endpoint sends to that waits.
type EndpointMove struct {
	ID              string `db:"id"`
	EndpointID      string `db:"endpoint_id"`
	PartnerID       string `db:"partner_id"`
	Mode            string `db:"mode"`
	URL             string `db:"url"`
	TokenURL        string `db:"token_url"`
	TokenClientID   string `db:"token_client_id"`
	TokenSecret     string `db:"token_secret"` // sealed; empty once it is decided
	TokenScope      string `db:"token_scope"`
	TokenAuthMethod string `db:"token_auth_method"`
	Certificates    string `db:"certificates"` // as of an Endpoint; empty once it is decided
	Fingerprint     string `db:"fingerprint"`  // of the destination it takes the place of
	Challenge       string `db:"challenge"`
	AskedBy         string `db:"asked_by"` // an account
	AskedName       string `db:"asked_name"`
	AskedAt         Time   `db:"asked_at"`
	ExpiresAt       Time   `db:"expires_at"`
	Status          string `db:"status"`
	TriedAt         Time   `db:"tried_at"` // zero: never
	Tried           string `db:"tried"`    // a message
	DecidedName     string `db:"decided_name"`
	DecidedAt       Time   `db:"decided_at"`
	Outcome         string `db:"outcome"`
}

// WaitsAt reports whether it can still be decided about at a moment.
func (m EndpointMove) WaitsAt(now Time) bool {
	return m.Status == MoveWaiting && m.ExpiresAt.After(now.Time)
}

// InsertEndpointMove adds a change under a new id; one of the same endpoint that waits is withdrawn.
func (tx *Tx) InsertEndpointMove(ctx context.Context, m *EndpointMove) error {
	if err := tx.withdrawMoves(ctx, m.EndpointID); err != nil {
		return err
	}
	m.ID, m.AskedAt, m.Status = tx.NewID("mov"), tx.Now, MoveWaiting
	return tx.insert(ctx, "endpoint_move", m)
}

// withdrawMoves ends what waits at an endpoint that ended, or was changed again.
func (tx *Tx) withdrawMoves(ctx context.Context, endpointID string) error {
	_, err := tx.exec(ctx, `UPDATE endpoint_move SET status = 'withdrawn', decided_at = ?, token_secret = '', certificates = '' WHERE endpoint_id = ? AND status = 'waiting'`,
		tx.Now, endpointID)
	return err
}

// DecideEndpointMove writes what became of a change that waits, and removes its secrets. ErrConflict means that it does not wait any more.
func (tx *Tx) DecideEndpointMove(ctx context.Context, m *EndpointMove) error {
	m.DecidedAt, m.TokenSecret, m.Certificates = tx.Now, "", ""
	n, err := tx.exec(ctx, `UPDATE endpoint_move SET status = ?, decided_name = ?, decided_at = ?, outcome = ?, token_secret = '', certificates = ''
		WHERE id = ? AND status = 'waiting'`, m.Status, m.DecidedName, m.DecidedAt, m.Outcome, m.ID)
	if err != nil {
		return fmt.Errorf("decide about change of destination: %w", err)
	}
	if n == 0 {
		return ErrConflict
	}
	return nil
}

// ExpireEndpointMoves ends what waited for too long, and lists it.
func (tx *Tx) ExpireEndpointMoves(ctx context.Context) ([]EndpointMove, error) {
	rows, err := listOf[EndpointMove](ctx, &tx.Queries, `SELECT * FROM endpoint_move WHERE status = 'waiting' AND expires_at <= ?
		ORDER BY id LIMIT 100`+tx.skipLocked("endpoint_move"), tx.Now)
	for i := range rows {
		if err == nil {
			rows[i].Status = MoveExpired
			err = tx.DecideEndpointMove(ctx, &rows[i])
		}
	}
	return rows, err
}

// ClaimEndpointMoves takes up to ten changes whose challenge was not asked for since a moment, and notes that it is asked for now, so that no other
// node does.
func (tx *Tx) ClaimEndpointMoves(ctx context.Context, since Time) ([]EndpointMove, error) {
	rows, err := listOf[EndpointMove](ctx, &tx.Queries, `SELECT * FROM endpoint_move WHERE status = 'waiting' AND mode = 'proof' AND expires_at > ?
		AND (tried_at IS NULL OR tried_at <= ?) ORDER BY tried_at, id LIMIT 10`+tx.skipLocked("endpoint_move"), tx.Now, since)
	for _, row := range rows {
		if err == nil {
			err = tx.do(ctx, `UPDATE endpoint_move SET tried_at = ? WHERE id = ?`, tx.Now, row.ID)
		}
	}
	return rows, err
}

// NoteMoveTried writes what came of asking for a challenge.
func (tx *Tx) NoteMoveTried(ctx context.Context, id, tried string) error {
	return tx.do(ctx, `UPDATE endpoint_move SET tried_at = ?, tried = ? WHERE id = ? AND status = 'waiting'`, tx.Now, tried, id)
}

// HasMovesDue reports whether ExpireEndpointMoves or ClaimEndpointMoves would find something.
func (q *Queries) HasMovesDue(ctx context.Context, now, since Time) (bool, error) {
	ids, err := listOf[string](ctx, q, `SELECT id FROM endpoint_move WHERE status = 'waiting' AND (expires_at <= ? OR mode = 'proof' AND (tried_at IS NULL OR tried_at <= ?)) LIMIT 1`, now, since)
	return len(ids) > 0, err
}

// EndpointMove finds the last change of an endpoint that waits or waited.
func (q *Queries) EndpointMove(ctx context.Context, endpointID string) (EndpointMove, error) {
	return getOne[EndpointMove](ctx, q, `SELECT * FROM endpoint_move WHERE endpoint_id = ? ORDER BY id DESC LIMIT 1`, endpointID)
}

// MovesToApprove lists the changes that wait for approval at a moment, oldest first.
func (q *Queries) MovesToApprove(ctx context.Context, now Time) ([]EndpointMove, error) {
	return listOf[EndpointMove](ctx, q, `SELECT * FROM endpoint_move WHERE status = 'waiting' AND mode = 'approval' AND expires_at > ? ORDER BY id LIMIT 1000`, now)
}
