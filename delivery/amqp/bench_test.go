package amqp_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goamqp "github.com/Azure/go-amqp"
	"github.com/google/uuid"
	"schakel/delivery/amqp"
	"schakel/delivery/amqp/brokertest"
	"schakel/delivery/amqp/link"
	"schakel/delivery/amqp/msghead"
	"schakel/delivery/event"
	"schakel/delivery/outbox"
	"schakel/store"
	"schakel/store/storetest"
)

// sized is a business message of about so many bytes.
func sized(t testing.TB, from, to identity, msgID string, size int) []byte {
	t.Helper()
	doc, err := msghead.Compose(msghead.Draft{
		Type: msghead.Code{V: subjectDialogue, DN: "Dialog"}, MsgID: msgID, Generated: time.Now(), Sender: headParty(from.HerID), Receiver: headParty(to.HerID),
		Topic: msghead.Code{V: "BA"}, Question: strings.Repeat("Kan du komme? ", size/14),
	})
	must(t, err)
	return doc
}

// ceiling measures what the broker itself does: messages of the same size written, or read, a second.
func ceiling(b *testing.B, broker *brokertest.Broker, size int) (written, read float64) {
	b.Helper()
	const count = 2000
	queue := uuid.NewString()
	broker.Queue(b, queue, map[string]any{"x-queue-type": "quorum"})
	c := dial(b, broker)
	body := make([]byte, size)
	started := time.Now()
	var writers sync.WaitGroup
	for range 8 {
		writers.Go(func() {
			for range count / 8 {
				send(b, c, queue, &goamqp.Message{Header: &goamqp.MessageHeader{Durable: true}, Data: [][]byte{body}})
			}
		})
	}
	writers.Wait()
	written = count / time.Since(started).Seconds()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var n atomic.Int64
	started = time.Now()
	_ = c.Receive(ctx, queue, 8, func(ctx context.Context, d *link.Delivery) error {
		if n.Add(1) == count {
			defer cancel()
		}
		return d.Accept(ctx)
	})
	return written, count / time.Since(started).Seconds()
}

// BenchmarkIn takes signed and encrypted messages of 4 KB in, from the queue to the AppRec on the other queue, and BenchmarkOut
// sends them; beside it what the broker does by itself.
func BenchmarkIn(b *testing.B) {
	a := benched(b)
	written, read := ceiling(b, a.broker, 6000)
	a.b.stop()
	var letters []*goamqp.Message
	for range b.N {
		letters = append(letters, letter(b, a.peer, a.b.me, sized(b, a.peer, a.b.me, uuid.NewString(), 4000), uuid.NewString()))
	}
	for _, m := range letters {
		send(b, a.wire, a.b.me.Async, m)
	}
	b.ResetTimer()
	a.b.start()
	for a.count(store.AMQPFilter{Direction: store.AMQPOut, Kinds: []string{store.AMQPAppRec}, Statuses: []string{store.AMQPSent}}) < b.N {
		<-time.After(5 * time.Millisecond)
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msg/s")
	b.ReportMetric(written, "broker-writes/s")
	b.ReportMetric(read, "broker-reads/s")
}

// BenchmarkOut: see BenchmarkIn.
func BenchmarkOut(b *testing.B) {
	a := benched(b)
	written, _ := ceiling(b, a.broker, 6000)
	var events []event.Event
	for range b.N {
		ev, err := event.New(map[string]string{"id": uuid.NewString(), "source": "urn:own", "type": typeOut, "datacontenttype": "application/xml"},
			sized(b, a.b.me, a.peer, uuid.NewString(), 4000), event.Limits{})
		must(b, err)
		events = append(events, ev)
	}
	b.ResetTimer()
	for len(events) > 0 {
		n := min(100, len(events))
		if _, err := a.b.engine.Accept(context.Background(), outbox.Submission{ClientID: "own", PartnerID: a.b.self.ID, FromOwn: true, Events: events[:n]}); err != nil {
			b.Fatal(err)
		}
		events = events[n:]
	}
	for a.count(store.AMQPFilter{Direction: store.AMQPOut, Statuses: []string{store.AMQPOpenMessage}}) < b.N {
		<-time.After(5 * time.Millisecond)
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msg/s")
	b.ReportMetric(written, "broker-writes/s")
}

// BenchmarkLarge takes one large message in, and reports the most memory the program held.
func BenchmarkLarge(b *testing.B) {
	for _, megabytes := range []int{1, 11} {
		b.Run(fmt.Sprint(megabytes, "MB"), func(b *testing.B) {
			a := benched(b, func(c *amqp.Config) { c.Limits.EventBytes = 32 << 20 })
			var before, peak uint64
			for range b.N {
				id := uuid.NewString()
				m := letter(b, a.peer, a.b.me, sized(b, a.peer, a.b.me, id, megabytes<<20), uuid.NewString())
				runtime.GC()
				before = inUse()
				send(b, a.wire, a.b.me.Async, m)
				for a.count(store.AMQPFilter{ID: id, Kinds: []string{store.AMQPAppRec}, Statuses: []string{store.AMQPSent}}) == 0 {
					peak = max(peak, inUse())
					<-time.After(time.Millisecond)
				}
			}
			b.ReportMetric(float64(peak-before)/(1<<20), "MB-more")
		})
	}
}

func inUse() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func benched(b *testing.B, change ...func(*amqp.Config)) *alone {
	b.Helper()
	return newAlone(b, storetest.SQLite(b), brokertest.Start(b, brokertest.RabbitMQ4), change...)
}

func (a *alone) count(f store.AMQPFilter) int {
	n, err := a.b.db.CountAMQPMessages(context.Background(), f)
	if err != nil {
		a.b.t.Fatal(err)
	}
	return n
}
