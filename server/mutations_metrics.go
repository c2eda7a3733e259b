package main

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"schakel/server/cli"
	"schakel/store"
)

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
