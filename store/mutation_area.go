package store

import "context"

// InsertMutationArea adds an area under a new id. It never changes: another area is another row (MUT-49).
func (tx *Tx) InsertMutationArea(ctx context.Context, a *MutationArea) error {
	a.ID, a.CreatedAt = tx.NewID("mar"), tx.Now
	return tx.insert(ctx, "mutation_area", a)
}

// MutationArea finds an area.
func (q *Queries) MutationArea(ctx context.Context, id string) (MutationArea, error) {
	var a MutationArea
	return a, q.get(ctx, &a, `SELECT * FROM mutation_area WHERE id = ?`, id)
}

// MutationAreaFilter selects areas; zero fields select all.
type MutationAreaFilter struct {
	DatasetID string
	PartnerID string
	Page      Page
}

// MutationAreas lists areas, newest first, with their total count.
func (q *Queries) MutationAreas(ctx context.Context, f MutationAreaFilter) ([]MutationArea, int, error) {
	w := where{}
	w.text(`partner_id = ?`, f.PartnerID)
	w.text(`dataset_id = ?`, f.DatasetID)
	var rows []MutationArea
	total, err := q.page(ctx, &rows, `*`, `mutation_area`, w, `id DESC`, f.Page)
	return rows, total, err
}
