package store

import (
	"context"
	"fmt"
)

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
	_, err := tx.exec(ctx, `UPDATE mutation_snapshot SET status = ?, error = ?, finished_at = ? WHERE id = ? AND status = ?`,
		MutationFailed, reason, tx.Now, id, MutationRunning)
	return err
}

// MutationSnapshot finds a snapshot, also one that failed or is gone.
func (q *Queries) MutationSnapshot(ctx context.Context, id string) (MutationSnapshot, error) {
	var s MutationSnapshot
	return s, q.get(ctx, &s, `SELECT * FROM mutation_snapshot WHERE id = ?`, id)
}

// LatestMutationSnapshot finds the newest snapshot of the lineage a dataset has now.
func (q *Queries) LatestMutationSnapshot(ctx context.Context, datasetID string) (MutationSnapshot, error) {
	var s MutationSnapshot
	return s, q.get(ctx, &s, `SELECT s.* FROM mutation_snapshot s JOIN dataset d ON d.id = s.dataset_id AND d.lineage = s.lineage
		WHERE s.dataset_id = ? AND s.status = ? AND s.gone_at IS NULL ORDER BY s.delta_number DESC, s.finished_at DESC, s.id LIMIT 1`, datasetID, MutationDone)
}

// MutationSnapshots lists the snapshots of a dataset, newest first, with their total count.
func (q *Queries) MutationSnapshots(ctx context.Context, datasetID string, p Page) ([]MutationSnapshot, int, error) {
	w := where{}
	w.add(`dataset_id = ?`, datasetID)
	var rows []MutationSnapshot
	total, err := q.page(ctx, &rows, `*`, `mutation_snapshot`, w, `created_at DESC, id`, p)
	return rows, total, err
}

// EndMutationSnapshot notes that a snapshot is gone. It stays known.
func (tx *Tx) EndMutationSnapshot(ctx context.Context, id string) error {
	return tx.one(ctx, `UPDATE mutation_snapshot SET gone_at = ? WHERE id = ? AND gone_at IS NULL`, tx.Now, id)
}
