package e2e

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"schakel/server/demo"
)

// BenchmarkPublishToReceipt measures the whole way over TLS and loopback: publish
// in batches of 20, durable in SQLite, delivered one by one to a webhook, and
// settled. One operation is one event.
func BenchmarkPublishToReceipt(b *testing.B) {
	p := newPKI(b)
	r := newReceiver(b, p)
	s := newProgram(b, p, demo.OwnA(), sqlitePath(b), "--log-level", "warn")
	var creds demo.Credentials
	s.setUp(b, func(c *demo.Chain) {
		ctx := b.Context()
		must(b, demo.PublishContracts(ctx, c.Services, c.Admin))
		creds = must1[demo.Credentials](b)(c.Publisher(ctx, c.Admin, s.own))
		_, actor, err := c.Approved(ctx, organisation("North", "34567890"))
		must(b, err)
		target := r.target("bench", "/bench")
		endpoint, err := c.Endpoint(ctx, actor, target)
		must(b, err)
		sub, err := c.Request(ctx, actor, endpoint.ID, demo.TypeEnrolled)
		must(b, err)
		must(b, c.Subscriptions.Approve(ctx, c.Admin, sub.ID))
	})
	s.start(b)
	token := s.token(b, creds, "events.publish")
	const batch = 20
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			n := min(left.Add(-batch)+batch, batch)
			if n <= 0 {
				continue // the others have taken all there is
			}
			bodies := make([]string, n)
			for i := range bodies {
				_, bodies[i] = newEvent(s.own, demo.TypeEnrolled)
			}
			a, err := s.try(http.MethodPost, "/events/v1/events", token, eventHeader("application/cloudevents-batch+json"), "["+strings.Join(bodies, ",")+"]")
			if err != nil || a.status != http.StatusAccepted {
				b.Errorf("publish: %d %v %s", a.status, err, a.body)
				return
			}
		}
	})
	eventually(b, "all events arrive", func() (bool, string) { return r.offers("/bench") >= b.N, "" })
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
