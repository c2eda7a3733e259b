package web

import (
	"strings"
	"testing"
	"time"

	"schakel/store"
	deliverieswebdeliveries "schakel/web/deliveries"
	partnerswebpartners "schakel/web/partners"
	"schakel/web/site"
)

// Hours that cannot be read are told wherever people look for why nothing is sent, and a form does not clear them.
func TestUnreadableHours(t *testing.T) {
	t.Parallel()
	const stored = `{"timeZone":"posixrules","open":[{"days":["mon"],"from":"07:00","to":"19:00"}]}`
	ep := store.Endpoint{Kind: store.EndpointWebhook, Status: store.EndpointActive, Windows: stored}
	now := time.Date(2026, 3, 27, 12, 0, 0, 0, time.UTC)
	if reason, _ := site.EndpointWait(ep, store.Delivery{SubscriptionID: "sub_1"}, now); reason != "window" {
		t.Errorf("a delivery waits for %q", reason)
	}
	if reason, _ := site.EndpointWait(ep, store.Delivery{}, now); reason != "" {
		t.Errorf("a test event waits for %q", reason)
	}
	for _, text := range []string{site.OpensText(ep, now), site.ClosedText(ep, now), site.WindowWords(ep)} {
		if !strings.Contains(text, "read") {
			t.Errorf("%q", text)
		}
	}
	if v := partnerswebpartners.SendingOf(ep); v.Windows != stored {
		t.Errorf("the form shows %q", v.Windows)
	}
	ep.Kind = store.EndpointPull
	if text := site.OpensText(ep, now) + site.ClosedText(ep, now); text != "" {
		t.Errorf("of a pull endpoint: %q", text)
	}
}

// The wait that a receiver asked for is told until it is over, and not while a probe is under way.
//
// Rules: EDU-10.
func TestRetryAfterIsTold(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 27, 12, 0, 0, 0, time.UTC)
	ep := store.Endpoint{Kind: store.EndpointWebhook, Status: store.EndpointActive, WaitUntil: store.At(now.Add(time.Hour))}
	d := store.Delivery{SubscriptionID: "sub_1", Status: store.DeliveryRetrying}
	if reason, until := site.EndpointWait(ep, d, now); reason != "retry-after" || until != ep.WaitUntil {
		t.Errorf("it waits for %q until %v", reason, until)
	}
	at := deliverieswebdeliveries.DeliveryContext{
		Delivery: d, Endpoint: ep, Partner: store.Partner{Status: store.PartnerApproved},
		Subscription: store.Subscription{Status: store.SubscriptionApproved, Sending: true},
	}
	if text := at.WaitsFor(now); !strings.Contains(text, "Retry-After") {
		t.Errorf("%q", text)
	}
	ep.ProbeOwner = "node_1"
	if reason, _ := site.EndpointWait(ep, d, now); reason != "" {
		t.Errorf("during the probe it waits for %q", reason)
	}
}
