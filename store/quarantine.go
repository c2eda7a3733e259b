package store

import (
	"context"
	"fmt"
)

// States of a quarantined request.
const (
	QuarantineOpen      = "open"
	QuarantineReleased  = "released"
	QuarantineDiscarded = "discarded"
)

// Quarantine is a request that used an Idempotency-Key again with other content, kept aside until a person decides
// (error E11). Nothing of it is delivered before.
type Quarantine struct {
	ID             string `db:"id"`
	PartnerID      string `db:"partner_id"`
	ClientID       string `db:"client_id"`
	IdempotencyKey string `db:"idempotency_key"`
	Fingerprint    []byte `db:"fingerprint"`
	FirstAnswer    []byte `db:"first_answer"` // JSON: what the first request under the key was answered
	ReleaseKey     string `db:"release_key"`  // the key under which its events are accepted when it is released
	Status         string `db:"status"`
	Reason         string `db:"reason"` // of the decision
	Events         int64  `db:"events"`
	CreatedAt      Time   `db:"created_at"`
	DecidedAt      Time   `db:"decided_at"`
	DecidedBy      string `db:"decided_by"`
}

// QuarantinedEvent is one event of a quarantined request, as it came.
type QuarantinedEvent struct {
	QuarantineID string `db:"quarantine_id"`
	Position     int64  `db:"position"` // from 0
	Attributes   []byte `db:"attributes"`
	DataKind     int64  `db:"data_kind"`
	Data         []byte `db:"data"`
	ObjectID     string `db:"object_id"` // where its data is, when that is too large for the event
	// ContractVersions are as of an [Event].
	ContractVersions string `db:"contract_versions"`
	DataKeys         string `db:"data_key"` // as of an [Event], and so is Unread
	Unread           error  `db:"-"`
}

// InsertQuarantine keeps a request with its events under a new id. The same request again is ErrConflict.
func (tx *Tx) InsertQuarantine(ctx context.Context, q *Quarantine, events []QuarantinedEvent) error {
	q.ID, q.CreatedAt, q.Status, q.Events = tx.NewID("qua"), tx.Now, QuarantineOpen, int64(len(events))
	n, err := tx.exec(ctx, `INSERT INTO quarantine (id, partner_id, client_id, idempotency_key, fingerprint, first_answer, release_key,
		status, events, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (client_id, idempotency_key, fingerprint) DO NOTHING`,
		q.ID, q.PartnerID, q.ClientID, q.IdempotencyKey, q.Fingerprint, q.FirstAnswer, q.ReleaseKey, q.Status, q.Events, q.CreatedAt)
	if err != nil {
		return fmt.Errorf("insert quarantine: %w", err)
	}
	if n == 0 {
		return ErrConflict
	}
	for i := range events {
		e := &events[i]
		e.QuarantineID, e.Position = q.ID, int64(i)
		row := *e
		if len(e.Data) > 0 || e.ObjectID != "" {
			sealed, err := tx.sealData(ctx, q.PartnerID, quarantinePlace(q.ID, e.Position), e.Data)
			if err != nil {
				return err
			}
			row.Data, row.DataKeys = sealed.Bytes, sealed.Keys
		}
		if err := tx.insert(ctx, "quarantined_event", &row); err != nil {
			return fmt.Errorf("insert quarantined event: %w", err)
		}
	}
	return nil
}

// QuarantineOf finds what was kept of a request of a client.
func (q *Queries) QuarantineOf(ctx context.Context, clientID, key string, fingerprint []byte) (Quarantine, error) {
	return getOne[Quarantine](ctx, q, `SELECT * FROM quarantine WHERE client_id = ? AND idempotency_key = ? AND fingerprint = ?`, clientID, key, fingerprint)
}

// Quarantine finds a quarantined request.
func (q *Queries) Quarantine(ctx context.Context, id string) (Quarantine, error) {
	return getOne[Quarantine](ctx, q, `SELECT * FROM quarantine WHERE id = ?`, id)
}

// QuarantinedEvents lists the events of a quarantined request in the order in which they came.
func (q *Queries) QuarantinedEvents(ctx context.Context, id string) ([]QuarantinedEvent, error) {
	rows, err := listOf[QuarantinedEvent](ctx, q, `SELECT * FROM quarantined_event WHERE quarantine_id = ? ORDER BY position`, id)
	for i := range rows {
		if r := &rows[i]; err == nil {
			r.Data, r.Unread, err = q.openData(ctx, r.DataKeys, quarantinePlace(id, r.Position), r.Data)
		}
	}
	return rows, err
}

// QuarantineFilter selects quarantined requests; empty members select all.
type QuarantineFilter struct {
	PartnerID, ClientID, Status string
	Page
}

// Quarantines lists quarantined requests, newest first, with their total count up to [ListBound] + 1.
func (q *Queries) Quarantines(ctx context.Context, f QuarantineFilter) ([]Quarantine, int, error) {
	w := where{}
	w.text(`partner_id = ?`, f.PartnerID)
	w.text(`client_id = ?`, f.ClientID)
	w.text(`status = ?`, f.Status)
	return longPageOf[Quarantine](ctx, q, `*`, `quarantine`, w, `id DESC`, f.Page)
}

// CountQuarantined counts the requests that wait for a decision, up to [ListBound] + 1.
func (q *Queries) CountQuarantined(ctx context.Context) (int, error) {
	w := where{}
	w.text(`status = ?`, QuarantineOpen)
	return q.countUpTo(ctx, ListBound+1, `quarantine`, w)
}

// DecideQuarantine writes what became of an open request; one that was decided before is ErrConflict.
func (tx *Tx) DecideQuarantine(ctx context.Context, id, status, reason, by string) error {
	n, err := tx.exec(ctx, `UPDATE quarantine SET status = ?, reason = ?, decided_by = ?, decided_at = ? WHERE id = ? AND status = 'open'`,
		status, reason, by, tx.Now, id)
	if err == nil && n == 0 {
		return ErrConflict
	}
	return err
}

// PruneQuarantine removes requests that were decided before the moment given; open ones stay.
func (tx *Tx) PruneQuarantine(ctx context.Context, before Time, _ string, limit int) (Pruned, error) {
	ids, err := listOf[string](ctx, &tx.Queries, `SELECT id FROM quarantine WHERE status IN ('released', 'discarded') AND decided_at < ? ORDER BY id LIMIT 1`, before)
	if err != nil || len(ids) == 0 {
		return Pruned{Done: err == nil}, err
	}
	gone, err := tx.exec(ctx, `DELETE FROM quarantined_event WHERE quarantine_id = ? AND position IN
		(SELECT position FROM quarantined_event WHERE quarantine_id = ? LIMIT ?)`, ids[0], ids[0], limit)
	if err != nil || gone >= int64(limit) {
		return Pruned{Rows: gone}, err
	}
	n, err := tx.exec(ctx, `DELETE FROM quarantine WHERE id = ?`, ids[0])
	return Pruned{Rows: gone + n}, err
}
