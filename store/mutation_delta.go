package store

import (
	"context"
	"errors"
	"fmt"
)

// InsertMutationDelta adds a delta if it is still the next of its dataset, in the transaction that finishes its file.
// ErrConflict says that another node was faster, or that the history was replaced meanwhile: nothing of it may be kept.
// It notes too that all groups up to its end are in deltas.
func (tx *Tx) InsertMutationDelta(ctx context.Context, d *MutationDelta) error {
	if err := tx.Lock(ctx, "dataset", d.DatasetID); err != nil {
		return fmt.Errorf("lock dataset: %w", err)
	}
	next, err := tx.NextMutationDelta(ctx, d.DatasetID)
	if err != nil {
		return fmt.Errorf("find next delta: %w", err)
	}
	if next.Number != d.Number || next.Lineage != d.Lineage || next.PreviousID != d.PreviousID || next.FromSeq != d.FromSeq || next.ToSeq < d.ToSeq {
		return ErrConflict
	}
	d.CreatedAt = tx.Now
	if err := tx.insert(ctx, "mutation_delta", d); err != nil {
		return fmt.Errorf("insert delta: %w", err)
	}
	return tx.CheckDataset(ctx, d.DatasetID, d.ToAt)
}

// CheckDataset notes until when all groups of a dataset are known to be in deltas; it never goes back.
func (tx *Tx) CheckDataset(ctx context.Context, datasetID string, until Time) error {
	return tx.do(ctx, `UPDATE dataset SET checked_at = ? WHERE id = ? AND (checked_at IS NULL OR checked_at < ?)`, until, datasetID, until)
}

// NextMutationDelta returns which delta comes next: its number, lineage, previous one, and the groups that are in no delta yet;
// none when FromSeq is ToSeq. The first of a lineage has no previous one. It has no id and no end.
func (q *Queries) NextMutationDelta(ctx context.Context, datasetID string) (MutationDelta, error) {
	last, err := q.LastMutationDelta(ctx, datasetID) // first: what it holds is in the history that is read then
	if err != nil && !errors.Is(err, ErrNotFound) {
		return MutationDelta{}, err
	}
	set, err := q.Dataset(ctx, datasetID)
	if err != nil {
		return MutationDelta{}, err
	}
	next := MutationDelta{DatasetID: set.ID, Number: last.Number + 1, Lineage: set.Lineage, FromSeq: set.LineageSeq, FromAt: set.LineageAt, ToSeq: set.LastSeq}
	if last.Lineage == set.Lineage {
		next.PreviousID, next.FromSeq, next.FromAt = last.ID, last.ToSeq, last.ToAt
	}
	return next, nil
}

// MutationDelta finds a delta, also one that is gone.
func (q *Queries) MutationDelta(ctx context.Context, id string) (MutationDelta, error) {
	return getOne[MutationDelta](ctx, q, `SELECT * FROM mutation_delta WHERE id = ?`, id)
}

// LastMutationDelta finds the newest delta of a dataset.
func (q *Queries) LastMutationDelta(ctx context.Context, datasetID string) (MutationDelta, error) {
	return getOne[MutationDelta](ctx, q, `SELECT * FROM mutation_delta WHERE dataset_id = ? ORDER BY number DESC LIMIT 1`, datasetID)
}

// MutationDeltaFilter selects deltas of a dataset; empty members select all.
type MutationDeltaFilter struct {
	DatasetID, Lineage string
	After              int64 // only those with a higher number
	Since              Time  // only those that end then or later
	NewestFirst        bool
	Page
}

// MutationDeltas lists deltas, oldest first unless asked otherwise (MUT-35), with their total count.
func (q *Queries) MutationDeltas(ctx context.Context, f MutationDeltaFilter) ([]MutationDelta, int, error) {
	w := whereOf(`dataset_id = ?`, f.DatasetID)
	w.text(`lineage = ?`, f.Lineage)
	w.instant(`to_at >= ?`, f.Since)
	if f.After > 0 {
		w.add(`number > ?`, f.After)
	}
	order := `number`
	if f.NewestFirst {
		order = `number DESC`
	}
	return pageOf[MutationDelta](ctx, q, `*`, `mutation_delta`, w, order, f.Page)
}

