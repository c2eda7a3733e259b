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
	var p MutationPublication
	return p, q.get(ctx, &p, `SELECT * FROM mutation_publication WHERE id = ?`, id)
}

// PublicationByKey finds the publication of a client in a dataset by its Idempotency-Key.
func (q *Queries) PublicationByKey(ctx context.Context, datasetID, clientID, key string) (MutationPublication, error) {
	var p MutationPublication
	return p, q.get(ctx, &p, `SELECT * FROM mutation_publication WHERE dataset_id = ? AND client_id = ? AND request_key = ? AND request_key <> ''`,
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
	var rows []MutationPublication
	total, err := q.longPage(ctx, &rows, `*`, `mutation_publication`, w, `id DESC`, f.Page)
	return rows, total, err
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
	var rows []PublishedState
	err := q.list(ctx, &rows, `SELECT m.seq, m.number, s.id, s.source_id FROM mutation_group g
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
	var seqs []int64
	err := q.list(ctx, &seqs, `SELECT seq FROM mutation_group WHERE dataset_id = ? AND seq BETWEEN ? AND ? AND publication_id = ? ORDER BY seq`,
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
