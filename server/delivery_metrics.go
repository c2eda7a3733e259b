package main

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"schakel/store"
)

// arrivals reports the latency of deliveries by transport, from the counts behind the charts.
type arrivals struct {
	db              *store.DB
	latency, oldest *prometheus.Desc

	mu    sync.Mutex
	kinds map[string]string // of endpoints, which never change
}

// The transports that are reported also before anything arrived through them, so that a rate of nothing is zero.
var transports = [...]string{store.EndpointWebhook, store.EndpointPull, store.EndpointAMQP, store.EndpointInbox}

// Describe implements prometheus.Collector.
func (a *arrivals) Describe(ch chan<- *prometheus.Desc) {
	ch <- a.latency
	ch <- a.oldest
}

// Collect implements prometheus.Collector.
func (a *arrivals) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	byTransport, err := a.byTransport(ctx)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(a.latency, err)
	}
	for transport, arrived := range byTransport {
		buckets, all := make(map[float64]uint64, len(arrived.Latency)), uint64(0)
		for i, n := range arrived.Latency {
			all += uint64(n)
			if i < len(store.LatencyBounds) {
				buckets[store.LatencyBounds[i].Seconds()] = all
			}
		}
		ch <- prometheus.MustNewConstHistogram(a.latency, all, arrived.Sum.Seconds(), buckets, transport)
	}
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

// byTransport adds up what arrived at endpoints by their kind.
func (a *arrivals) byTransport(ctx context.Context) (map[string]store.Arrivals, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.kinds == nil {
		a.kinds = make(map[string]string)
	}
	sums := make(map[string]store.Arrivals)
	for _, kind := range transports {
		sums[kind] = store.Arrivals{}
	}
	for id, arrived := range a.db.Arrived() {
		if a.kinds[id] == "" {
			ep, err := a.db.Endpoint(ctx, id)
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return nil, err
			}
			a.kinds[id] = cmp.Or(ep.Kind, "none")
		}
		sum := sums[a.kinds[id]]
		sum.Add(arrived)
		sums[a.kinds[id]] = sum
	}
	return sums, nil
}
