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

// makeRoom ends what was ready first of what a partner asked for, until less is kept than may be. What is fresh stays, so
// that nobody loses what it is about to fetch: then it answers a *[RoomError].
func (c *Cutter) makeRoom(ctx context.Context, partnerID string) error {
	for {
		kept, err := c.cfg.DB.KeptMutationDownloads(ctx, partnerID)
		if err != nil || kept < c.cfg.MostCustomBytes {
			return err
		}
		d, err := c.cfg.DB.OldestKeptMutationDownload(ctx, partnerID)
		if errors.Is(err, store.ErrNotFound) {
			continue // another node was faster
		}
		if err != nil {
			return fmt.Errorf("find oldest download: %w", err)
		}
		if until := d.FinishedAt.Add(FreshCustom); c.cfg.Now().Before(until) {
			return &RoomError{Most: c.cfg.MostCustomBytes, Until: until}
		}
		if _, err := c.end(ctx, d.FileID, d.DeltaID, d.SnapshotID, func(tx *store.Tx) error { return tx.ExpireMutationDownload(ctx, d.ID) }); err != nil {
			return fmt.Errorf("end download: %w", err)
		}
	}
}

// boundDownloads makes room where downloads that were ready later than they were asked for took more than they may.
func (c *Cutter) boundDownloads(ctx context.Context) error {
	partners, err := c.cfg.DB.PartnersKeepingDownloads(ctx, c.cfg.MostCustomBytes)
	for _, id := range partners {
		failure := c.makeRoom(ctx, id)
		if _, full := errors.AsType[*RoomError](failure); !full {
			err = errors.Join(err, failure)
		}
	}
	return err
}
