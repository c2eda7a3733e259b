package main

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"schakel/registry/services"
	"schakel/server/cli"
)

// rotationEvery sets how often a node looks whether a key is due.
const rotationEvery = 10 * time.Minute

// rotation is the service that replaces keys that have signed for as long as the settings allow. Each is replaced once, whichever node
// sees first that it is due.
type rotation struct {
	registry *services.Services
	log      *slog.Logger

	cancel context.CancelFunc
	done   sync.WaitGroup
}

// Name implements Service.
func (r *rotation) Name() string { return "key rotation" }

// Start implements Service.
func (r *rotation) Start(ctx context.Context) error {
	ctx, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	r.done.Go(func() {
		for {
			if err := r.turn(ctx); err != nil && ctx.Err() == nil {
				r.log.WarnContext(ctx, "a key could not be replaced; this is tried again", "error", err)
			}
			if !cli.Pause(ctx, rotationEvery) {
				return
			}
		}
	})
	return nil
}

// Stop implements Service.
func (r *rotation) Stop(ctx context.Context) error {
	r.cancel()
	return waitFor(ctx, &r.done)
}

// turn replaces what is due.
func (r *rotation) turn(ctx context.Context) error {
	set, err := r.registry.Profile.InForce(ctx)
	if err != nil {
		return err
	}
	const day = 24 * time.Hour
	return errors.Join(
		r.registry.SigningKeys.RotateDue(ctx, time.Duration(set.TokenKeyDays)*day),
		r.registry.Endpoints.RotateDue(ctx, time.Duration(set.SignKeyDays)*day),
	)
}
