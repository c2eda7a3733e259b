package outbox

import (
	"testing"
	"time"

	"schakel/delivery/webhook"
	"schakel/store"
)

// The keys of an endpoint are opened once, until it changes or one of them retires.
func TestSignatureCache(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	opened := 0
	open := func(store.Endpoint) ([]webhook.SignKey, time.Time, error) {
		opened++
		return []webhook.SignKey{{ID: "k", Algorithm: store.SignHMAC, Secret: webhook.NewSignSecret()}}, now.Add(time.Hour), nil
	}
	w := &Webhook{Keys: open, Now: func() time.Time { return now }}
	ep := store.Endpoint{ID: "e", ConfigVersion: 1}
	for _, step := range []struct {
		scheme  string
		version int64
		after   time.Duration
		want    int
	}{
		{store.SignNone, 1, 0, 0}, {store.SignStandard, 1, 0, 1}, {store.SignStandard, 1, time.Minute, 1}, {store.SignMessage, 2, time.Minute, 2}, {store.SignMessage, 2, time.Hour, 3},
	} {
		ep.SignScheme, ep.ConfigVersion = step.scheme, step.version
		at := now
		w.Now = func() time.Time { return at.Add(step.after) }
		target, err := w.target(ep)
		if err != nil || opened != step.want || target.Sign.Empty() != (step.scheme == store.SignNone) {
			t.Errorf("%+v: opened %d times, %v", step, opened, err)
		}
	}
	if _, err := (&Webhook{Now: w.Now}).target(ep); err == nil {
		t.Error("a request that cannot be signed is sent")
	}
}
