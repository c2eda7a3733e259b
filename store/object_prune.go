package store

import (
	"context"
	"fmt"
	"time"
)

const (
	// orphanObject sets how long an object may be on its way in.
	orphanObject = time.Hour
	// pruneObjects is how many objects one step of pruning looks at.
	pruneObjects = 150
	// pruneChunks is how many pieces one step of pruning removes: more would keep others waiting.
	pruneChunks = 32
	// ObjectTombstone sets how long it is remembered of an object that it is gone.
	ObjectTombstone = 90 * 24 * time.Hour
)

// PruneObjects removes, as of now, the bytes of objects whose event is gone, or that never came to belong to one; it looks
// at a few behind the cursor. The row of an object that was delivered stays for a while, to tell that it is gone.
func (tx *Tx) PruneObjects(ctx context.Context, now Time, cursor string, limit int) (Pruned, error) {
	var page []Object
	err := tx.list(ctx, &page, `SELECT * FROM object WHERE id > ? ORDER BY id LIMIT ?`, cursor, pruneObjects)
	if err != nil {
		return Pruned{}, fmt.Errorf("list objects: %w", err)
	}
	owned, err := tx.owners(ctx, page)
	if err != nil {
		return Pruned{}, err
	}
	if len(page) == 0 {
		return Pruned{Done: true}, nil // the next run begins anew
	}
	p := Pruned{Cursor: cursor}
	for _, o := range page {
		n, whole, err := tx.pruneObject(ctx, o, owned[o.OwnerID], now, min(limit, pruneChunks)-int(p.Rows))
		if err != nil {
			return Pruned{}, err
		}
		p.Rows += n
		if !whole {
			return p, nil
		}
		p.Cursor = o.ID
	}
	return p, nil
}

// owners tells which owners of objects are still there.
func (tx *Tx) owners(ctx context.Context, page []Object) (map[string]bool, error) {
	w := where{}
	var ids []string
	for _, o := range page {
		if o.OwnerID != "" && o.GoneAt.IsZero() {
			ids = append(ids, o.OwnerID)
		}
	}
	there := make(map[string]bool, len(ids))
	if len(ids) == 0 {
		return there, nil
	}
	w.in(`id`, ids)
	var found []string
	err := tx.list(ctx, &found, `SELECT id FROM event`+w.sql()+` UNION ALL SELECT id FROM quarantine`+w.sql(), append(w.args, w.args...)...)
	if err != nil {
		return nil, fmt.Errorf("find owners of objects: %w", err)
	}
	for _, id := range found {
		there[id] = true
	}
	return there, nil
}

// pruneObject removes what is over of an object, at most limit rows; whole is false when something is left to remove.
func (tx *Tx) pruneObject(ctx context.Context, o Object, owned bool, now Time, limit int) (rows int64, whole bool, err error) {
	orphan := o.OwnerID == ""
	switch {
	case !o.GoneAt.IsZero() && now.Sub(o.GoneAt.Time) < ObjectTombstone, orphan && now.Sub(o.CreatedAt.Time) < orphanObject, owned:
		return 0, true, nil
	case limit <= 0:
		return 0, false, nil
	}
	rows, err = tx.exec(ctx, `DELETE FROM object_chunk WHERE object_id = ? AND number IN
		(SELECT number FROM object_chunk WHERE object_id = ? ORDER BY number DESC LIMIT ?)`, o.ID, o.ID, limit)
	if err != nil || rows >= int64(limit) {
		return rows, false, wrapPrune(err)
	}
	if !orphan && o.GoneAt.IsZero() {
		_, err = tx.exec(ctx, `UPDATE object SET gone_at = ? WHERE id = ?`, now, o.ID)
		return rows, true, wrapPrune(err)
	}
	if _, err = tx.exec(ctx, `DELETE FROM object_reader WHERE object_id = ?`, o.ID); err == nil {
		_, err = tx.exec(ctx, `DELETE FROM object WHERE id = ?`, o.ID)
	}
	return rows + 1, true, wrapPrune(err)
}

func wrapPrune(err error) error {
	if err != nil {
		return fmt.Errorf("remove object: %w", err)
	}
	return nil
}
