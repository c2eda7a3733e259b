package store

import "context"

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

// MendMutation notes that something of a dataset can be made, and reports whether it could not before.
func (tx *Tx) MendMutation(ctx context.Context, datasetID, kind string) (bool, error) {
	n, err := tx.exec(ctx, `DELETE FROM mutation_trouble WHERE dataset_id = ? AND kind = ?`, datasetID, kind)
	return n > 0, err
}

// MutationTroubles lists what cannot be made now, of one dataset or, with an empty id, of all.
func (q *Queries) MutationTroubles(ctx context.Context, datasetID string) ([]MutationTrouble, error) {
	w := where{}
	w.text(`dataset_id = ?`, datasetID)
	var rows []MutationTrouble
	return rows, q.list(ctx, &rows, `SELECT * FROM mutation_trouble`+w.sql()+` ORDER BY dataset_id, kind`, w.args...)
}
