package amqp_test

import (
	"context"
	"errors"
	"maps"
	"reflect"
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
	"schakel/delivery/outbox"
	"schakel/store"
	"schakel/store/storetest"
	"schakel/templates/i18n"
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
	must(t, err)
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
			must(t, a.b.bridge.PutBack(t.Context(), operator(), letter.ID))
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

// sick is an engine that takes nothing while it is sick.
type sick struct {
	*outbox.Engine

	well atomic.Bool
	mu   sync.Mutex
	seen map[string]int // how often an event was tried
}

func (s *sick) Accept(ctx context.Context, sub outbox.Submission) (outbox.Receipt, error) {
	s.mu.Lock()
	s.seen[sub.Events[0].ID]++
	s.mu.Unlock()
	if !s.well.Load() {
		return outbox.Receipt{}, outbox.ErrUnavailable
	}
	return s.Engine.Accept(ctx, sub)
}

// hasty has the link give messages back soon, so that ten tries are over soon.
func hasty(c *amqp.Config) {
	c.Connect = func(ctx context.Context, b store.AMQPBroker, changed func(link.State)) (amqp.Conn, error) {
		conn, err := link.New(link.Config{
			URL: b.URL, SASL: link.Plain, Username: b.Username, Password: b.Secret, OnChange: changed,
			Retry: link.Retry{First: time.Millisecond, Max: 5 * time.Millisecond},
		})
		if err != nil {
			return nil, err
		}
		return conn, conn.Start(ctx)
	}
}

// TestDeadLetters has our own store fail: a message is tried ten times and no more, its sender gets no answer, it comes among
// the dead letters and people are notified. A person puts it back, byte for byte, on the queue named in its to, or drops it.
//
// Rules: AMQP-02, AMQP-11, AMQP-13, AMQP-45, AMQP-48, AMQP-51, AMQP-52, AMQP-53, AMQP-85, INC-06, INC-27
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	a := simple(t, hasty)
	engine := &sick{Engine: a.b.engine, seen: map[string]int{}}
	a.b.bridge.Join(engine)
	elsewhere := a.peer.Async + "_elsewhere"
	a.broker.Queue(t, elsewhere, nil)
	names := map[string]string{"back": a.b.me.Async, "elsewhere": elsewhere, "dropped": a.b.me.Async}
	msgIDs, letters := map[string]string{}, map[string]*goamqp.Message{}
	for name, to := range names {
		msgIDs[name] = uuid.NewString()
		m := letter(t, a.peer, a.b.me, dialogue(t, a.peer, a.b.me, msgIDs[name]), uuid.NewString())
		address := "amqp.example/ns/" + to
		m.Properties.To = &address
		letters[name] = m
		send(t, a.wire, a.b.me.Async, m)
	}
	dead := map[string]store.AMQPMessage{}
	for name, m := range letters {
		id, _ := m.Properties.MessageID.(string)
		dead[name] = a.b.message(store.AMQPIn, store.AMQPBusiness, id, store.AMQPDead)
		if kept := unsealed(t, dead[name].Encoded); !sameBare(kept, m) {
			t.Errorf("%s: kept %+v, want %+v", name, kept, m)
		}
	}
	notice := <-a.b.notices
	if notice.Kind != amqp.NoticeDead || len(notice.Groups) != 1 || notice.Groups[0].Own != a.b.own.Name || notice.Groups[0].Name != a.b.counter.Name {
		t.Errorf("notice %+v", notice)
	}
	engine.mu.Lock()
	for name, msgID := range msgIDs {
		if engine.seen[msgID] != 10 {
			t.Errorf("%s was tried %d times, want 10", name, engine.seen[msgID])
		}
	}
	engine.mu.Unlock()
	if n := a.b.outgoing(); n != 0 {
		t.Errorf("%d messages were told of a fault of ours", n)
	}
	engine.well.Store(true)
	a.decide(t, dead, letters, elsewhere)
	a.b.message(store.AMQPIn, store.AMQPBusiness, msgIDs["back"], store.AMQPProcessed)
	take(t, a.wire, a.peer.Async, 1)
	if n := len(a.b.inbox.events(typeIn)); n > 1 {
		t.Errorf("%d events", n)
	}
}

// decide does with dead letters what a person can.
func (a *alone) decide(t *testing.T, dead map[string]store.AMQPMessage, letters map[string]*goamqp.Message, elsewhere string) {
	t.Helper()
	bridge, ctx := a.b.bridge, t.Context()
	if err := bridge.PutBack(ctx, outbox.Actor{PartnerID: a.b.partner.ID}, dead["back"].ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a partner puts it back: %v", err)
	}
	if err := bridge.Drop(ctx, operator(), dead["dropped"].ID, " "); !errors.Is(err, outbox.ErrReasonMissing) {
		t.Errorf("dropped without a reason: %v", err)
	}
	must(t, errors.Join(bridge.Drop(ctx, operator(), dead["dropped"].ID, "not ours"), bridge.PutBack(ctx, operator(), dead["back"].ID), bridge.PutBack(ctx, operator(), dead["elsewhere"].ID)))
	var refused amqp.Refused
	if err := bridge.PutBack(ctx, operator(), dead["dropped"].ID); !errors.As(err, &refused) {
		t.Errorf("a dropped one is put back: %v", err)
	}
	again := take(t, a.wire, elsewhere, 1)[0]
	if !sameBare(again, letters["elsewhere"]) || !again.Header.Durable {
		t.Errorf("put back %+v, want %+v", again, letters["elsewhere"])
	}
	for name, want := range map[string]string{"back": store.AMQPPutBack, "elsewhere": store.AMQPPutBack, "dropped": store.AMQPDropped} {
		m, err := a.b.db.AMQPMessage(ctx, dead[name].ID)
		if err != nil || m.Status != want || m.Encoded != nil {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
		steps, err := a.b.db.AMQPTraces(ctx, m.ID)
		if err != nil || len(steps) < 2 {
			t.Errorf("%s: steps %+v, %v", name, steps, err)
		}
	}
}

// sameBare compares bare messages, section by section; the order of application properties means nothing.
func sameBare(x, y *goamqp.Message) bool {
	return reflect.DeepEqual(x.Properties, y.Properties) && reflect.DeepEqual(x.ApplicationProperties, y.ApplicationProperties) &&
		reflect.DeepEqual(x.Data, y.Data) && x.Value == nil && x.Sequence == nil
}

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
					told[g.Queue] = i18n.Message(g.Detail).In(t.Context())
				}
			}
		}
		if !strings.Contains(told[me.Async], "15 min") || !strings.Contains(told[me.Error], "expired") {
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
