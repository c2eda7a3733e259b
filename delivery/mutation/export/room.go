package export

import (
	"context"
	"errors"
	"fmt"

	"schakel/store"
)

// mayWait wants few downloads of a partner that wait.
func mayWait(ctx context.Context, tx *store.Tx, partnerID string) error {
	waiting, err := tx.WaitingMutationDownloads(ctx, partnerID)
	if err == nil && waiting >= MostWaiting {
		err = ErrTooMany
	}
	return err
}

// makeRoom ends what was ready first of what a partner asked for, until less is stored than the limit. What is fresh stays, so
// that nobody loses what it is about to fetch: then it answers a *[RoomError].
func (e *Exporter) makeRoom(ctx context.Context, partnerID string) error {
	for {
		kept, err := e.cfg.DB.KeptMutationDownloads(ctx, partnerID)
		if err != nil || kept < e.cfg.MostCustomBytes {
			return err
		}
		d, err := e.cfg.DB.OldestKeptMutationDownload(ctx, partnerID)
		if errors.Is(err, store.ErrNotFound) {
			continue // another node was faster
		}
		if err != nil {
			return fmt.Errorf("find oldest download: %w", err)
		}
		if until := d.FinishedAt.Add(FreshCustom); e.cfg.Now().Before(until) {
			return &RoomError{Most: e.cfg.MostCustomBytes, Until: until}
		}
		if _, err := e.end(ctx, d.FileID, d.DeltaID, d.SnapshotID, func(tx *store.Tx) error { return tx.ExpireMutationDownload(ctx, d.ID) }); err != nil {
			return fmt.Errorf("end download: %w", err)
		}
	}
}

// boundDownloads makes room where downloads that were ready later than they were asked for took more than they may.
func (e *Exporter) boundDownloads(ctx context.Context) error {
	partners, err := e.cfg.DB.PartnersKeepingDownloads(ctx, e.cfg.MostCustomBytes)
	for _, id := range partners {
		failure := e.makeRoom(ctx, id)
		if _, full := errors.AsType[*RoomError](failure); !full {
			err = errors.Join(err, failure)
		}
	}
	return err
}
