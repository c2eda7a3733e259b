package main

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// ticker is a Service that does a job at once and then every so often. A job that
// fails is logged and tried again at the next turn.
type ticker struct {
	name  string
	every time.Duration
	log   *slog.Logger
	job   func(context.Context) error

	cancel context.CancelFunc
	done   sync.WaitGroup
}

// newTicker makes the service.
func newTicker(name string, every time.Duration, log *slog.Logger, job func(context.Context) error) *ticker {
	return &ticker{name: name, every: every, log: log, job: job}
}

// Name implements Service.
func (t *ticker) Name() string { return t.name }

// Start implements Service.
func (t *ticker) Start(ctx context.Context) error {
	ctx, t.cancel = context.WithCancel(context.WithoutCancel(ctx))
	t.done.Go(func() { t.loop(ctx) })
	return nil
}

func (t *ticker) loop(ctx context.Context) {
	turn := time.NewTicker(t.every)
	defer turn.Stop()
	for {
		if err := t.job(ctx); err != nil && ctx.Err() == nil {
			t.log.ErrorContext(ctx, "background job failed", "job", t.name, "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-turn.C:
		}
	}
}

// Stop implements Service: it breaks off the job and waits for it.
func (t *ticker) Stop(ctx context.Context) error {
	t.cancel()
	finished := make(chan struct{})
	go func() { t.done.Wait(); close(finished) }()
	select {
	case <-finished:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
