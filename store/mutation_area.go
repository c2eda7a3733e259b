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
