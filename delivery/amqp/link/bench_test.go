package link_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"schakel/delivery/amqp/brokertest"
	"schakel/delivery/amqp/link"
)

// BenchmarkBrokerCeiling measures RabbitMQ 4 and this package with messages of 4 KB
// on quorum queues and nothing else: sent by 64 at once and accepted, received and
// accepted. The bridge cannot be faster.
func BenchmarkBrokerCeiling(b *testing.B) {
	broker := brokertest.Start(b, brokertest.RabbitMQ4)
	p := broker.NewParty(b)
	c := connect(b, broker.Config())
	body := make([]byte, 4096)
	send := func(b *testing.B) {
		var next atomic.Int64
		b.SetParallelism(32)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				m := plain(fmt.Sprint(next.Add(1)))
				m.Data = [][]byte{body}
				if err := c.Send(context.Background(), p.Async, m); err != nil {
					b.Error(err)
				}
			}
		})
	}
	b.Run("send", func(b *testing.B) {
		send(b)
		perSecond(b)
		b.StopTimer()
		drain(b, c, p.Async, b.N)
	})
	b.Run("receive", func(b *testing.B) {
		send(b)
		b.ResetTimer()
		drain(b, c, p.Async, b.N)
		perSecond(b)
	})
}

func perSecond(b *testing.B) { b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s") }

// drain receives and accepts so many messages.
func drain(b *testing.B, c *link.Connection, queue string, count int) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var left atomic.Int64
	left.Store(int64(count))
	_ = c.Receive(ctx, queue, 200, func(ctx context.Context, d *link.Delivery) error {
		if err := d.Accept(ctx); err != nil {
			return err
		}
		if left.Add(-1) == 0 {
			cancel()
		}
		return nil
	})
}
