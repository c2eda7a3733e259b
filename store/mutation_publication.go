package store

import (
	"context"
	"fmt"
)

// InsertPublication adds a publication under a new id. ErrConflict when its client has one in the dataset with its key.
func (tx *Tx) InsertPublication(ctx context.Context, p *MutationPublication) error {
	p.ID, p.CreatedAt, p.UpdatedAt = tx.NewID("mpb"), tx.Now, tx.Now
	return tx.insert(ctx, "mutation_publication", p)
}

// Publication finds a publication.
func (q *Queries) Publication(ctx context.Context, id string) (MutationPublication, error) {
	return getOne[MutationPublication](ctx, q, `SELECT * FROM mutation_publication WHERE id = ?`, id)
}

// PublicationByKey finds the publication of a client in a dataset by its Idempotency-Key.
func (q *Queries) PublicationByKey(ctx context.Context, datasetID, clientID, key string) (MutationPublication, error) {
	return getOne[MutationPublication](ctx, q, `SELECT * FROM mutation_publication WHERE dataset_id = ? AND client_id = ? AND request_key = ? AND request_key <> ''`,
		datasetID, clientID, key)
}

// PublicationFilter selects publications; zero fields select all.
type PublicationFilter struct {
	DatasetID string
	ClientID  string
	Status    string
	Kind      string
	Page      Page
}

// Publications lists publications, newest first. Their total goes no further than ListBound + 1.
func (q *Queries) Publications(ctx context.Context, f PublicationFilter) ([]MutationPublication, int, error) {
	w := where{}
	w.text(`dataset_id = ?`, f.DatasetID)
	w.text(`client_id = ?`, f.ClientID)
	w.text(`status = ?`, f.Status)
	w.text(`kind = ?`, f.Kind)
	return longPageOf[MutationPublication](ctx, q, `*`, `mutation_publication`, w, `id DESC`, f.Page)
}

// StepPublication writes how far a publication is, and its status, in the transaction of what it took in. Another that went
// on with it since, or a status that is not the one given, makes it fail with ErrConflict, and so all of the transaction.
func (tx *Tx) StepPublication(ctx context.Context, p *MutationPublication, groups int64, status string) error {
	p.UpdatedAt = tx.Now
	n, err := tx.exec(ctx, `UPDATE mutation_publication SET status = ?, groups = ?, adds = ?, changes = ?, deletes = ?, first_seq = ?, last_seq = ?,
		bytes = ?, bytes_total = ?, hash = ?, error = ?, updated_at = ?, finished_at = ?, unlocated = ?, unlocated_first = ? WHERE id = ? AND groups = ? AND status = ?`,
		p.Status, p.Groups, p.Adds, p.Changes, p.Deletes, p.FirstSeq, p.LastSeq,
		p.Bytes, p.BytesTotal, p.Hash, p.Error, p.UpdatedAt, p.FinishedAt, p.Unlocated, p.UnlocatedFirst, p.ID, groups, status)
	if err == nil && n == 0 {
		err = fmt.Errorf("%w: the publication moved on meanwhile", ErrConflict)
	}
	return err
}

// CancelPublication ends a publication that runs; what is in stays in. ErrNotFound when it does not run.
func (tx *Tx) CancelPublication(ctx context.Context, id string) error {
	return tx.one(ctx, `UPDATE mutation_publication SET status = ?, updated_at = ?, finished_at = ? WHERE id = ? AND status = ?`,
		MutationCancelled, tx.Now, tx.Now, id, MutationRunning)
}

// PublishedState returns which id a state got.
type PublishedState struct {
	Seq      int64  `db:"seq"`    // of the group in the dataset
	Group    int64  `db:"-"`      // in the publication, from 1
	Mutation int64  `db:"number"` // in the group, from 1
	ID       string `db:"id"`
	SourceID string `db:"source_id"`
}

// PublishedStates lists the states that a publication brought, in order, at most so many.
func (q *Queries) PublishedStates(ctx context.Context, p MutationPublication, most int) ([]PublishedState, error) {
	rows, err := listOf[PublishedState](ctx, q, `SELECT m.seq, m.number, s.id, s.source_id FROM mutation_group g
		JOIN mutation m ON m.dataset_id = g.dataset_id AND m.seq = g.seq JOIN mutation_state s ON s.id = m.wordt_id
		WHERE g.dataset_id = ? AND g.seq BETWEEN ? AND ? AND g.publication_id = ? ORDER BY m.seq, m.number LIMIT ?`,
		p.DatasetID, p.FirstSeq, p.LastSeq, p.ID, most)
	if err != nil {
		return nil, fmt.Errorf("list states of publication: %w", err)
	}
	return rows, q.numberGroups(ctx, p, rows)
}

// numberGroups counts groups of the publication alone: those of others may lie between.
func (q *Queries) numberGroups(ctx context.Context, p MutationPublication, rows []PublishedState) error {
	if len(rows) == 0 {
		return nil
	}
	seqs, err := listOf[int64](ctx, q, `SELECT seq FROM mutation_group WHERE dataset_id = ? AND seq BETWEEN ? AND ? AND publication_id = ? ORDER BY seq`,
		p.DatasetID, p.FirstSeq, rows[len(rows)-1].Seq, p.ID)
	if err != nil {
		return err
	}
	at := 0
	for i := range rows {
		for at < len(seqs) && seqs[at] < rows[i].Seq {
			at++
		}
		rows[i].Group = int64(at + 1)
	}
	return nil
}

// PrunePublications removes publications that did not move since the moment given. What they took in stays.
func (tx *Tx) PrunePublications(ctx context.Context, before Time, _ string, limit int) (Pruned, error) {
	n, err := tx.exec(ctx, `DELETE FROM mutation_publication WHERE id IN
		(SELECT id FROM mutation_publication WHERE id < ? AND updated_at < ? ORDER BY id LIMIT ?)`, IDAt("mpb", before.Time), before, limit)
	if err != nil {
		return Pruned{}, fmt.Errorf("delete publications: %w", err)
	}
	return Pruned{Rows: n, Done: n < int64(limit)}, nil
}

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
	return getOne[Dataset](ctx, q, `SELECT * FROM dataset WHERE id = ?`, id)
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
	return pageOf[Dataset](ctx, q, `*`, `dataset`, w, `id`, f.Page)
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
	return tx.do(ctx, `UPDATE dataset SET delta_asked_at = NULL WHERE id = ? AND delta_asked_at = ?`, id, asked)
}

// AnswerSnapshot ends the request of that moment. A later request stays.
func (tx *Tx) AnswerSnapshot(ctx context.Context, id string, asked Time) error {
	return tx.do(ctx, `UPDATE dataset SET snapshot_asked_at = NULL WHERE id = ? AND snapshot_asked_at = ?`, id, asked)
}
