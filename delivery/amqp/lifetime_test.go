package amqp_test

import (
	"strings"
	"testing"
	"time"

	goamqp "github.com/Azure/go-amqp"
	"github.com/google/uuid"

	"schakel/delivery/amqp"
	"schakel/delivery/amqp/brokertest"
	"schakel/store"
	"schakel/store/storetest"
)

// TestQueueWithATimeToLive has an async queue with a time to live, and one in which a message expired by other means: the
// administrators are notified of each queue once, and the page shows them. Queues of synchronous exchange, which must have one, and
// queues without are no trouble.
//
// Rules: AMQP-42, AMQP-43, AMQP-124, INC-22
func TestQueueWithATimeToLive(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		p := &pair{broker: brokertest.Start(t, brokertest.RabbitMQ4), pki: newPKI(t)}
		me, peer := newIdentity(t, p.broker, p.pki), newIdentity(t, p.broker, p.pki)
		me.Async += "_short"
		p.broker.Queue(t, me.Async, map[string]any{"x-queue-type": "quorum", "x-message-ttl": 900_000})
		late := &goamqp.Message{
			Header: &goamqp.MessageHeader{Durable: true, TTL: time.Millisecond}, Properties: &goamqp.MessageProperties{MessageID: uuid.NewString()}, Data: [][]byte{{1}},
		}
		send(t, dial(t, p.broker), me.Error, late)
		p.broker.AwaitDepth(t, me.DeadLetter, 1)
		s := p.side(t, "b", db, me, peer)
		told := map[string]string{}
		for len(told) < 2 {
			if n := <-s.notices; n.Kind == amqp.NoticeExpiry {
				for _, g := range n.Groups {
					if told[g.Queue] != "" || g.Own != s.own.Name {
						t.Errorf("notified of %+v", g)
					}
					told[g.Queue] = g.Detail
				}
			}
		}
		if !strings.Contains(told[me.Async], "15m") || !strings.Contains(told[me.Error], "expired") {
			t.Errorf("notified of %v", told)
		}
		s.eventually("the broker said something of every queue", func() (bool, string) {
			queues, err := db.AMQPQueues(t.Context())
			known := 0
			for _, q := range queues {
				if q.Known {
					known++
				}
				if q.Name == me.Sync || q.Name == me.DeadLetter && q.Loses(time.Now()) {
					t.Fatalf("%+v", q)
				}
			}
			return err == nil && known == 3, ""
		})
	})
}

// TestServiceBusMessageExpires has a message expire on Service Bus, which does not tell the time to live of a queue: it is known by
// the dead letter.
//
// Rules: AMQP-42, INC-22
func TestServiceBusMessageExpires(t *testing.T) {
	t.Parallel()
	m := &goamqp.Message{Properties: &goamqp.MessageProperties{MessageID: uuid.NewString()}, Data: [][]byte{{1}}}
	a := onBus(t, storetest.SQLite(t), nil, func(a *alone) { bury(t, a.wire, "700001_async", m, "TTLExpiredException") })
	for n := range a.b.notices {
		if n.Kind == amqp.NoticeExpiry {
			if len(n.Groups) != 1 || n.Groups[0].Queue != "700001_async" {
				t.Errorf("notified of %+v", n.Groups)
			}
			break
		}
	}
	a.b.eventually("the other queues are listed as not known", func() (bool, string) {
		queues, err := a.b.db.AMQPQueues(t.Context())
		for _, q := range queues {
			if q.Known || q.Loses(time.Now()) != (q.Name == "700001_async") {
				t.Fatalf("%+v", q)
			}
		}
		return err == nil && len(queues) == 4, ""
	})
}
