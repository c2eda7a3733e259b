package main

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"schakel/delivery/outbox"
	"schakel/delivery/webhook"
	"schakel/registry"
	"schakel/registry/profile"
)

// profileDefaults is the profile of this installation where nobody chose: what
// the flags say, else what registry.DefaultProfile says.
func profileDefaults(d DeliveryFlags, l LimitFlags) registry.Profile {
	p := registry.Profile{
		KeyLifetime: d.KeyLifetime, RetryWaits: d.RetryWaits, RetryAttempts: d.RetryAttempts, RetryDeadline: d.KeyLifetime,
		MaxEventBytes: int(l.MaxEventBytes), MaxBatchEvents: l.MaxBatchEvents, MaxBatchBytes: int(l.MaxBatchBytes),
	}
	if p.MaxBatchBytes > 0 {
		p.MaxBatchBytes = max(p.MaxBatchBytes, p.MaxEventBytes+2)
	}
	return p
}

// livePolicy gives the engine the settings of the profile.
func livePolicy(profiles *profile.Profiles) func(context.Context) (outbox.Policy, error) {
	return func(ctx context.Context) (outbox.Policy, error) {
		p, err := profiles.Current(ctx)
		if err != nil {
			return outbox.Policy{}, fmt.Errorf("engine policy: %w", err)
		}
		failures := p.CircuitFailures
		if failures == 0 {
			failures = -1 // never
		}
		return outbox.Policy{
			KeyLifetime: p.KeyLifetime,
			Dedupe:      p.DedupeAt != registry.DedupeConsumer,
			Circuit:     outbox.CircuitPolicy{Failures: failures, Wait: p.CircuitWait, MaxWait: p.CircuitMaxWait},
		}, nil
	}
}

// liveSchedule is the retry schedule of the profile.
func liveSchedule(profiles *profile.Profiles) func(context.Context) (webhook.Schedule, error) {
	return func(ctx context.Context) (webhook.Schedule, error) {
		p, err := profiles.Current(ctx)
		if err != nil {
			return webhook.Schedule{}, fmt.Errorf("retry schedule: %w", err)
		}
		s := webhook.DefaultSchedule()
		s.Waits, s.MaxAttempts, s.Deadline, s.MaxRetryAfter = p.RetryWaits, p.RetryAttempts, p.RetryDeadline, p.MaxRetryAfter
		return s, nil
	}
}

// adviceMetric counts where accepted events departed from the profile, by the
// code of the advice that their sender got.
func adviceMetric(metrics *prometheus.Registry) func(code string) {
	given := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "schakel", Name: "events_advice_total", Help: "Advice given to senders of events that were accepted, by code.",
	}, []string{"code"})
	metrics.MustRegister(given)
	return func(code string) { given.WithLabelValues(code).Inc() }
}
