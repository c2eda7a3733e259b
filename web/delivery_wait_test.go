package web

import (
	"strings"
	"testing"
	"time"

	"schakel/store"
)

// Hours that cannot be read are told wherever people look for why nothing is sent, and a form does not clear them.
func TestUnreadableHours(t *testing.T) {
	t.Parallel()
	const stored = `{"timeZone":"posixrules","open":[{"days":["mon"],"from":"07:00","to":"19:00"}]}`
	ep := store.Endpoint{Kind: store.EndpointWebhook, Status: store.EndpointActive, Windows: stored}
	now := time.Date(2026, 3, 27, 12, 0, 0, 0, time.UTC)
	if reason, _ := endpointWait(ep, store.Delivery{SubscriptionID: "sub_1"}, now); reason != "window" {
		t.Errorf("a delivery waits for %q", reason)
	}
	if reason, _ := endpointWait(ep, store.Delivery{}, now); reason != "" {
		t.Errorf("a test event waits for %q", reason)
	}
	for _, text := range []string{opensText(ep, now), closedText(ep, now), windowWords(ep)} {
		if !strings.Contains(text, "read") {
			t.Errorf("%q", text)
		}
	}
	if v := sendingOf(ep); v.Windows != stored {
		t.Errorf("the form shows %q", v.Windows)
	}
	ep.Kind = store.EndpointPull
	if text := opensText(ep, now) + closedText(ep, now); text != "" {
		t.Errorf("of a pull endpoint: %q", text)
	}
}
