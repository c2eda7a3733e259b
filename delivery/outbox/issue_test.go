package outbox

import (
	"testing"
	"time"

	"schakel/delivery/outbound"
	"schakel/delivery/webhook"
	"schakel/store"
)

// The same failure has the same cause, whatever the receiver wrote and wherever the schedule is.
func TestCause(t *testing.T) {
	t.Parallel()
	attempt := func(status int64, kind string) store.Attempt {
		return store.Attempt{StatusCode: status, ErrorKind: kind, Error: "request 4711"}
	}
	for _, tt := range []struct {
		r    Result
		want string
	}{
		{Result{Status: store.DeliveryRetrying, Attempt: attempt(503, "")}, "http-503"},
		{Result{Status: store.DeliveryDead, Reason: webhook.ReasonAttempts, Attempt: attempt(503, "")}, "http-503"},
		{Result{Status: store.DeliveryDead, Reason: webhook.ReasonKeyExpired, Attempt: attempt(0, outbound.KindDNS)}, "dns"},
		{Result{Status: store.DeliveryRetrying, Attempt: attempt(401, string(webhook.KindToken))}, "token"},
		{Result{Status: store.DeliveryHeld, Reason: store.ReasonRejected}, "rejected"},
		{Result{Status: store.DeliveryRetrying, Reason: webhook.ReasonTokenRenewed, Attempt: attempt(401, "")}, ""},
		{Result{Status: store.DeliveryRetrying, Attempt: attempt(0, outbound.KindCanceled)}, ""},
		{Result{Status: store.DeliveryRetrying, Untried: true, Attempt: attempt(0, outbound.KindHeldBack)}, ""},
		{Result{Status: store.DeliveryDelivered, Attempt: attempt(202, "")}, ""},
	} {
		if got := causeOf(&tt.r); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.r, got, tt.want)
		}
	}
}

// Failures become one issue, which the next arrival resolves and the next failure reopens.
func TestIssueComesAndGoes(t *testing.T) {
	eachChain(t, func(t *testing.T, c *chain) {
		c.partner("North", "nl.a")
		c.rcv.set(func(store.Claimed) Result { return failed(store.DeliveryDead, 503, time.Time{}) })
		first := c.accept("nl.a", "1")
		second := c.accept("nl.a", "2")
		d := c.until(first.Events[0].EventID, store.DeliveryDead)
		c.until(second.Events[0].EventID, store.DeliveryDead)
		issue := func() store.Issue {
			t.Helper()
			rows, n, err := c.db.Issues(t.Context(), store.IssueFilter{EndpointID: d.EndpointID})
			if n != 1 {
				t.Fatalf("%d issues, %v", n, err)
			}
			return rows[0]
		}
		if i := issue(); i.Status != store.IssueOpen || i.Failures != 2 || i.Cause != "http-503" || i.PartnerID != d.PartnerID {
			t.Errorf("%+v", i)
		}
		c.rcv.set(func(store.Claimed) Result { return delivered() })
		must(t, c.eng.Resend(t.Context(), Actor{Kind: "account"}, d.ID))
		c.until(first.Events[0].EventID, store.DeliveryDelivered)
		must(t, c.eng.resolveIssues(t.Context()))
		if i := issue(); i.Status != store.IssueOpen {
			t.Errorf("one of its dead letters is left: %+v", i)
		}
		must(t, c.eng.Resend(t.Context(), Actor{Kind: "account"}, c.until(second.Events[0].EventID, store.DeliveryDead).ID))
		c.until(second.Events[0].EventID, store.DeliveryDelivered)
		c.waitFor(func() bool {
			must(t, c.eng.resolveIssues(t.Context()))
			return issue().Status == store.IssueResolved
		})
		c.rcv.set(func(store.Claimed) Result { return failed(store.DeliveryDead, 503, time.Time{}) })
		c.until(c.accept("nl.a", "3").Events[0].EventID, store.DeliveryDead)
		if i := issue(); i.Status != store.IssueReopened || i.Failures != 3 || i.Reopened != 1 {
			t.Errorf("%+v", i)
		}
	})
}
