package outbox

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"

	"schakel/store"
	"schakel/store/storetest"
)

// BenchmarkTwoNodes takes events in and hands them over on one node and on two that share a PostgreSQL: two must not be
// slower than one. All are in one process, on the processors of one machine.
func BenchmarkTwoNodes(b *testing.B) {
	for _, nodes := range []int{1, 2} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			db := storetest.Postgres(b)
			first, own := benchEngine(b, db, "http://127.0.0.1:9/")
			if err := first.Stop(b.Context()); err != nil {
				b.Fatal(err)
			}
			var sent atomic.Int64
			all := make(chan struct{})
			way := countingTransport(func() {
				if sent.Add(1) == int64(b.N) {
					close(all)
				}
			})
			engines := make([]*Engine, nodes)
			for i := range engines {
				engines[i] = New(Config{DB: db, Log: slog.New(slog.DiscardHandler), Transports: map[string]Transport{store.EndpointWebhook: way}})
				if err := engines[i].Start(b.Context()); err != nil {
					b.Fatal(err)
				}
				defer func() { _ = engines[i].Stop(b.Context()) }()
			}
			var turn atomic.Int64
			b.SetParallelism(64)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					accept(b, engines[int(turn.Add(1))%nodes], own)
				}
			})
			<-all
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// countingTransport is a transport on which everything arrives at once.
type countingTransport func()

// Send implements Transport.
func (w countingTransport) Send(context.Context, store.Endpoint, store.Claimed) Result {
	w()
	return delivered()
}
