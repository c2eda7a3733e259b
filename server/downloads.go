package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"schakel/registry/contracts"
	"schakel/server/cli"
)

// downloadsEvery sets how often downloads of contracts are written to the database.
const downloadsEvery = 10 * time.Second

// downloads writes now and then who fetched versions of contracts, which no download waits for.
type downloads struct {
	noted  *contracts.Downloads
	log    *slog.Logger
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// Name implements Service.
func (d *downloads) Name() string { return "downloads" }

// Start implements Service.
func (d *downloads) Start(ctx context.Context) error {
	ctx, d.cancel = context.WithCancel(context.WithoutCancel(ctx))
	d.done.Go(func() {
		for cli.Pause(ctx, downloadsEvery) {
			if err := d.noted.Write(ctx); err != nil && ctx.Err() == nil {
				d.log.WarnContext(ctx, "who downloaded contracts is not written; it is tried again", "error", err)
			}
		}
	})
	return nil
}

// Stop implements Service: what was noted is written.
func (d *downloads) Stop(ctx context.Context) error {
	d.cancel()
	d.done.Wait()
	return d.noted.Write(ctx)
}
