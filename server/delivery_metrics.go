package main

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"schakel/store"
)

// arrivals reports the latency of deliveries, from the counts behind the charts.
type arrivals struct {
	db              *store.DB
	latency, oldest *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (a *arrivals) Describe(ch chan<- *prometheus.Desc) {
	ch <- a.latency
	ch <- a.oldest
}

// Collect implements prometheus.Collector.
func (a *arrivals) Collect(ch chan<- prometheus.Metric) {
	counts, sum := a.db.Arrived()
	buckets, all := make(map[float64]uint64, len(counts)), uint64(0)
	for i, n := range counts {
		all += uint64(n)
		if i < len(store.LatencyBounds) {
			buckets[store.LatencyBounds[i].Seconds()] = all
		}
	}
	ch <- prometheus.MustNewConstHistogram(a.latency, all, sum.Seconds(), buckets)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	points, err := a.db.Traffic(ctx, []string{store.AllEndpoints}, store.LastHour, store.At(a.db.Now()))
	if err != nil {
		ch <- prometheus.NewInvalidMetric(a.oldest, err)
		return
	}
	for i := len(points) - 1; i >= 0; i-- { // without a sample in the last hour there is nothing to tell
		if points[i].Pending >= 0 {
			ch <- prometheus.MustNewConstMetric(a.oldest, prometheus.GaugeValue, points[i].Oldest.Seconds())
			return
		}
	}
}
