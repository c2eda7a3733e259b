package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"schakel/server/cli"
	"schakel/store"
)

// statisticsEvery is the time between looks at the statistics of the query planner. To find that none are old costs next to nothing.
const statisticsEvery = time.Minute

// statistics is the service that keeps the statistics of the query planner current: when the program starts, and while it runs, so that
// pages stay fast while tables fill up.
type statistics struct {
	db     *store.DB
	log    *slog.Logger
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// Name implements Service.
func (s *statistics) Name() string { return "statistics" }

// Start implements Service.
func (s *statistics) Start(ctx context.Context) error {
	ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.done.Go(func() {
		for {
			if err := s.db.Optimize(ctx); err != nil && ctx.Err() == nil {
				s.log.WarnContext(ctx, "cannot update the statistics of the database; this is tried again", "error", err)
			}
			if !cli.Pause(ctx, statisticsEvery) {
				return
			}
		}
	})
	return nil
}

// Stop implements Service.
func (s *statistics) Stop(ctx context.Context) error {
	s.cancel()
	return waitFor(ctx, &s.done)
}