// MutationDeltasToTell lists the deltas of a dataset that were not announced, oldest first.
func (q *Queries) MutationDeltasToTell(ctx context.Context, datasetID string, limit int) ([]MutationDelta, error) {
	return listOf[MutationDelta](ctx, q, `SELECT * FROM mutation_delta WHERE dataset_id = ? AND announced_at IS NULL ORDER BY number LIMIT ?`, datasetID, limit)
}

// TellMutationDelta notes that a delta was announced.
func (tx *Tx) TellMutationDelta(ctx context.Context, id string) error {
	return tx.one(ctx, `UPDATE mutation_delta SET announced_at = COALESCE(announced_at, ?) WHERE id = ?`, tx.Now, id)
}

// MutationDeltasOver lists deltas that are there and ended before a moment (MUT-33), or whose lineage was closed before another.
func (q *Queries) MutationDeltasOver(ctx context.Context, before, closed Time, limit int) ([]MutationDelta, error) {
	return listOf[MutationDelta](ctx, q, `SELECT d.* FROM mutation_delta d JOIN dataset s ON s.id = d.dataset_id WHERE d.gone_at IS NULL
		AND (d.to_at < ? OR (d.lineage <> s.lineage AND s.lineage_at < ?)) ORDER BY d.to_at, d.id LIMIT ?`, before, closed, limit)
}

// EndMutationDelta notes that a delta is gone. It stays known.
func (tx *Tx) EndMutationDelta(ctx context.Context, id string) error {
	return tx.one(ctx, `UPDATE mutation_delta SET gone_at = ? WHERE id = ? AND gone_at IS NULL`, tx.Now, id)
}

// StartMutationSnapshot adds a snapshot that is being made; those of its dataset that were broken off have failed.
func (tx *Tx) StartMutationSnapshot(ctx context.Context, s *MutationSnapshot) error {
	if err := tx.Lock(ctx, "dataset", s.DatasetID); err != nil { // first, as FinishMutationSnapshot has it
		return fmt.Errorf("lock dataset: %w", err)
	}
	_, err := tx.exec(ctx, `UPDATE mutation_snapshot SET status = ?, error = 'It was broken off, and begun anew.', finished_at = ?
		WHERE dataset_id = ? AND status = ?`, MutationFailed, tx.Now, s.DatasetID, MutationRunning)
	if err != nil {
		return fmt.Errorf("end snapshots: %w", err)
	}
	s.Status, s.CreatedAt = MutationRunning, tx.Now
	return tx.insert(ctx, "mutation_snapshot", s)
}

// StepMutationSnapshot notes how many states are written. ErrNotFound says that another node has begun anew.
func (tx *Tx) StepMutationSnapshot(ctx context.Context, id string, done int64) error {
	return tx.one(ctx, `UPDATE mutation_snapshot SET done = ? WHERE id = ? AND status = ?`, done, id, MutationRunning)
}

// FinishMutationSnapshot writes what came of a snapshot, in the transaction that finishes its file. ErrConflict says that
// another node has begun anew, or that the history was replaced meanwhile: nothing of it may be kept.
func (tx *Tx) FinishMutationSnapshot(ctx context.Context, s *MutationSnapshot) error {
	if err := tx.Lock(ctx, "dataset", s.DatasetID); err != nil {
		return fmt.Errorf("lock dataset: %w", err)
	}
	s.Status, s.FinishedAt = MutationDone, tx.Now
	n, err := tx.exec(ctx, `UPDATE mutation_snapshot SET status = ?, done = ?, total = ?, manifest = ?, file_id = ?, bytes = ?, sha256 = ?, finished_at = ?
		WHERE id = ? AND status = ? AND lineage = (SELECT lineage FROM dataset d WHERE d.id = mutation_snapshot.dataset_id)`,
		s.Status, s.Done, s.Total, s.Manifest, s.FileID, s.Bytes, s.SHA256, s.FinishedAt, s.ID, MutationRunning)
	if err == nil && n == 0 {
		err = ErrConflict
	}
	return err
}

