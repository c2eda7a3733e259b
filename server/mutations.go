package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"schakel/delivery/mutation/export"
	"schakel/registry/datasets"
	"schakel/server/cli"
	"schakel/store"
	"schakel/templates/i18n"
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

// conflictTries sets how often a delta is begun anew while others cut.
const conflictTries = 5

// mutationJob makes something of each dataset now and then.
type mutationJob struct {
	kind   string // as store.TroubleDelta
	task   func(datasetID string) string
	due    func(context.Context, store.Dataset, store.ClusterTask) (time.Time, error)
	work   func(context.Context, store.Dataset) error
	leases leases
}

// begin does work on a dataset in the background, when it is due and no other node does.
func (m *mutations) begin(ctx context.Context, set store.Dataset, job *mutationJob) error {
	name := job.task(set.ID)
	seen, err := job.leases.seen(ctx, name)
	if err != nil {
		return err
	}
	due, err := job.due(ctx, set, seen)
	if err != nil || due.IsZero() || m.now().Before(due) || !job.leases.begin(name) {
		return err
	}
	m.done.Go(func() {
		defer job.leases.end(name)
		err := job.leases.turn(ctx, seen, func(ctx context.Context) error {
			failure := job.work(ctx, set)
			m.note(ctx, set, job.kind, failure)
			return failure
		})
		if err != nil && ctx.Err() == nil {
			m.log.ErrorContext(ctx, "a delivery of a dataset failed", "task", name, "error", err)
		}
	})
	return nil
}

// note keeps for people what came of work on a dataset. What was broken off, or overtaken by others, is begun anew and says
// nothing.
func (m *mutations) note(ctx context.Context, set store.Dataset, kind string, failure error) {
	if ctx.Err() != nil || errors.Is(failure, store.ErrConflict) {
		return
	}
	var err error
	if failure != nil {
		err = m.datasets.Failed(ctx, set.ID, kind, failureText(failure))
	} else if troubles, e := m.db.MutationTroubles(ctx, set.ID); e != nil {
		err = e
	} else if len(troubles) > 0 {
		err = m.datasets.Worked(ctx, set.ID, kind)
	}
	if err != nil {
		m.log.WarnContext(ctx, "what came of a delivery of a dataset is not noted", "dataset", set.ID, "kind", kind, "error", err)
	}
}

// failureText describes a failure for an administrator.
func failureText(failure error) string {
	if store.Away(failure) {
		return string(i18n.M("datasets.failed.away", failure.Error()))
	}
	return string(i18n.M("datasets.failed.write", failure.Error()))
}

// delta cuts a delta of what is new. What was asked for is done only when all that was there then is in deltas: another node
// may cut at the same time, but have begun before.
func (m *mutations) delta(ctx context.Context, set store.Dataset) error {
	var d store.MutationDelta
	err := store.ErrConflict
	for n := 0; n < conflictTries && errors.Is(err, store.ErrConflict); n++ {
		d, err = m.exporter.MakeDelta(ctx, set.ID, export.Options{})
	}
	switch {
	case err == nil:
		m.counts.made("delta", d.Bytes)
		m.log.InfoContext(ctx, "delta cut", "dataset", set.ID, "number", d.Number, "groups", d.ToSeq-d.FromSeq, "bytes", d.Bytes)
	case !errors.Is(err, export.ErrNothingNew):
		return err
	}
	if set.DeltaAskedAt.IsZero() {
		return nil
	}
	return m.db.Write(ctx, func(tx *store.Tx) error { return tx.AnswerDelta(ctx, set.ID, set.DeltaAskedAt) })
}

