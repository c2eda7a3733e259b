package amqp_test

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	goamqp "github.com/Azure/go-amqp"
	"github.com/google/uuid"

	"schakel/delivery/amqp"
	"schakel/delivery/amqp/brokertest"
	"schakel/delivery/amqp/link"
	"schakel/store"
	"schakel/store/storetest"
)

// Parties on a broker that behaves like Service Bus.
const (
	busOwn  = 700_001
	busPeer = 700_002
)

// busParty is a party whose queues are on Service Bus.
func busParty(her string, id int) brokertest.Party {
	return brokertest.Party{HerID: id, Async: her + "_async", Sync: her + "_sync", Error: her + "_error", DeadLetter: "host/ns/" + her + "_async/$DeadLetterQueue"}
}

// onBus makes a Schakel on Service Bus; faults sets the outcome of messages sent to queues of the peer.
// before is called before the Schakel starts.
func onBus(t *testing.T, db *store.DB, faults map[string]brokertest.Behaviour, before func(a *alone)) *alone {
	t.Helper()
	queues := map[string]brokertest.Behaviour{}
	for _, her := range []string{"700001", "700002"} {
		for _, end := range []string{"_async", "_sync", "_error", "_reply"} {
			queues[her+end] = brokertest.Accept
		}
	}
	maps.Copy(queues, faults)
	a := &alone{pair: &pair{bus: brokertest.StartScripted(t, queues), pki: newPKI(t)}, refreshes: map[string]int{}}
	mine := identityOf(busParty("700001", busOwn), a.pki)
	a.peer = identityOf(busParty("700002", busPeer), a.pki)
	wire, err := connect(t.Context(), store.AMQPBroker{Dialect: store.AMQPServiceBus, URL: a.bus.URL, Username: brokertest.User, Secret: brokertest.Password}, func(link.State) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = wire.Stop(context.Background()) })
	a.wire, _ = wire.(*link.Connection)
	before(a)
	soon := func(c *amqp.Config) {
		c.Connect = func(ctx context.Context, b store.AMQPBroker, changed func(link.State)) (amqp.Conn, error) {
			conn, err := link.New(link.Config{
				URL: b.URL, Dialect: link.ServiceBus(), SASL: link.Plain, Username: b.Username, Password: b.Secret, OnChange: changed,
				Retry: link.Retry{First: time.Millisecond, Max: 5 * time.Millisecond},
			})
			if err != nil {
				return nil, err
			}
			return conn, conn.Start(ctx)
		}
	}
	a.b = a.side(t, "b", db, mine, a.peer, soon)
	return a
}

// TestServiceBusDeadLetters has handling fail ten times, on the async queue and on the error queue: both messages are found below
// their own queue, with the reason that the broker gives. Put back, they stand on the queue they were written to, without what the
// broker added, and are handled.
//
// Rules: AMQP-02, AMQP-45, AMQP-50, AMQP-51, AMQP-52
func TestServiceBusDeadLetters(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		lost := &goamqp.Message{
			Header: &goamqp.MessageHeader{Durable: true}, Properties: &goamqp.MessageProperties{MessageID: uuid.NewString()}, Data: [][]byte{{}},
			ApplicationProperties: map[string]any{"originalMessageId": "x", "errorCondition": "transport:decryption-failed", "fromHerId": "700002"},
		}
		a := onBus(t, db, nil, func(a *alone) { bury(t, a.wire, "700001_error", lost, "test:unreadable") })
		engine := &sick{Engine: a.b.engine, seen: map[string]int{}}
		a.b.bridge.Join(engine)
		msgID := uuid.NewString()
		m := letter(t, a.peer, a.b.me, dialogue(t, a.peer, a.b.me, msgID), uuid.NewString())
		send(t, a.wire, a.b.me.Async, m)
		id, _ := m.Properties.MessageID.(string)
		dead := a.b.message(store.AMQPIn, store.AMQPBusiness, id, store.AMQPDead)
		if dead.Queue != "700001_async/$DeadLetterQueue" || !strings.Contains(dead.Detail, "MaxDeliveryCountExceeded") || !strings.Contains(dead.Detail, "10 delivery attempts") {
			t.Errorf("dead letter on %s: %s", dead.Queue, dead.Detail)
		}
		lostID, _ := lost.Properties.MessageID.(string)
		report := a.b.message(store.AMQPIn, store.AMQPBusiness, lostID, store.AMQPDead)
		if report.Queue != "700001_error/$DeadLetterQueue" || !strings.Contains(report.Detail, "test:unreadable") {
			t.Errorf("dead letter on %s: %s", report.Queue, report.Detail)
		}
		engine.well.Store(true)
		for _, letter := range []store.AMQPMessage{dead, report} {
			if err := a.b.bridge.PutBack(t.Context(), operator(), letter.ID); err != nil {
				t.Fatal(err)
			}
		}
		a.b.message(store.AMQPIn, store.AMQPBusiness, msgID, store.AMQPProcessed)
		if n := len(take(t, a.wire, a.peer.Async, 1)); n != 1 {
			t.Errorf("%d AppRecs", n)
		}
		back := a.b.message(store.AMQPIn, store.AMQPError, lostID, store.AMQPUnmatched)
		if back.Queue != "700001_error" {
			t.Errorf("an error message without a to was put back on %s", back.Queue)
		}
	})
}

