package pull

import (
	"context"
	"time"
)

// Name implements the program's service interface.
func (s *Service) Name() string { return "pull" }

// Start starts the loop that records ended leases.
func (s *Service) Start(ctx context.Context) error {
	ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.sweeper.Go(func() { s.sweepLoop(ctx) })
	return nil
}

// Stop stops it. Draining ends the calls that wait.
func (s *Service) Stop(ctx context.Context) error {
	s.cancel()
	stopped := make(chan struct{})
	go func() {
		s.sweeper.Wait()
		close(stopped)
	}()
	select {
	case <-stopped:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Service) sweepLoop(ctx context.Context) {
	turn := time.NewTicker(s.cfg.SweepEvery)
	defer turn.Stop()
	for {
		if err := s.Sweep(ctx); err != nil && ctx.Err() == nil {
			s.cfg.Log.ErrorContext(ctx, "leases could not be swept", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-turn.C:
		}
	}
}
