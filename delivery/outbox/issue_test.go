package outbox

import (
	"log/slog"
	"testing"
	"time"

	"schakel/delivery/outbound"
	"schakel/delivery/webhook"
	"schakel/store"
	"schakel/store/storetest"
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
		{Result{Status: store.DeliveryHeld, Reason: webhook.ReasonRequest, Attempt: attempt(0, string(webhook.KindRequest))}, "request"},
		{Result{Status: store.DeliveryHeld, Reason: "soap-fault", Attempt: attempt(202, string(webhook.KindRequest))}, "soap-fault"},
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

// People are notified of an issue that stays open, once; of the same issue, opened again, not within the hour.
func TestPeopleAreToldOfIssuesOnce(t *testing.T) {
	t.Parallel()
	for name, open := range storetest.Both() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := storetest.NewClockAt(time.Now())
			db := open(t, storetest.WithClock(clock))
			people := &recordingNotifier{}
			c := newChain(t, db)
			s := c.partner("North", "nl.a")
			node := New(Config{DB: db, Notifier: people, Now: clock.Now, Log: slog.New(slog.DiscardHandler)})
			fails := func() store.Issue {
				t.Helper()
				c.write(func(tx *store.Tx) error {
					return tx.RecordIssues(t.Context(), []store.Outcome{{Delivery: store.Delivery{ID: "dlv_1", PartnerID: s.PartnerID, EndpointID: s.EndpointID, Cause: "dns"}}})
				})
				rows, _, err := db.Issues(t.Context(), store.IssueFilter{EndpointID: s.EndpointID})
				must(t, err)
				return rows[0]
			}
			told := func(want int32, when string) {
				t.Helper()
				must(t, node.notifyIssues(t.Context()))
				must(t, node.notifyIssues(t.Context()))
				if n := people.issues.Load(); n != want {
					t.Errorf("%s: told %d times, want %d", when, n, want)
				}
			}
			issue := fails()
			told(0, "before it could recover by itself")
			clock.Advance(issueGather)
			told(1, "after it stayed open")
			clock.Advance(issueGather)
			fails()
			told(1, "after another failure")
			c.write(func(tx *store.Tx) error { return tx.ResolveIssue(t.Context(), issue.ID, "Ada") })
			fails()
			clock.Advance(issueGather)
			told(1, "reopened within the hour")
			clock.Advance(noticeEach)
			told(2, "reopened, and an hour later")
		})
	}
}
