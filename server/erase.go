package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"schakel/registry"
	"schakel/registry/services"
	"schakel/server/cli"
)

// How often what partners that ended have sent is looked at, and first after the start.
const (
	eraseEvery = time.Hour
	eraseFirst = time.Minute
)

// dataErasure is the service that erases the data of partners that ended, where the settings say so. Several nodes may do it at once.
type dataErasure struct {
	services *services.Services
	log      *slog.Logger

	cancel context.CancelFunc
	done   sync.WaitGroup
}

// Name implements Service.
func (d *dataErasure) Name() string { return "erasure" }

// Start implements Service.
func (d *dataErasure) Start(ctx context.Context) error {
	ctx, d.cancel = context.WithCancel(context.WithoutCancel(ctx))
	d.done.Go(func() {
		for wait := eraseFirst; cli.Pause(ctx, wait); wait = eraseEvery {
			if err := d.erase(ctx); err != nil && ctx.Err() == nil {
				d.log.ErrorContext(ctx, "erasing the data of partners that ended failed; this is tried again", "error", err)
			}
		}
	})
	return nil
}

// Stop implements Service.
func (d *dataErasure) Stop(ctx context.Context) error {
	d.cancel()
	return waitFor(ctx, &d.done)
}

func (d *dataErasure) erase(ctx context.Context) error {
	set, err := d.services.Profile.Current(ctx)
	if err != nil || set.DataEnded != registry.DataErased {
		return err
	}
	n, err := d.services.Partners.EraseEnded(ctx)
	if n > 0 {
		d.log.InfoContext(ctx, "erased the data of partners that ended", "partners", n)
	}
	return err
}
