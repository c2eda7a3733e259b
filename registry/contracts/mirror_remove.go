package contracts

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"schakel/registry"
	"schakel/store"
)

// Remove ends a mirror for good: nothing is fetched any more, its key is erased and its
// alarms are settled. The copies stay as they are, marked with where they come from
// (EDU-N05). Field: reason.
func (m *Mirrors) Remove(ctx context.Context, actor registry.Actor, id, reason string) error {
	if err := m.allow(ctx, actor); err != nil {
		return err
	}
	reason = strings.TrimSpace(reason)
	if err := registry.CheckReason(reason, false); err != nil {
		return err
	}
	return m.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		row, err := tx.MirrorSource(ctx, id)
		if err != nil {
			return registry.Found("mirror", err)
		}
		if err := tx.RemoveMirrorSource(ctx, id, actor.Name, strings.TrimSpace("The mirror was removed. "+reason)); err != nil {
			return fmt.Errorf("remove mirror: %w", err)
		}
		return registry.Record(ctx, tx, actor, registry.ActionMirrorRemoved, mirrorObject(row), registry.Details{"reason": reason, "url": row.URL, "urls": row.URLs})
	})
}

// removed reports whether the mirror of a run was deleted; then the run ends.
func (r *mirrorRun) removed(ctx context.Context) (bool, error) {
	_, err := r.cfg.DB.MirrorSource(ctx, r.source.ID)
	if errors.Is(err, store.ErrNotFound) {
		r.row.Error = "The mirror was removed while it ran."
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("find mirror: %w", err)
	}
	return false, nil
}

// CopyPage lists a page of the contracts that are copies of those of a source, by their
// id there, with their total count.
func (m *Mirrors) CopyPage(ctx context.Context, actor registry.Actor, id string, p store.Page) ([]store.MirrorContract, int, error) {
	if _, err := m.Get(ctx, actor, id); err != nil {
		return nil, 0, err
	}
	rows, total, err := m.cfg.DB.MirrorContractPage(ctx, id, p)
	return rows, total, registry.Wrap("list copies", err)
}
