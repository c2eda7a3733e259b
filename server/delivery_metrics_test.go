package main

import (
	"errors"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"schakel/delivery/outbox"
	"schakel/store"
	"schakel/store/storetest"
)

// The latency of deliveries is a histogram by transport, and the oldest that waits a gauge.
func TestLatencyMetrics(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	err := db.Write(t.Context(), func(tx *store.Tx) error {
		p := store.Partner{Name: "Clinic", Status: store.PartnerApproved}
		inserted := tx.InsertPartner(t.Context(), &p)
		ep := store.Endpoint{PartnerID: p.ID, Name: "Queue", Kind: store.EndpointAMQP, Status: store.EndpointActive, MaxConcurrency: 1, TimeoutMS: 1000}
		inserted = errors.Join(inserted, tx.InsertEndpoint(t.Context(), &ep))
		done := store.Delivery{ID: "dlv_1", EndpointID: ep.ID, Status: store.DeliveryDelivered, CreatedAt: store.At(tx.Now.Add(-20 * 1e6))}
		return errors.Join(inserted,
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
			if len(family.GetMetric()) != len(transports) {
				t.Errorf("%d histograms", len(family.GetMetric()))
			}
			for _, one := range family.GetMetric() {
				if one.GetLabel()[0].GetValue() == store.EndpointAMQP {
					m = one
				}
			}
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
