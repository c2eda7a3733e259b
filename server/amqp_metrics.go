package main

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"schakel/server/cli"
	"schakel/store"
)

// amqpDepth counts the messages by AMQP that wait for something, and tells the age of the oldest (AMQP-53, AMQP-124).
type amqpDepth struct {
	db         *store.DB
	depth, age *prometheus.Desc
	orphans    *prometheus.Desc
	expiring   *prometheus.Desc
}

func newAMQPDepth(db *store.DB) *amqpDepth {
	return &amqpDepth{
		db:       db,
		depth:    prometheus.NewDesc("schakel_amqp_messages", "Messages by AMQP that wait: for their AppRec, for a person, or to be answered.", []string{"state"}, nil),
		orphans:  prometheus.NewDesc("schakel_amqp_processes_without_recipient", "Processes by which messages come in that nobody is subscribed to.", nil, nil),
		expiring: prometheus.NewDesc("schakel_amqp_queues_with_ttl", "Queues that are read whose messages expire, though they never must.", nil, nil),
		age:      prometheus.NewDesc("schakel_amqp_oldest_seconds", "Age of the oldest of them, in seconds; 0 when there is none.", []string{"state"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (a *amqpDepth) Describe(ch chan<- *prometheus.Desc) {
	ch <- a.depth
	ch <- a.age
	ch <- a.orphans
	ch <- a.expiring
}

// Collect implements prometheus.Collector.
func (a *amqpDepth) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for _, state := range []struct {
		name   string
		filter store.AMQPFilter
	}{
		{"open", store.AMQPFilter{Statuses: []string{store.AMQPOpenMessage}}},
		{"overdue", store.AMQPFilter{Overdue: true}},
		{"rejected", store.AMQPFilter{Direction: store.AMQPOut, Statuses: []string{store.AMQPRejected}}},
		{"failed", store.AMQPFilter{Statuses: []string{store.AMQPFailed}}},
		{"answers-due", store.AMQPFilter{Statuses: []string{store.AMQPDue}}},
		{"dead", store.AMQPFilter{Statuses: []string{store.AMQPDead}}},
		{"unchecked", store.AMQPFilter{Statuses: []string{store.AMQPUnchecked}}},
		{"held", store.AMQPFilter{Statuses: []string{store.AMQPHeld}}},
		{"quarantined", store.AMQPFilter{Statuses: []string{store.AMQPQuarantined}}},
	} {
		a.collect(ctx, ch, state.name, state.filter)
	}
	a.collectExpiring(ctx, ch)
	orphans, err := a.db.AMQPWithoutRecipient(ctx, "")
	if err != nil {
		ch <- prometheus.NewInvalidMetric(a.orphans, err)
		return
	}
	ch <- prometheus.MustNewConstMetric(a.orphans, prometheus.GaugeValue, float64(len(orphans)))
}

func (a *amqpDepth) collectExpiring(ctx context.Context, ch chan<- prometheus.Metric) {
	queues, err := a.db.AMQPQueues(ctx)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(a.expiring, err)
		return
	}
	losing := 0
	for _, q := range queues {
		if q.Loses(cli.Clock()) {
			losing++
		}
	}
	ch <- prometheus.MustNewConstMetric(a.expiring, prometheus.GaugeValue, float64(losing))
}

func (a *amqpDepth) collect(ctx context.Context, ch chan<- prometheus.Metric, name string, f store.AMQPFilter) {
	n, err := a.db.CountAMQPMessages(ctx, f)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(a.depth, err)
		return
	}
	oldest, err := a.db.OldestAMQPMessage(ctx, f)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(a.age, err)
		return
	}
	age := 0.0
	if !oldest.IsZero() {
		age = cli.Clock().Sub(oldest.Time).Seconds()
	}
	ch <- prometheus.MustNewConstMetric(a.depth, prometheus.GaugeValue, float64(n), name)
	ch <- prometheus.MustNewConstMetric(a.age, prometheus.GaugeValue, age, name)
}