func (m *mutations) snapshot(ctx context.Context, set store.Dataset) error {
	s, err := m.exporter.Snapshot(ctx, set.ID)
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

// mutationCounts counts what this process made of datasets, and tells of what waits and how old the last deltas are.
type mutationCounts struct {
	db           *store.DB
	number       *prometheus.CounterVec
	bytes        *prometheus.CounterVec
	failed       prometheus.Counter
	waiting      *prometheus.Desc
	age, checked *prometheus.Desc
	failing      *prometheus.Desc
}

func newMutationCounts(db *store.DB) *mutationCounts {
	return &mutationCounts{
		db: db,
		number: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "schakel_mutation_deliveries_total", Help: "Deltas, snapshots and downloads of datasets that this process made.",
		}, []string{"kind"}),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "schakel_mutation_bytes_total", Help: "Bytes of the zips of deltas and snapshots that this process made.",
		}, []string{"kind"}),
		failed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "schakel_mutation_download_failures_total", Help: "Attempts to make a download of a dataset that failed in this process.",
		}),
		waiting: prometheus.NewDesc("schakel_mutation_downloads", "Downloads of datasets that are there or will be, by status.", []string{"status"}, nil),
		age:     prometheus.NewDesc("schakel_mutation_delta_age_seconds", "Time since the window of the last delta of a dataset ended.", []string{"dataset"}, nil),
		checked: prometheus.NewDesc("schakel_mutation_checked_age_seconds", "Time since all changes of a dataset were known to be in deltas.", []string{"dataset"}, nil),
		failing: prometheus.NewDesc("schakel_mutation_failing", "How often a delta or a snapshot of a dataset could not be made since one could.", []string{"dataset", "kind"}, nil),
	}
}

// made counts a delivery.
func (m *mutationCounts) made(kind string, bytes int64) {
	m.number.WithLabelValues(kind).Inc()
	if bytes > 0 {
		m.bytes.WithLabelValues(kind).Add(float64(bytes))
	}
}

func (m *mutationCounts) metrics() []prometheus.Collector {
	return []prometheus.Collector{m.number, m.bytes, m.failed, m}
}

// Describe implements prometheus.Collector.
func (m *mutationCounts) Describe(ch chan<- *prometheus.Desc) {
	ch <- m.waiting
	ch <- m.age
	ch <- m.checked
	ch <- m.failing
}

// Collect implements prometheus.Collector.
func (m *mutationCounts) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	counts, err := m.db.CountMutationDownloads(ctx)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(m.waiting, err)
		return
	}
	for _, status := range []string{store.MutationPending, store.MutationRunning, store.MutationCompleted, store.MutationFailed} {
		ch <- prometheus.MustNewConstMetric(m.waiting, prometheus.GaugeValue, float64(counts[status]), status)
	}
	m.collectFailing(ctx, ch)
	sets, _, err := m.db.Datasets(ctx, store.DatasetFilter{Status: store.DatasetActive})
	if err != nil {
		ch <- prometheus.NewInvalidMetric(m.age, err)
		return
	}
	for _, set := range sets {
		m.collect(ctx, ch, set)
	}
}

func (m *mutationCounts) collectFailing(ctx context.Context, ch chan<- prometheus.Metric) {
	troubles, err := m.db.MutationTroubles(ctx, "")
	if err != nil {
		ch <- prometheus.NewInvalidMetric(m.failing, err)
	}
	for _, t := range troubles {
		ch <- prometheus.MustNewConstMetric(m.failing, prometheus.GaugeValue, float64(t.Times), t.DatasetID, t.Kind)
	}
}

// collect reports the age of the last delta of each dataset, and nothing for one that never had a delta.
func (m *mutationCounts) collect(ctx context.Context, ch chan<- prometheus.Metric, set store.Dataset) {
	if !set.CheckedAt.IsZero() {
		ch <- prometheus.MustNewConstMetric(m.checked, prometheus.GaugeValue, cli.Clock().Sub(set.CheckedAt.Time).Seconds(), set.ID)
	}
	last, err := m.db.LastMutationDelta(ctx, set.ID)
	switch {
	case errors.Is(err, store.ErrNotFound):
	case err != nil:
		ch <- prometheus.NewInvalidMetric(m.age, err)
	default:
		ch <- prometheus.MustNewConstMetric(m.age, prometheus.GaugeValue, cli.Clock().Sub(last.ToAt.Time).Seconds(), set.ID)
	}
}
