package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"schakel/registry"
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
	db   *store.DB
	runs *registry.Mirrors
	log  *slog.Logger
	now  func() time.Time
	node string

	mu     sync.Mutex
	busy   map[string]bool // sources at work here
	cancel context.CancelFunc
	done   sync.WaitGroup
}

func (p *program) mirrors(node string, log *slog.Logger) *mirrors {
	return &mirrors{db: p.db, runs: p.registry.Mirrors, log: log, now: clock, node: node, busy: map[string]bool{}}
}

// Name implements Service.
func (m *mirrors) Name() string { return "mirrors" }

// Start implements Service.
func (m *mirrors) Start(ctx context.Context) error {
	ctx, m.cancel = context.WithCancel(context.WithoutCancel(ctx))
	m.done.Go(func() {
		for pause(ctx, mirrorPoll) {
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
	finished := make(chan struct{})
	go func() { m.done.Wait(); close(finished) }()
	select {
	case <-finished:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// look begins the runs that are due.
func (m *mirrors) look(ctx context.Context) error {
	sources, err := m.db.MirrorSources(ctx)
	if err != nil {
		return fmt.Errorf("list mirrors: %w", err)
	}
	for _, s := range sources {
		name := registry.MirrorTask(s.ID)
		seen, err := m.db.ClusterTask(ctx, name)
		if errors.Is(err, store.ErrNotFound) {
			seen, err = store.ClusterTask{Name: name}, nil
		}
		if err != nil {
			return fmt.Errorf("read task: %w", err)
		}
		due, cause := registry.MirrorDue(s, seen)
		if due.IsZero() || m.now().Before(due) || !m.begin(s.ID) {
			continue
		}
		m.done.Go(func() {
			defer m.end(s.ID)
			if err := m.turn(ctx, s.ID, cause, seen); err != nil && ctx.Err() == nil {
				m.log.ErrorContext(ctx, "mirroring failed", "mirror", s.ID, "error", err)
			}
		})
	}
	return nil
}

// begin takes a place for a source, when there is one and the source is not at work here.
func (m *mirrors) begin(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.busy[id] || len(m.busy) >= mirrorMost {
		return false
	}
	m.busy[id] = true
	return true
}

func (m *mirrors) end(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.busy, id)
}

// turn runs a mirror unless another node was faster.
func (m *mirrors) turn(ctx context.Context, id, cause string, seen store.ClusterTask) error {
	mine := false
	err := m.db.Write(ctx, func(tx *store.Tx) (err error) {
		mine, err = tx.StartTask(ctx, seen, m.node, store.At(tx.Now.Add(mirrorLease)))
		return err
	})
	if err != nil || !mine {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var beats sync.WaitGroup
	beats.Go(func() { m.beat(ctx, seen.Name, cancel) })
	_, failure := m.runs.Run(ctx, id, cause)
	stopped := ctx.Err() != nil
	cancel()
	beats.Wait()
	return m.finish(ctx, seen.Name, failure, stopped)
}

// beat keeps the lease while a run is at work, and ends the run when the lease is lost.
func (m *mirrors) beat(ctx context.Context, name string, lost func()) {
	for pause(ctx, mirrorBeat) {
		err := m.db.Write(ctx, func(tx *store.Tx) error {
			return tx.StepTask(ctx, name, m.node, store.At(tx.Now.Add(mirrorLease)))
		})
		if errors.Is(err, store.ErrLeaseLost) {
			m.log.WarnContext(ctx, "another node has taken a task over", "task", name)
			lost()
		}
	}
}

// finish writes what came of a run. One that was broken off is left to another node at once.
func (m *mirrors) finish(ctx context.Context, name string, failure error, stopped bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err := m.db.Write(ctx, func(tx *store.Tx) error {
		if stopped {
			return tx.LetGoOfTask(ctx, name, m.node)
		}
		text := ""
		if failure != nil {
			text = failure.Error()
		}
		return tx.FinishTask(ctx, name, m.node, text)
	})
	return errors.Join(failure, err)
}
