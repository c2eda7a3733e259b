package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"schakel/delivery/mutation/cut"
	"schakel/store"
)

// How deliveries of datasets are made.
const (
	mutationPoll   = 2 * time.Second  // how often a node looks what is due
	mutationLease  = time.Minute      // how long a node may be silent before another takes its work over
	mutationBeat   = 15 * time.Second // how often it says that it is at work
	mutationMost   = 4                // deltas and snapshots of one node at the same time
	mutationMakers = 2                // downloads of one node at the same time: a large one keeps not all others waiting
	mutationExpiry = 5 * time.Minute  // how often a node ends what is over
)

// mutations is the service that makes deltas, snapshots and downloads of datasets when they are due, announces them, and ends
// what is over. Of all nodes on a database one works at a delta, a snapshot or a download at a time; when it dies or stops,
// another begins that anew.
type mutations struct {
	db     *store.DB
	cutter *cut.Cutter
	log    *slog.Logger
	now    func() time.Time
	leases leases
	tells  *mutationTeller
	counts *mutationCounts

	cancel context.CancelFunc
	done   sync.WaitGroup
}

func (p *program) mutations(log *slog.Logger) *mutations {
	return &mutations{
		db: p.db, cutter: p.cutter, log: log, now: clock, counts: p.counts,
		leases: leases{db: p.db, log: log, node: p.db.NewID("node"), lease: mutationLease, beat: mutationBeat, most: mutationMost},
		tells:  &mutationTeller{db: p.db, accept: p.engine.Accept, base: p.base, told: map[string]string{}},
	}
}

// Name implements Service.
func (m *mutations) Name() string { return "mutations" }

// Start implements Service.
func (m *mutations) Start(ctx context.Context) error {
	ctx, m.cancel = context.WithCancel(context.WithoutCancel(ctx))
	m.often(ctx, mutationPoll, "deliveries of datasets wait; this is tried again", m.look)
	m.often(ctx, mutationPoll, "announcements of deliveries wait; they are tried again", m.tells.turn)
	m.often(ctx, mutationExpiry, "deliveries that are over stay for now; this is tried again", m.expire)
	for range mutationMakers {
		m.often(ctx, mutationPoll, "a download of a dataset failed", m.work)
	}
	return nil
}

// often does something now and then, and logs what goes wrong.
func (m *mutations) often(ctx context.Context, every time.Duration, trouble string, do func(context.Context) error) {
	m.done.Go(func() {
		for pause(ctx, every) {
			if err := do(ctx); err != nil && ctx.Err() == nil {
				m.log.WarnContext(ctx, trouble, "error", err)
			}
		}
	})
}

// Stop implements Service: it breaks work off; another node, or the next start, begins that anew.
func (m *mutations) Stop(ctx context.Context) error {
	m.cancel()
	return waitFor(ctx, &m.done)
}

// look begins the deltas and snapshots that are due.
func (m *mutations) look(ctx context.Context) error {
	sets, _, err := m.db.Datasets(ctx, store.DatasetFilter{})
	if err != nil {
		return fmt.Errorf("list datasets: %w", err)
	}
	for _, set := range sets {
		err = errors.Join(err,
			m.begin(ctx, set, cut.DeltaTask(set.ID), m.cutter.DeltaDue, m.delta),
			m.begin(ctx, set, cut.SnapshotTask(set.ID), m.cutter.SnapshotDue, m.snapshot))
	}
	return err
}

// begin does work on a dataset in the background, when it is due and no other node does.
func (m *mutations) begin(ctx context.Context, set store.Dataset, name string,
	dueAt func(context.Context, store.Dataset, store.ClusterTask) (time.Time, error), work func(context.Context, store.Dataset) error,
) error {
	seen, err := m.leases.seen(ctx, name)
	if err != nil {
		return err
	}
	due, err := dueAt(ctx, set, seen)
	if err != nil || due.IsZero() || m.now().Before(due) || !m.leases.begin(name) {
		return err
	}
	m.done.Go(func() {
		defer m.leases.end(name)
		err := m.leases.turn(ctx, seen, func(ctx context.Context) error { return work(ctx, set) })
		if err != nil && ctx.Err() == nil {
			m.log.ErrorContext(ctx, "a delivery of a dataset failed", "task", name, "error", err)
		}
	})
	return nil
}

func (m *mutations) delta(ctx context.Context, set store.Dataset) error {
	d, err := m.cutter.Cut(ctx, set.ID, cut.Options{})
	switch {
	case err == nil:
		m.counts.made("delta", d.Bytes)
		m.log.InfoContext(ctx, "delta cut", "dataset", set.ID, "number", d.Number, "groups", d.ToSeq-d.FromSeq, "bytes", d.Bytes)
	case !errors.Is(err, cut.ErrNothingNew) && !errors.Is(err, store.ErrConflict): // a conflict: a snapshot has cut it
		return err
	}
	if set.DeltaAskedAt.IsZero() {
		return nil
	}
	return m.db.Write(ctx, func(tx *store.Tx) error { return tx.AnswerDelta(ctx, set.ID, set.DeltaAskedAt) })
}

func (m *mutations) snapshot(ctx context.Context, set store.Dataset) error {
	s, err := m.cutter.Snapshot(ctx, set.ID)
	if err != nil {
		return err
	}
	m.counts.made("snapshot", s.Bytes)
	m.log.InfoContext(ctx, "snapshot made", "dataset", set.ID, "states", s.Done, "bytes", s.Bytes)
	if set.SnapshotAskedAt.IsZero() {
		return nil
	}
	return m.db.Write(ctx, func(tx *store.Tx) error { return tx.AnswerSnapshot(ctx, set.ID, set.SnapshotAskedAt) })
}

// work makes downloads until none waits.
func (m *mutations) work(ctx context.Context) error {
	for ctx.Err() == nil {
		some, err := m.cutter.Work(ctx)
		if err != nil {
			m.counts.failed.Inc()
			return err
		}
		if !some {
			return nil
		}
		m.counts.made("download", 0)
	}
	return ctx.Err()
}

func (m *mutations) expire(ctx context.Context) error {
	n, err := m.cutter.Expire(ctx)
	if n > 0 {
		m.log.InfoContext(ctx, "deliveries of datasets ended", "count", n)
	}
	return err
}
