package store

import "context"

// InsertDataset adds a dataset under its given id; a taken one is ErrConflict.
func (tx *Tx) InsertDataset(ctx context.Context, d *Dataset) error {
	d.CreatedAt, d.UpdatedAt, d.LineageAt = tx.Now, tx.Now, tx.Now
	return tx.insert(ctx, "dataset", d)
}

// UpdateDataset writes what an administrator may change of a dataset: not its status, its history or who asked for what.
func (tx *Tx) UpdateDataset(ctx context.Context, d *Dataset) error {
	d.UpdatedAt = tx.Now
	return tx.update(ctx, "dataset", d, "title", "description", "root_prefix", "root_space", "root_local", "namespaces", "object_types", "crs",
		"area_kind", "geometry_elements", "key_elements", "per_file", "delta_schedule", "snapshot_schedule", "updated_at")
}

// EndDataset ends a dataset: nothing is published in it any more. The reason is told to who follows it.
func (tx *Tx) EndDataset(ctx context.Context, id, reason string) error {
	return tx.one(ctx, `UPDATE dataset SET status = ?, end_reason = ?, ended_at = ?, updated_at = ? WHERE id = ?`, DatasetEnded, reason, tx.Now, tx.Now, id)
}

// Dataset finds a dataset.
func (q *Queries) Dataset(ctx context.Context, id string) (Dataset, error) {
	var d Dataset
	return d, q.get(ctx, &d, `SELECT * FROM dataset WHERE id = ?`, id)
}

// LockDataset finds a dataset and keeps its row from others until the transaction ends: who publishes in it waits.
func (tx *Tx) LockDataset(ctx context.Context, id string) (Dataset, error) {
	if err := tx.Lock(ctx, "dataset", id); err != nil {
		return Dataset{}, err
	}
	return tx.Dataset(ctx, id)
}

// DatasetFilter selects datasets; zero fields select all.
type DatasetFilter struct {
	Status string
	// FollowedBy adds those of another status to which this partner has an open subscription.
	FollowedBy string
	Text       string // in the id or the title
	Page       Page
}

// Datasets lists datasets by id, with their total count.
func (q *Queries) Datasets(ctx context.Context, f DatasetFilter) ([]Dataset, int, error) {
	w := where{}
	if f.FollowedBy == "" {
		w.text(`status = ?`, f.Status)
	} else {
		w.add(`(status = ? OR EXISTS (SELECT 1 FROM subscription s WHERE s.dataset_id <> '' AND s.dataset_id = dataset.id AND s.partner_id = ?
			AND s.status IN ('requested', 'approved', 'paused', 'suspended')))`, f.Status, f.FollowedBy)
	}
	if f.Text != "" {
		w.add(`(LOWER(id) LIKE ? ESCAPE '\' OR LOWER(title) LIKE ? ESCAPE '\')`, like(f.Text), like(f.Text))
	}
	var rows []Dataset
	total, err := q.page(ctx, &rows, `*`, `dataset`, w, `id`, f.Page)
	return rows, total, err
}

// SetDatasetLineage gives a dataset a new lineage, so that every copy of it has to begin anew (MUT-38). When its history is
// replaced, no state of before is there any more: that counts from this transaction on, and their rows go in time.
func (tx *Tx) SetDatasetLineage(ctx context.Context, id, lineage, reason string, replace bool) error {
	replaced := ``
	if replace {
		replaced = `, replaced_seq = last_seq`
	}
	return tx.one(ctx, `UPDATE dataset SET lineage = ?, lineage_reason = ?, lineage_at = ?, updated_at = ?, lineage_seq = last_seq`+replaced+`
		WHERE id = ?`, lineage, reason, tx.Now, tx.Now, id)
}

// AskDelta requests a delta at once.
func (tx *Tx) AskDelta(ctx context.Context, id string) error {
	return tx.one(ctx, `UPDATE dataset SET delta_asked_at = ? WHERE id = ?`, tx.Now, id)
}

// AskSnapshot requests a snapshot at once.
func (tx *Tx) AskSnapshot(ctx context.Context, id string) error {
	return tx.one(ctx, `UPDATE dataset SET snapshot_asked_at = ? WHERE id = ?`, tx.Now, id)
}

// AnswerDelta ends the request of that moment. A later request stays.
func (tx *Tx) AnswerDelta(ctx context.Context, id string, asked Time) error {
	_, err := tx.exec(ctx, `UPDATE dataset SET delta_asked_at = NULL WHERE id = ? AND delta_asked_at = ?`, id, asked)
	return err
}

// AnswerSnapshot ends the request of that moment. A later request stays.
func (tx *Tx) AnswerSnapshot(ctx context.Context, id string, asked Time) error {
	_, err := tx.exec(ctx, `UPDATE dataset SET snapshot_asked_at = NULL WHERE id = ? AND snapshot_asked_at = ?`, id, asked)
	return err
}