// FailMutationSnapshot writes why a snapshot came to nothing, unless it ended already.
func (tx *Tx) FailMutationSnapshot(ctx context.Context, id, reason string) error {
	return tx.do(ctx, `UPDATE mutation_snapshot SET status = ?, error = ?, finished_at = ? WHERE id = ? AND status = ?`,
		MutationFailed, reason, tx.Now, id, MutationRunning)
}

// MutationSnapshot finds a snapshot, also one that failed or is gone.
func (q *Queries) MutationSnapshot(ctx context.Context, id string) (MutationSnapshot, error) {
	return getOne[MutationSnapshot](ctx, q, `SELECT * FROM mutation_snapshot WHERE id = ?`, id)
}

// LatestMutationSnapshot finds the newest snapshot of the lineage a dataset has now.
func (q *Queries) LatestMutationSnapshot(ctx context.Context, datasetID string) (MutationSnapshot, error) {
	return getOne[MutationSnapshot](ctx, q, `SELECT s.* FROM mutation_snapshot s JOIN dataset d ON d.id = s.dataset_id AND d.lineage = s.lineage
		WHERE s.dataset_id = ? AND s.status = ? AND s.gone_at IS NULL ORDER BY s.delta_number DESC, s.finished_at DESC, s.id LIMIT 1`, datasetID, MutationDone)
}

// MutationSnapshots lists the snapshots of a dataset, newest first, with their total count.
func (q *Queries) MutationSnapshots(ctx context.Context, datasetID string, p Page) ([]MutationSnapshot, int, error) {
	w := whereOf(`dataset_id = ?`, datasetID)
	return pageOf[MutationSnapshot](ctx, q, `*`, `mutation_snapshot`, w, `created_at DESC, id`, p)
}

// EndMutationSnapshot notes that a snapshot is gone. It stays known.
func (tx *Tx) EndMutationSnapshot(ctx context.Context, id string) error {
	return tx.one(ctx, `UPDATE mutation_snapshot SET gone_at = ? WHERE id = ? AND gone_at IS NULL`, tx.Now, id)
}

// What of a dataset can fail.
const (
	TroubleDelta    = "delta"
	TroubleSnapshot = "snapshot"
)

// MutationTrouble is that deltas or snapshots of a dataset could not be made since the last one that could.
type MutationTrouble struct {
	DatasetID string `db:"dataset_id"`
	Kind      string `db:"kind"`    // TroubleDelta or TroubleSnapshot
	Error     string `db:"error"`   // of the last time
	Times     int64  `db:"times"`   // how often, from 1
	Since     Time   `db:"since"`   // the first time
	LastAt    Time   `db:"last_at"` // the last time
}

// FailMutation notes that something of a dataset could not be made, and gives how often that was so since it could.
func (tx *Tx) FailMutation(ctx context.Context, datasetID, kind, failure string) (MutationTrouble, error) {
	_, err := tx.exec(ctx, `INSERT INTO mutation_trouble (dataset_id, kind, error, times, since, last_at) VALUES (?, ?, ?, 1, ?, ?)
		ON CONFLICT (dataset_id, kind) DO UPDATE SET error = excluded.error, times = mutation_trouble.times + 1, last_at = excluded.last_at`,
		datasetID, kind, failure, tx.Now, tx.Now)
	var t MutationTrouble
	if err == nil {
		err = tx.get(ctx, &t, `SELECT * FROM mutation_trouble WHERE dataset_id = ? AND kind = ?`, datasetID, kind)
	}
	return t, err
}

// MendMutation records that something of a dataset can be made, and reports whether it could not before.
func (tx *Tx) MendMutation(ctx context.Context, datasetID, kind string) (bool, error) {
	n, err := tx.exec(ctx, `DELETE FROM mutation_trouble WHERE dataset_id = ? AND kind = ?`, datasetID, kind)
	return n > 0, err
}

// MutationTroubles lists what cannot be made now, of one dataset or, with an empty id, of all.
func (q *Queries) MutationTroubles(ctx context.Context, datasetID string) ([]MutationTrouble, error) {
	w := where{}
	w.text(`dataset_id = ?`, datasetID)
	return listOf[MutationTrouble](ctx, q, `SELECT * FROM mutation_trouble`+w.sql()+` ORDER BY dataset_id, kind`, w.args...)
}