// bury puts a message in the dead-letter queue below a queue, for a reason.
func bury(t *testing.T, c *link.Connection, queue string, m *goamqp.Message, reason string) {
	t.Helper()
	send(t, c, queue, m)
	ctx, cancel := context.WithTimeout(t.Context(), giveUp)
	defer cancel()
	buried := false
	_ = c.Receive(ctx, queue, 1, func(ctx context.Context, d *link.Delivery) error {
		defer cancel()
		buried = true
		return d.Reject(ctx, reason, "It cannot be read.")
	})
	if !buried {
		t.Fatal("the message did not come")
	}
}

// TestServiceBusBusy has Service Bus refuse what it cannot take at this moment, each in one of its ways: the event is delivered once
// it can, and nothing waits for a person; so is the AppRec of a message that came in. What is no passing trouble is held.
//
// Rules: AMQP-08, AMQP-114, AMQP-115
func TestServiceBusBusy(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]brokertest.Behaviour{
		"server-busy":     brokertest.Rejects("com.microsoft:server-busy", 3),
		"timeout":         brokertest.Rejects("com.microsoft:timeout", 2),
		"internal error":  brokertest.Rejects("amqp:internal-error", 2),
		"queue is full":   brokertest.Rejects("amqp:resource-limit-exceeded", 3),
		"detach forced":   brokertest.Detaches("amqp:link:detach-forced", 2),
		"attach refused":  brokertest.Refuses("com.microsoft:server-busy", 3),
		"entity disabled": brokertest.Rejects("com.microsoft:entity-disabled", 2),
		"forced":          brokertest.Forces("amqp:connection:forced", 2),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := onBus(t, storetest.SQLite(t), map[string]brokertest.Behaviour{"700002_async": fault}, func(*alone) {})
			msgID := uuid.NewString()
			a.b.publish(typeOut, dialogue(t, a.b.me, a.peer, msgID))
			a.b.message(store.AMQPOut, store.AMQPBusiness, msgID, store.AMQPOpenMessage)
			a.b.eventually("the delivery is delivered", func() (bool, string) {
				list, _, err := a.b.db.Deliveries(t.Context(), store.DeliveryFilter{})
				for _, d := range list {
					if d.Status == store.DeliveryHeld {
						t.Fatalf("held: %s %s", d.Reason, d.Detail)
					}
				}
				return err == nil && len(list) == 1 && list[0].Status == store.DeliveryDelivered, a.b.all()
			})
		})
	}
	t.Run("AppRec", func(t *testing.T) {
		t.Parallel()
		a := onBus(t, storetest.SQLite(t), map[string]brokertest.Behaviour{"700002_async": brokertest.Rejects("com.microsoft:server-busy", 1)}, func(*alone) {})
		_, msgID := a.from(t, a.peer)
		a.b.message(store.AMQPIn, store.AMQPBusiness, msgID, store.AMQPProcessed)
		take(t, a.wire, a.peer.Async, 1)
	})
	t.Run("for good", func(t *testing.T) {
		t.Parallel()
		a := onBus(t, storetest.SQLite(t), map[string]brokertest.Behaviour{"700002_async": brokertest.Rejects("com.microsoft:argument-error", 0)}, func(*alone) {})
		a.b.publish(typeOut, dialogue(t, a.b.me, a.peer, uuid.NewString()))
		a.b.held(t, amqp.ReasonRefused)
	})
}
