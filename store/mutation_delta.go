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
	_, err := tx.exec(ctx, `UPDATE dataset SET checked_at = ? WHERE id = ? AND (checked_at IS NULL OR checked_at < ?)`, until, datasetID, until)
	return err
}

// NextMutationDelta tells which delta comes next: its number, lineage, previous one, and the groups that are in no delta yet;
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
	var d MutationDelta
	return d, q.get(ctx, &d, `SELECT * FROM mutation_delta WHERE id = ?`, id)
}

// LastMutationDelta finds the newest delta of a dataset.
func (q *Queries) LastMutationDelta(ctx context.Context, datasetID string) (MutationDelta, error) {
	var d MutationDelta
	return d, q.get(ctx, &d, `SELECT * FROM mutation_delta WHERE dataset_id = ? ORDER BY number DESC LIMIT 1`, datasetID)
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
	w := where{}
	w.add(`dataset_id = ?`, f.DatasetID)
	w.text(`lineage = ?`, f.Lineage)
	w.instant(`to_at >= ?`, f.Since)
	if f.After > 0 {
		w.add(`number > ?`, f.After)
	}
	order := `number`
	if f.NewestFirst {
		order = `number DESC`
	}
	var rows []MutationDelta
	total, err := q.page(ctx, &rows, `*`, `mutation_delta`, w, order, f.Page)
	return rows, total, err
}

// MutationDeltasToTell lists the deltas of a dataset that were not announced, oldest first.
func (q *Queries) MutationDeltasToTell(ctx context.Context, datasetID string, limit int) ([]MutationDelta, error) {
	var rows []MutationDelta
	return rows, q.list(ctx, &rows, `SELECT * FROM mutation_delta WHERE dataset_id = ? AND announced_at IS NULL ORDER BY number LIMIT ?`, datasetID, limit)
}

// TellMutationDelta notes that a delta was announced.
func (tx *Tx) TellMutationDelta(ctx context.Context, id string) error {
	return tx.one(ctx, `UPDATE mutation_delta SET announced_at = COALESCE(announced_at, ?) WHERE id = ?`, tx.Now, id)
}

// MutationDeltasOver lists deltas that are there and ended before a moment (MUT-33), or whose lineage was closed before another.
func (q *Queries) MutationDeltasOver(ctx context.Context, before, closed Time, limit int) ([]MutationDelta, error) {
	var rows []MutationDelta
	return rows, q.list(ctx, &rows, `SELECT d.* FROM mutation_delta d JOIN dataset s ON s.id = d.dataset_id WHERE d.gone_at IS NULL
		AND (d.to_at < ? OR (d.lineage <> s.lineage AND s.lineage_at < ?)) ORDER BY d.to_at, d.id LIMIT ?`, before, closed, limit)
}

// EndMutationDelta notes that a delta is gone. It stays known.
func (tx *Tx) EndMutationDelta(ctx context.Context, id string) error {
	return tx.one(ctx, `UPDATE mutation_delta SET gone_at = ? WHERE id = ? AND gone_at IS NULL`, tx.Now, id)
}
