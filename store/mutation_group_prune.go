package store

import (
	"context"
	"errors"
	"fmt"
)

// PruneMutations removes the groups of deltas that ended before the moment given, with the states that went in them, and the
// states of histories that were replaced. It takes a dataset at a time, and at most limit rows.
func (tx *Tx) PruneMutations(ctx context.Context, before Time, cursor string, limit int) (Pruned, error) {
	var d Dataset
	err := tx.get(ctx, &d, `SELECT * FROM dataset WHERE id > ? ORDER BY id LIMIT 1`, cursor)
	if errors.Is(err, ErrNotFound) {
		return Pruned{Done: true}, nil // the next run begins anew
	}
	if err != nil {
		return Pruned{}, fmt.Errorf("find dataset: %w", err)
	}
	var last int64
	err = tx.get(ctx, &last, `SELECT COALESCE(MAX(to_seq), 0) FROM mutation_delta WHERE dataset_id = ? AND to_at < ?`, d.ID, before)
	if err != nil {
		return Pruned{}, fmt.Errorf("find old deltas: %w", err)
	}
	n, err := tx.pruneHistory(ctx, d, max(last, d.ReplacedSeq), limit)
	if err != nil {
		return Pruned{}, fmt.Errorf("remove mutations: %w", err)
	}
	if n >= int64(limit) {
		return Pruned{Rows: n, Cursor: cursor}, nil
	}
	return Pruned{Rows: n, Cursor: d.ID}, nil
}

// pruneHistory removes what groups up to the last one given alone need.
func (tx *Tx) pruneHistory(ctx context.Context, d Dataset, last int64, limit int) (removed int64, err error) {
	for _, t := range []struct {
		table, key, and string
		seq             int64
	}{
		{"mutation", "dataset_id, seq, number", `seq <= ? ORDER BY seq, number`, last},
		{"mutation_group", "dataset_id, seq", `seq <= ? ORDER BY seq`, last},
		{"mutation_state", "id", `died_seq > 0 AND died_seq <= ? ORDER BY died_seq`, last},
		{"mutation_state", "id", `born_seq <= ? ORDER BY born_seq, id`, d.ReplacedSeq},
	} {
		n, err := tx.exec(ctx, `DELETE FROM `+t.table+` WHERE (`+t.key+`) IN
			(SELECT `+t.key+` FROM `+t.table+` WHERE dataset_id = ? AND `+t.and+` LIMIT ?)`, d.ID, t.seq, limit-int(removed))
		if err != nil {
			return 0, err
		}
		if removed += n; removed >= int64(limit) {
			break
		}
	}
	return removed, nil
}
