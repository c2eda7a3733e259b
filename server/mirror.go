package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"schakel/registry/contracts"
	"schakel/server/cli"
	"schakel/store"
)

// How registers of others are mirrored.
const (
	mirrorPoll  = 5 * time.Second  // how often a node looks whether one is due
	mirrorLease = time.Minute      // how long a node may be silent before another takes its run over
	mirrorBeat  = 15 * time.Second // how often it says that it is at work
	mirrorMost  = 3                // runs of one node at the same time
)

// mirrors is the service that runs the mirrors when they are due. Of all nodes on a database one works at a source at a
// time; when it dies another begins the run anew.
type mirrors struct {
	db     *store.DB
	runs   *contracts.Mirrors
	log    *slog.Logger
	now    func() time.Time
	leases leases

	cancel context.CancelFunc
	done   sync.WaitGroup
}

func (p *program) mirrors(node string, log *slog.Logger) *mirrors {
	return &mirrors{
		db: p.db, runs: p.registry.Mirrors, log: log, now: cli.Clock,
		leases: leases{db: p.db, log: log, node: node, lease: mirrorLease, beat: mirrorBeat, most: mirrorMost},
	}
}

// Name implements Service.
func (m *mirrors) Name() string { return "mirrors" }

// Start implements Service.
func (m *mirrors) Start(ctx context.Context) error {
	ctx, m.cancel = context.WithCancel(context.WithoutCancel(ctx))
	m.done.Go(func() {
		for cli.Pause(ctx, mirrorPoll) {
			if err := m.look(ctx); err != nil && ctx.Err() == nil {
				m.log.WarnContext(ctx, "mirrors wait; this is tried again", "error", err)
			}
		}
	})
	return nil
}

// Stop implements Service: it breaks runs off; another node, or the next start, begins them anew.
func (m *mirrors) Stop(ctx context.Context) error {
	m.cancel()
	return waitFor(ctx, &m.done)
}

// look begins the runs that are due.
func (m *mirrors) look(ctx context.Context) error {
	sources, err := m.db.MirrorSources(ctx)
	if err != nil {
		return fmt.Errorf("list mirrors: %w", err)
	}
	for _, s := range sources {
		seen, err := m.leases.seen(ctx, contracts.MirrorTask(s.ID))
		if err != nil {
			return err
		}
		due, cause := contracts.MirrorDue(s, seen)
		if due.IsZero() || m.now().Before(due) || !m.leases.begin(seen.Name) {
			continue
		}
		m.done.Go(func() {
			defer m.leases.end(seen.Name)
			err := m.leases.turn(ctx, seen, func(ctx context.Context) error {
				_, err := m.runs.Run(ctx, s.ID, cause)
				return err
			})
			if err != nil && ctx.Err() == nil {
				m.log.ErrorContext(ctx, "mirroring failed", "mirror", s.ID, "error", err)
			}
		})
	}
	return nil
}
