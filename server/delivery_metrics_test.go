package main

import (
	"errors"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"schakel/delivery/outbox"
	"schakel/store"
	"schakel/store/storetest"
)

// The latency of deliveries is a histogram, and the oldest that waits a gauge.
func TestLatencyMetrics(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	err := db.Write(t.Context(), func(tx *store.Tx) error {
		done := store.Delivery{ID: "dlv_1", EndpointID: "end_1", Status: store.DeliveryDelivered, CreatedAt: store.At(tx.Now.Add(-20 * 1e6))}
		return errors.Join(
			tx.Complete(t.Context(), []store.Outcome{{Delivery: done, Attempt: store.Attempt{DeliveryID: "dlv_1", Number: 1, StartedAt: tx.Now}}}),
			tx.AddTraffic(t.Context(), []store.Traffic{{At: tx.Now.Time, Pending: 1, Oldest: 90 * 1e9}}))
	})
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(engineMetrics(outbox.New(outbox.Config{DB: db}), db)...)
	found, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, family := range found {
		switch m := family.GetMetric()[0]; family.GetName() {
		case "schakel_oldest_delivery_seconds":
			seen++
			if got := m.GetGauge().GetValue(); got != 90 {
				t.Errorf("the oldest waits %v s", got)
			}
		case "schakel_delivery_latency_seconds":
			seen++
			h := m.GetHistogram()
			if h.GetSampleCount() != 1 || h.GetSampleSum() != .02 || h.GetBucket()[0].GetCumulativeCount() != 0 || h.GetBucket()[1].GetCumulativeCount() != 1 {
				t.Errorf("%v", h)
			}
		}
	}
	if seen != 2 {
		t.Errorf("%d of 2 metrics", seen)
	}
}
