package link_test

import (
	"testing"
	"time"

	"schakel/delivery/amqp/brokertest"
	"schakel/delivery/amqp/link"
)

// RabbitMQ 4 says after how long the messages of a queue expire, also to a user who may do nothing but write and read; RabbitMQ 3 does
// not say.
//
// Rules: AMQP-42, INC-22
func TestLifetimes(t *testing.T) {
	t.Parallel()
	onBrokers(t, func(t *testing.T, b *brokertest.Broker) {
		t.Parallel()
		p := b.NewParty(t)
		short, gone := p.Async+"_short", p.Async+" gone/100%"
		b.Queue(t, short, map[string]any{"x-message-ttl": 900_000})
		b.Queue(t, gone, map[string]any{"x-expires": 86_400_000})
		b.User(t, user(p), "secret", ".*", ".*")
		c := connect(t, ownConnections(b, p))
		got, err := c.Lifetimes(within(t), []string{p.Async, p.Sync, short, gone, p.Async + "_not_there"})
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]link.Lifetime{
			p.Async: {Known: true}, p.Sync: {Known: true, TTL: 15 * time.Second}, short: {Known: true, TTL: 15 * time.Minute}, gone: {Known: true, Expires: 24 * time.Hour},
		}
		if b.Version == brokertest.RabbitMQ310 {
			want = map[string]link.Lifetime{p.Async: {}, p.Sync: {}, short: {}, gone: {}, p.Async + "_not_there": {}}
		}
		if len(got) != len(want) {
			t.Errorf("told of %v", got)
		}
		for queue, life := range want {
			if got[queue] != life {
				t.Errorf("%s: %+v, want %+v", queue, got[queue], life)
			}
		}
	})
}
