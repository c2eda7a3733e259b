package main

import (
	"context"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"schakel/delivery/mutation/export"
	"schakel/registry/contracts"
	"schakel/store"
)

// retentionCounts counts the work of this process.
type retentionCounts struct {
	rows, failed *prometheus.CounterVec
}

func newRetentionCounts() *retentionCounts {
	vec := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "schakel", Name: name, Help: help}, []string{"task"})
	}
	return &retentionCounts{
		rows:   vec("pruned_rows_total", "Rows that this process removed, or emptied, because they were old."),
		failed: vec("prune_failures_total", "Runs of pruning that failed in this process."),
	}
}

// metrics returns the counts of this process, and the result of the last run of each task on any node.
func (r *retention) metrics() []prometheus.Collector {
	for _, t := range r.tasks { // so that they stand at 0 before the first run
		r.counts.rows.WithLabelValues(t.name)
		r.counts.failed.WithLabelValues(t.name)
	}
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("schakel_prune_"+name, help, []string{"task"}, nil)
	}
	return []prometheus.Collector{r.counts.rows, r.counts.failed, &lastRuns{
		db:       r.db,
		started:  desc("last_start_timestamp_seconds", "When the last run began, on whichever node."),
		finished: desc("last_finish_timestamp_seconds", "When a run was last finished, on whichever node."),
		removed:  desc("last_removed_rows", "Rows that the last run removed, so far."),
		failed:   desc("last_failed", "1 when the last run failed."),
	}}
}

// lastRuns reads the last run of each task when it is asked.
type lastRuns struct {
	db                                 *store.DB
	started, finished, removed, failed *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (l *lastRuns) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{l.started, l.finished, l.removed, l.failed} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (l *lastRuns) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	tasks, err := l.db.ClusterTasks(ctx)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(l.started, err)
		return
	}
	for _, t := range tasks {
		if strings.HasPrefix(t.Name, contracts.MirrorTask("")) || strings.HasPrefix(t.Name, export.DeltaTask("")) || strings.HasPrefix(t.Name, export.SnapshotTask("")) {
			continue // it removes nothing
		}
		gauge := func(d *prometheus.Desc, v float64) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, t.Name)
		}
		failed := 0.0
		if t.Error != "" {
			failed = 1
		}
		gauge(l.started, seconds(t.StartedAt))
		gauge(l.finished, seconds(t.FinishedAt))
		gauge(l.removed, float64(t.Removed))
		gauge(l.failed, failed)
	}
}

// seconds is a moment as Prometheus counts; 0 when it never was.
func seconds(t store.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMicro()) / 1e6
}
