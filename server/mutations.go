package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"schakel/delivery/mutation/export"
	"schakel/registry/datasets"
	"schakel/server/cli"
	"schakel/store"
)

// How deliveries of datasets are made.
const (
	mutationPoll   = 2 * time.Second // how often a node looks what is due
	mutationMost   = 4               // deltas of one node at the same time, and half as many snapshots
	mutationMakers = 2               // downloads of one node at the same time: a large one keeps not all others waiting
	mutationExpiry = 5 * time.Minute // how often a node ends what is over
)

// mutations is the service that makes deltas, snapshots and downloads of datasets when they are due, announces them, and ends
// what is over. Of all nodes on a database one works at a delta, a snapshot or a download at a time; when it dies or stops,
// another begins that anew.
type mutations struct {
	db       *store.DB
	datasets *datasets.Datasets
	exporter *export.Exporter
	log      *slog.Logger
	now      func() time.Time
	jobs     []*mutationJob
	tells    *mutationTeller
	counts   *mutationCounts

	cancel context.CancelFunc
	done   sync.WaitGroup
}

func (p *program) mutations(log *slog.Logger) *mutations {
	m := &mutations{
		db: p.db, datasets: p.registry.Datasets, exporter: p.exporter, log: log, now: cli.Clock, counts: p.counts,
		tells: &mutationTeller{db: p.db, accept: p.engine.Accept, base: p.base, told: map[string]string{}},
	}
	node := p.db.NewID("node")
	places := func(most int) leases {
		return leases{db: p.db, log: log, node: node, lease: p.lease, beat: p.lease / 4, most: most}
	}
	m.jobs = []*mutationJob{
		{store.TroubleDelta, export.DeltaTask, m.exporter.DeltaDue, m.delta, places(mutationMost)},
		{store.TroubleSnapshot, export.SnapshotTask, m.exporter.SnapshotDue, m.snapshot, places(mutationMost / 2)}, // they take long: deltas do not wait for them
	}
	return m
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
		for cli.Pause(ctx, every) {
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
		for _, job := range m.jobs {
			err = errors.Join(err, m.begin(ctx, set, job))
		}
	}
	return err
}

// work makes downloads until none waits.
func (m *mutations) work(ctx context.Context) error {
	for ctx.Err() == nil {
		some, err := m.exporter.Work(ctx)
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
	n, err := m.exporter.Expire(ctx)
	if n > 0 {
		m.log.InfoContext(ctx, "deliveries of datasets ended", "count", n)
	}
	over, failure := m.datasets.EndFollowing(ctx, m.now().Add(-export.Retention))
	if over > 0 {
		m.log.InfoContext(ctx, "nothing is left to fetch of datasets that ended", "count", over)
	}
	return errors.Join(err, failure)
}
