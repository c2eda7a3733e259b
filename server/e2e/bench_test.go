package e2e

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"schakel/server/demo"
	"schakel/server/trial"
)

// BenchmarkPublishToReceipt measures the whole way over TLS and loopback: publish
// in batches of 20, durable in SQLite, delivered one by one to a webhook, and
// settled. One operation is one event.
func BenchmarkPublishToReceipt(b *testing.B) {
	p := trial.NewPKI(b)
	r := trial.NewReceiver(b, p)
	s := trial.NewProgram(b, p, demo.OwnA(), trial.SQLitePath(b), "--log-level", "warn")
	var creds demo.Credentials
	s.SetUp(b, func(c *demo.Chain) {
		ctx := b.Context()
		trial.Must(b, demo.PublishContracts(ctx, c.Services, c.Admin))
		creds = trial.Must1[demo.Credentials](b)(c.Publisher(ctx, c.Admin, s.Own))
		_, actor, err := c.Approved(ctx, trial.Organisation("North", "34567890"))
		trial.Must(b, err)
		target := r.Target("bench", "/bench")
		endpoint, err := c.Endpoint(ctx, actor, target)
		trial.Must(b, err)
		sub, err := c.Request(ctx, actor, endpoint.ID, demo.TypeEnrolled)
		trial.Must(b, err)
		trial.Must(b, c.Subscriptions.Approve(ctx, c.Admin, sub.ID))
	})
	s.Start(b)
	token := s.Token(b, creds, "events.publish")
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
				_, bodies[i] = trial.NewEvent(s.Own, demo.TypeEnrolled)
			}
			a, err := s.Try(http.MethodPost, "/events/v1/events", token, trial.EventHeader("application/cloudevents-batch+json"), "["+strings.Join(bodies, ",")+"]")
			if err != nil || a.Status != http.StatusAccepted {
				b.Errorf("publish: %d %v %s", a.Status, err, a.Body)
				return
			}
		}
	})
	trial.Eventually(b, "all events arrive", func() (bool, string) { return r.Offers("/bench") >= b.N, "" })
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
