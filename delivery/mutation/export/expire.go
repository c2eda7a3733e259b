package export

import (
	"context"
	"errors"
	"fmt"

	"schakel/store"
)

// expireMost limits the rows of a kind that one run ends; the next run does the rest.
const expireMost = 200

// Expire ends what is over: deltas after their time (MUT-33), snapshots that newer ones replaced, downloads, and what is of an
// old lineage. Files that nothing refers to any more are dropped. It counts what ended; several nodes may do it at once.
func (e *Exporter) Expire(ctx context.Context) (int, error) {
	deltas, err := e.expireDeltas(ctx)
	if err != nil {
		return deltas, fmt.Errorf("end deltas: %w", err)
	}
	snapshots, err := e.expireSnapshots(ctx)
	if err != nil {
		return deltas + snapshots, fmt.Errorf("end snapshots: %w", err)
	}
	downloads, err := e.expireDownloads(ctx)
	err = errors.Join(err, e.boundDownloads(ctx))
	if err != nil {
		err = fmt.Errorf("end downloads: %w", err)
	}
	return deltas + snapshots + downloads, err
}

func (e *Exporter) expireDeltas(ctx context.Context) (int, error) {
	now := e.cfg.Now()
	rows, err := e.cfg.DB.MutationDeltasOver(ctx, store.At(now.Add(-Retention)), store.At(now.Add(-KeepReplaced)), expireMost)
	n := 0
	for _, d := range rows {
		ended, failure := e.end(ctx, d.FileID, d.ID, "", func(tx *store.Tx) error { return tx.EndMutationDelta(ctx, d.ID) })
		n, err = n+ended, errors.Join(err, failure)
	}
	return n, err
}

func (e *Exporter) expireSnapshots(ctx context.Context) (int, error) {
	sets, _, err := e.cfg.DB.Datasets(ctx, store.DatasetFilter{})
	n := 0
	for _, set := range sets {
		rows, _, failure := e.cfg.DB.MutationSnapshots(ctx, set.ID, store.Page{})
		err = errors.Join(err, failure)
		for _, s := range e.replaced(set, rows) {
			ended, failure := e.end(ctx, s.FileID, "", s.ID, func(tx *store.Tx) error { return tx.EndMutationSnapshot(ctx, s.ID) })
			n, err = n+ended, errors.Join(err, failure)
		}
	}
	return n, err
}

// replaced picks the snapshots that are over, of all those of a dataset with the newest first: those that failed, those of an
// old lineage, and those but the newest two. What can be in use stays for a day after it was replaced.
func (e *Exporter) replaced(set store.Dataset, rows []store.MutationSnapshot) (over []store.MutationSnapshot) {
	before := e.cfg.Now().Add(-KeepReplaced)
	since := set.LineageAt // when what comes next in the list was replaced
	newer := 0
	for _, s := range rows {
		old := s.Lineage != set.Lineage
		switch {
		case s.Status == store.MutationRunning:
		case s.Status == store.MutationFailed:
			if s.GoneAt.IsZero() && s.FinishedAt.Before(before) {
				over = append(over, s)
			}
		case old && set.LineageAt.Before(before), !old && newer >= keepSnapshots && since.Before(before):
			if s.GoneAt.IsZero() {
				over = append(over, s)
			}
		}
		if s.Status == store.MutationDone && !old {
			newer, since = newer+1, s.FinishedAt
		}
	}
	return over
}

func (e *Exporter) expireDownloads(ctx context.Context) (int, error) {
	rows, err := e.cfg.DB.MutationDownloadsOver(ctx, store.At(e.cfg.Now().Add(-KeepCustom)), expireMost)
	n := 0
	for _, d := range rows {
		ended, failure := e.end(ctx, d.FileID, d.DeltaID, d.SnapshotID, func(tx *store.Tx) error { return tx.ExpireMutationDownload(ctx, d.ID) })
		n, err = n+ended, errors.Join(err, failure)
	}
	return n, err
}

// end ends one thing, and drops its file unless another one shares that.
func (e *Exporter) end(ctx context.Context, fileID, deltaID, snapshotID string, mark func(tx *store.Tx) error) (int, error) {
	err := e.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		if err := mark(tx); err != nil || fileID == "" {
			return err
		}
		if err := tx.Lock(ctx, "mutation_file", fileID); err != nil { // others that share it may end at the same time
			return err
		}
		used, err := tx.MutationFileInUse(ctx, fileID, deltaID, snapshotID)
		if err != nil || used {
			return err
		}
		return tx.DropMutationFile(ctx, fileID)
	})
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil // another node was faster
	}
	if err != nil {
		return 0, err
	}
	return 1, nil
}
