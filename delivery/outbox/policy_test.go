package outbox

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"schakel/delivery/webhook"
	"schakel/store"
)

// TestLivePolicy: what is decided from now on follows the policy of now, and when it cannot be read the last one holds.
func TestLivePolicy(t *testing.T) {
	t.Parallel()
	var live atomic.Pointer[Policy]
	live.Store(&Policy{})
	e := &Engine{cfg: Config{
		KeyLifetime: time.Hour, Circuit: CircuitPolicy{}.withDefaults(), Log: slog.New(slog.DiscardHandler), Now: time.Now,
		Live: func(context.Context) (Policy, error) {
			p := live.Load()
			if p == nil {
				return Policy{}, errors.New("away")
			}
			return *p, nil
		},
	}}
	now := time.Unix(1000, 0)
	for name, tc := range map[string]struct {
		policy   *Policy
		lifetime time.Duration
		failures int
	}{
		"as configured": {&Policy{}, time.Hour, 10},
		"changed":       {&Policy{KeyLifetime: 2 * time.Hour, Circuit: CircuitPolicy{Failures: 2}}, 2 * time.Hour, 2},
	} {
		live.Store(tc.policy)
		e.refresh(t.Context())
		for range 2 { // and the same while it cannot be read
			if got := e.keyExpiry(now).Sub(now); got != tc.lifetime {
				t.Errorf("%s: IDEM-07: keys live %s, want %s", name, got, tc.lifetime)
			}
			if got := e.failuresToOpen(); got != tc.failures {
				t.Errorf("%s: EDU-12: opens after %d failures, want %d", name, got, tc.failures)
			}
			live.Store(nil)
			e.refresh(t.Context())
		}
	}
}

// failuresToOpen fails attempts until the circuit opens.
func (e *Engine) failuresToOpen() int {
	q := &endpointQueue{endpoint: store.Endpoint{}}
	failed := sendResult{queue: q, ep: new(store.Endpoint), outcome: &store.Outcome{}, result: &Result{Attempt: store.Attempt{StatusCode: 500}}}
	for n := 1; n <= 1000; n++ {
		if len(e.moveCircuits([]sendResult{failed})) > 0 {
			return n
		}
	}
	return -1
}

// TestLiveSchedule: an attempt is judged by the schedule of now.
func TestLiveSchedule(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	live := webhook.Schedule{Waits: []time.Duration{time.Hour}, MaxAttempts: 2}
	var broken bool
	w := &Webhook{
		Now: func() time.Time { return now }, Schedule: webhook.Schedule{Waits: []time.Duration{time.Second}, MaxAttempts: 9},
		Live: func(context.Context) (webhook.Schedule, error) {
			if broken {
				return webhook.Schedule{}, errors.New("away")
			}
			return live, nil
		},
	}
	failed := webhook.Outcome{Status: 503}
	first := w.result(store.Endpoint{}, store.Claimed{}, failed, w.schedule(t.Context(), store.Claimed{}), nil)
	if first.Status != store.DeliveryRetrying || !first.DueAt.Equal(now.Add(time.Hour)) {
		t.Errorf("first failure: %s at %s", first.Status, first.DueAt)
	}
	second := w.result(store.Endpoint{}, store.Claimed{Delivery: store.Delivery{Round: 1}}, failed, w.schedule(t.Context(), store.Claimed{}), nil)
	if second.Status != store.DeliveryDead || second.Reason != webhook.ReasonAttempts {
		t.Errorf("second failure: %s, %s", second.Status, second.Reason)
	}
	broken = true
	if got := w.result(store.Endpoint{}, store.Claimed{}, failed, w.schedule(t.Context(), store.Claimed{}), nil); !got.DueAt.Equal(now.Add(time.Second)) {
		t.Errorf("without an answer: %s", got.DueAt)
	}
}
