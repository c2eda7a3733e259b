package amqp_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	goamqp "github.com/Azure/go-amqp"
	"github.com/google/uuid"
	"schakel/delivery/amqp"
	"schakel/delivery/amqp/apprec"
	"schakel/delivery/amqp/brokertest"
	"schakel/delivery/amqp/cms"
	"schakel/delivery/amqp/message"
	"schakel/delivery/outbox"
	"schakel/store"
	"schakel/store/storetest"
)

func unsealed(t *testing.T, stored []byte) *goamqp.Message {
	t.Helper()
	plain, err := openVault{}.OpenBytes("amqp-message", stored)
	if err != nil {
		t.Fatalf("%v: %q", err, stored)
	}
	m := &goamqp.Message{}
	must(t, m.UnmarshalBinary(plain))
	return m
}

// TestUnknownSender has messages come in whose sender is unknown, two under one messageId. Each is stored as it was received, with
// the AMQP type of every value, and the administrators are notified. Once the sender is registered, one of them is reprocessed and
// then all others: they are handled as if they came from their queue, with their AppRecs. On both databases.
//
// Rules: AMQP-02, AMQP-10, AMQP-30, AMQP-46, AMQP-86, AMQP-116, AMQP-123
func TestUnknownSender(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := newAlone(t, db, brokertest.Start(t, brokertest.RabbitMQ4))
		stranger := newIdentity(t, a.broker, a.pki)
		messageID, msgIDs := uuid.NewString(), []string{uuid.NewString(), uuid.NewString(), uuid.NewString()}
		first := letter(t, stranger, a.b.me, dialogue(t, stranger, a.b.me, msgIDs[0]), messageID)
		first.Properties.CorrelationID = goamqp.UUID(uuid.MustParse(messageID))
		first.ApplicationProperties["number"] = int32(7)
		send(t, a.wire, a.b.me.Async, first)
		same := letter(t, stranger, a.b.me, dialogue(t, stranger, a.b.me, msgIDs[1]), messageID)
		send(t, a.wire, a.b.me.Async, same)
		last := letter(t, stranger, a.b.me, dialogue(t, stranger, a.b.me, msgIDs[2]), uuid.NewString())
		send(t, a.wire, a.b.me.Async, last)
		rows := a.quarantined(t, 3)
		a.checkStored(t, rows, first)
		a.checkNotified(t, stranger, rows)
		bridge, ctx := a.b.bridge, context.Background()
		if err := bridge.Reprocess(ctx, operator(), rows[0].ID); !isRefused(err) {
			t.Errorf("reprocessed before its sender is known: %v", err)
		}
		a.quarantined(t, 3)
		a.register(t, stranger)
		must(t, bridge.Reprocess(ctx, operator(), rows[0].ID))
		done, err := a.b.db.AMQPMessage(ctx, rows[0].ID)
		if err != nil || done.Status != store.AMQPProcessed || done.Encoded != nil || done.PartyID == "" || done.MsgID == "" {
			t.Errorf("%+v, %v", done, err)
		}
		n, err := bridge.AskAll(ctx, operator(), store.AMQPFilter{HerID: int64(stranger.HerID)}, amqp.OperationReprocess, "")
		if err != nil || n != 2 {
			t.Fatalf("%d asked, %v", n, err)
		}
		a.checkHandled(t, stranger, rows, msgIDs)
	})
}

// quarantined waits for so many messages to be in quarantine, the oldest first.
func (a *alone) quarantined(t *testing.T, n int) (rows []store.AMQPMessage) {
	t.Helper()
	a.b.eventually(fmt.Sprint(n, " messages are in quarantine"), func() (bool, string) {
		list, total, err := a.b.db.AMQPMessages(context.Background(), store.AMQPFilter{Statuses: []string{store.AMQPQuarantined}})
		rows = nil
		for i := len(list) - 1; i >= 0; i-- {
			rows = append(rows, list[i])
		}
		return err == nil && total == n, a.b.all()
	})
	return rows
}

// checkStored finds the bytes of a message in one of the rows, and its body in the clear in none.
func (a *alone) checkStored(t *testing.T, rows []store.AMQPMessage, want *goamqp.Message) {
	t.Helper()
	found := false
	for _, row := range rows {
		got := unsealed(t, row.Encoded)
		found = found || bytes.Equal(got.GetData(), want.GetData()) && reflect.DeepEqual(got.Properties, want.Properties) &&
			reflect.DeepEqual(got.ApplicationProperties, want.ApplicationProperties) && got.Header != nil && got.Header.Durable
	}
	if !found {
		t.Errorf("the message is not stored as it was sent: %+v", want.Properties)
	}
}

func (a *alone) checkNotified(t *testing.T, from identity, rows []store.AMQPMessage) {
	t.Helper()
	notice := <-a.b.notices
	if notice.Kind != amqp.NoticeQuarantined || len(notice.Groups) != 1 {
		t.Fatalf("notice %+v", notice)
	}
	g := notice.Groups[0]
	if g.HerID != int64(from.HerID) || g.Queue != a.b.me.Async || g.Count < 1 || g.Own != a.b.own.Name || g.MessageID != rows[0].ID {
		t.Errorf("group %+v", g)
	}
}

func (a *alone) checkHandled(t *testing.T, from identity, rows []store.AMQPMessage, msgIDs []string) {
	t.Helper()
	events := func() map[string]int {
		got := map[string]int{}
		for _, ev := range a.b.inbox.events(typeIn) {
			got[ev.CEID]++
		}
		return got
	}
	a.b.eventually("all events are delivered", func() (bool, string) { return len(events()) == 2, a.b.all() })
	for id, n := range events() {
		if n != 1 {
			t.Errorf("event %s came %d times", id, n)
		}
	}
	// Two of them share a messageId; the second is a duplicate by the rules of the profile.
	states := map[string]int{}
	a.b.eventually("nothing is in quarantine", func() (bool, string) {
		clear(states)
		for _, row := range rows {
			m, err := a.b.db.AMQPMessage(context.Background(), row.ID)
			must(t, err)
			states[m.Status]++
		}
		return states[store.AMQPQuarantined] == 0, a.b.all()
	})
	if states[store.AMQPProcessed] != 2 || states[store.AMQPDuplicate] != 1 {
		t.Errorf("states %v", states)
	}
	for _, m := range take(t, a.wire, from.Async, 2) {
		if *m.Properties.Subject != "APPREC" {
			t.Errorf("answer %+v", m.Properties)
		}
	}
	if n := a.b.outgoing(); n != 2 {
		t.Errorf("%d answers for %v", n, msgIDs)
	}
}

func isRefused(err error) bool {
	_, ok := errors.AsType[amqp.Refused](err)
	return ok
}

// TestNobodyToAnswer has messages come in that name no sender, or name us. Their bytes are stored too, encrypted when they came
// unencrypted, and an operator may drop them.
//
// Rules: AMQP-30, AMQP-123
func TestNobodyToAnswer(t *testing.T) {
	t.Parallel()
	a := simple(t)
	secret := "<Secret>Kan du komme?</Secret>"
	missing := letter(t, a.peer, a.b.me, dialogue(t, a.peer, a.b.me, uuid.NewString()), uuid.NewString())
	delete(missing.ApplicationProperties, "fromHerId")
	missing.Data = [][]byte{[]byte(secret)}
	plain := message.ContentSOAP
	missing.Properties.ContentType = &plain
	send(t, a.wire, a.b.me.Async, missing)
	a.from(t, a.b.me)
	rows := a.quarantined(t, 2)
	for _, row := range rows {
		if len(unsealed(t, row.Encoded).GetData()) == 0 || row.ContentDigest == "" {
			t.Errorf("row %+v", row)
		}
		if err := a.b.bridge.Reprocess(t.Context(), operator(), row.ID); !isRefused(err) {
			t.Errorf("%v", err)
		}
	}
	n, err := a.b.bridge.AskAll(t.Context(), operator(), store.AMQPFilter{HerID: store.HerNone}, amqp.OperationDrop, "a test")
	if err != nil || n != 1 {
		t.Fatalf("%d asked, %v", n, err)
	}
	left := a.quarantined(t, 1)
	if left[0].Her != int64(a.b.me.HerID) {
		t.Errorf("left %+v", left)
	}
	must(t, a.b.bridge.Drop(t.Context(), operator(), left[0].ID, "ours"))
	a.quarantined(t, 0)
}

// TestNoticesAreLimited has one stranger write often: one mail an hour tells of it, and none is left out in the end.
//
// Rules: AMQP-13
func TestNoticesAreLimited(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClockAt(time.Now())
	a := newAlone(t, storetest.SQLite(t, storetest.WithClock(clock)), brokertest.Start(t, brokertest.RabbitMQ4), func(c *amqp.Config) { c.Now = clock.Now })
	stranger, other := newIdentity(t, a.broker, a.pki), newIdentity(t, a.broker, a.pki)
	a.from(t, stranger)
	a.quarantined(t, 1)
	if n := <-a.b.notices; len(n.Groups) != 1 || n.Groups[0].Count != 1 {
		t.Errorf("notice %+v", n)
	}
	a.from(t, stranger)
	a.from(t, stranger)
	a.quarantined(t, 3)
	clock.Advance(2 * time.Minute)
	a.from(t, other)
	if n := <-a.b.notices; len(n.Groups) != 1 || n.Groups[0].HerID != int64(other.HerID) {
		t.Errorf("within the hour: %+v", n)
	}
	clock.Advance(2 * time.Hour)
	if n := <-a.b.notices; len(n.Groups) != 1 || n.Groups[0].HerID != int64(stranger.HerID) || n.Groups[0].Count != 2 {
		t.Errorf("after the hour: %+v", n)
	}
}

func (s *side) subscribe(status string) {
	s.t.Helper()
	s.write(func(tx *store.Tx) error {
		subs, _, err := tx.Subscriptions(context.Background(), store.SubscriptionFilter{EventType: typeIn})
		if err != nil {
			return err
		}
		subs[0].Status = status
		return tx.UpdateSubscription(context.Background(), &subs[0])
	})
}

// TestNoRecipient suspends the only subscription to what a process takes in. A positive AppRec would take over responsibility for
// an event that nobody gets: the message is held without one, the administrators are notified, and it goes out with its AppRec
// when somebody is subscribed. On both databases.
//
// Rules: AMQP-16, AMQP-82, AMQP-86
func TestNoRecipient(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := newAlone(t, db, brokertest.Start(t, brokertest.RabbitMQ4))
		a.b.subscribe(store.SubscriptionSuspended)
		messageID, msgID := a.from(t, a.peer)
		row := a.b.message(store.AMQPIn, store.AMQPBusiness, messageID, store.AMQPHeld, store.AMQPProcessed)
		if row.Status != store.AMQPHeld || row.Reason != amqp.ReasonNoRecipient || row.EventID != "" || len(row.Encoded) == 0 {
			t.Fatalf("row %+v", row)
		}
		if n := a.b.outgoing(); n != 0 {
			t.Fatalf("%d answers to a held message", n)
		}
		if n := <-a.b.notices; n.Kind != amqp.NoticeHeld || n.Groups[0].Name != a.b.counter.Name || n.Groups[0].MessageID != row.ID {
			t.Errorf("notice %+v", n)
		}
		if err := a.b.bridge.Reprocess(t.Context(), operator(), row.ID); !isRefused(err) {
			t.Errorf("%v", err)
		}
		a.from(t, a.peer)
		a.b.subscribe(store.SubscriptionApproved)
		a.b.message(store.AMQPIn, store.AMQPBusiness, msgID, store.AMQPProcessed)
		a.b.eventually("the events are there", func() (bool, string) { return len(a.b.inbox.events(typeIn)) == 2, a.b.all() })
		for _, m := range take(t, a.wire, a.peer.Async, 2) {
			if got, _ := a.opened(t, m.GetData()); got.Status != apprec.OK {
				t.Errorf("AppRec %+v", got)
			}
		}
	})
}

func (a *alone) opened(t *testing.T, body []byte) (apprec.AppRec, []byte) {
	t.Helper()
	opened, err := cms.Unseal(body, []cms.Identity{cms.Identity(a.peer.encrypt)}, []*x509.Certificate{a.b.me.sign.Certificate})
	must(t, err)
	got, err := apprec.Parse(opened.Content)
	must(t, err)
	return got, opened.Content
}

// TestNoRecipientRejected has the settings ask for a negative AppRec instead, for what comes in and for what is held.
//
// Rules: AMQP-14, AMQP-83
func TestNoRecipientRejected(t *testing.T) {
	t.Parallel()
	var reject atomic.Bool
	a := simple(t, func(c *amqp.Config) { c.RejectUnwanted = func(context.Context) bool { return reject.Load() } })
	a.b.subscribe(store.SubscriptionEnded)
	held, _ := a.from(t, a.peer)
	row := a.b.message(store.AMQPIn, store.AMQPBusiness, held, store.AMQPHeld)
	reject.Store(true)
	messageID, _ := a.from(t, a.peer)
	a.b.message(store.AMQPIn, store.AMQPBusiness, messageID, store.AMQPRejected)
	must(t, a.b.bridge.Reprocess(t.Context(), operator(), row.ID))
	a.b.message(store.AMQPIn, store.AMQPBusiness, held, store.AMQPRejected)
	for _, m := range take(t, a.wire, a.peer.Async, 2) {
		got, document := a.opened(t, m.GetData())
		if got.Status != apprec.Rejected || got.Errors[0].Code != "E21" {
			t.Errorf("AppRec %+v", got)
		}
		lint(t, "apprec-v1.1.xsd", document)
	}
}

// TestEveryMessageIsInANotice has a message come while the administrators are notified: after the groups were listed, and before
// those of its own were marked. It is in the notice, and none is marked that is in no notice.
//
// Rules: AMQP-49, AMQP-53
func TestEveryMessageIsInANotice(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		other := map[string]string{amqp.NoticeDead: store.AMQPQuarantined, amqp.NoticeQuarantined: store.AMQPDead}
		var a *alone
		insert := func(tx *store.Tx, status string) error {
			id := uuid.NewString()
			return tx.InsertAMQPMessage(t.Context(), &store.AMQPMessage{
				Direction: store.AMQPIn, Kind: store.AMQPBusiness, Status: status, OwnPartyID: a.b.own.ID, Her: 555, MessageID: id, MsgID: id, Queue: "q", Encoded: []byte{1},
			})
		}
		notices := make(chan amqp.Notice, 100)
		first := true
		a = newAlone(t, db, brokertest.Start(t, brokertest.RabbitMQ4), func(c *amqp.Config) {
			c.Notify = func(_ context.Context, tx *store.Tx, n amqp.Notice) error {
				if status, ours := other[n.Kind]; ours && first {
					first = false
					if err := insert(tx, status); err != nil {
						return err
					}
				}
				notices <- n
				return nil
			}
		})
		a.b.write(func(tx *store.Tx) error {
			return errors.Join(insert(tx, store.AMQPDead), insert(tx, store.AMQPQuarantined))
		})
		a.b.eventually("all are marked", func() (bool, string) {
			rows, n, err := db.AMQPMessages(t.Context(), store.AMQPFilter{HerID: 555})
			for _, m := range rows {
				if m.NotifiedAt.IsZero() {
					return false, a.b.all()
				}
			}
			return err == nil && n == 3, a.b.all()
		})
		counted := 0
		for range len(notices) {
			counted += (<-notices).Groups[0].Count
		}
		if counted != 3 {
			t.Errorf("%d of 3 messages are in a notice", counted)
		}
	})
}

// count counts the messages in a state, for tiles and metrics.
func (s *side) count(status string) int {
	s.t.Helper()
	n, err := s.db.CountAMQPMessages(s.t.Context(), store.AMQPFilter{Statuses: []string{status}})
	must(s.t, err)
	return n
}

// TestWorkListIsEmptied puts dead letters back, resends failed messages and discards others, each many at once: each is done once and
// the counters go down to nothing, those of deliveries too.
//
// Rules: AMQP-13, AMQP-49, AMQP-52, AMQP-85, AMQP-87
func TestWorkListIsEmptied(t *testing.T) {
	t.Parallel()
	const many = 5
	a := simple(t, hasty)
	engine := &sick{Engine: a.b.engine, seen: map[string]int{}}
	a.b.bridge.Join(engine)
	come := map[string]bool{}
	for range many {
		messageID, msgID := a.from(t, a.peer)
		a.b.message(store.AMQPIn, store.AMQPBusiness, messageID, store.AMQPDead)
		come[msgID] = true
	}
	engine.well.Store(true)
	a.all(t, amqp.OperationPutBack, store.AMQPFilter{Statuses: []string{store.AMQPDead}}, many, store.AMQPDead)
	for msgID := range come {
		a.b.message(store.AMQPIn, store.AMQPBusiness, msgID, store.AMQPProcessed)
	}
	take(t, a.wire, a.peer.Async, many) // their AppRecs

	sent := map[string]bool{}
	for range 2 * many {
		msgID := uuid.NewString()
		sent[msgID] = true
		a.b.publish(typeOut, dialogue(t, a.b.me, a.peer, msgID))
	}
	for _, m := range take(t, a.wire, a.peer.Async, 2*many) {
		a.tellError(t, m, message.InvalidSignature)
	}
	for msgID := range sent {
		a.b.message(store.AMQPOut, store.AMQPBusiness, msgID, store.AMQPFailed)
	}
	a.b.eventually("their deliveries are held", func() (bool, string) {
		_, n, err := a.b.db.Deliveries(t.Context(), store.DeliveryFilter{Statuses: []string{store.DeliveryHeld}})
		return err == nil && n == 2*many, a.b.all()
	})
	if n, err := a.b.bridge.AskAll(t.Context(), operator(), store.AMQPFilter{}, amqp.OperationDrop, ""); err == nil || n != 0 {
		t.Errorf("discarded %d without a reason: %v", n, err)
	}
	if n, err := a.b.bridge.AskAll(t.Context(), outbox.Actor{PartnerID: "another"}, store.AMQPFilter{}, amqp.OperationResend, ""); err == nil || n != 0 {
		t.Errorf("a partner asked for %d: %v", n, err)
	}
	rows, _, err := a.b.db.AMQPMessages(t.Context(), store.AMQPFilter{Statuses: []string{store.AMQPFailed}})
	if err != nil || len(rows) != 2*many {
		t.Fatalf("%d failed, %v", len(rows), err)
	}
	for _, m := range rows[:many] { // one by one: each lowers the counter
		before := a.b.count(store.AMQPFailed)
		must(t, a.b.bridge.Drop(t.Context(), operator(), m.ID, "a test"))
		if after := a.b.count(store.AMQPFailed); after != before-1 {
			t.Errorf("%d wait after one of %d was discarded", after, before)
		}
		delete(sent, m.MsgID)
	}
	a.all(t, amqp.OperationResend, store.AMQPFilter{Statuses: []string{store.AMQPFailed}}, many, store.AMQPFailed)
	take(t, a.wire, a.peer.Async, many)
	for msgID := range sent {
		a.b.message(store.AMQPOut, store.AMQPBusiness, msgID, store.AMQPOpenMessage)
	}
	_, held, err := a.b.db.Deliveries(t.Context(), store.DeliveryFilter{Statuses: []string{store.DeliveryHeld}})
	_, discarded, err2 := a.b.db.Deliveries(t.Context(), store.DeliveryFilter{Statuses: []string{store.DeliveryDiscarded}})
	if err != nil || err2 != nil || held != 0 || discarded != many {
		t.Errorf("%d deliveries are held, %d discarded, %v %v", held, discarded, err, err2)
	}
	a.broker.AwaitDepth(t, a.peer.Async, 0)
}

// all asks for something to be done with all messages of a filter, and waits until none is in that state.
func (a *alone) all(t *testing.T, do string, f store.AMQPFilter, want int, status string) {
	t.Helper()
	n, err := a.b.bridge.AskAll(t.Context(), operator(), f, do, "a test")
	if err != nil || n != want {
		t.Fatalf("%s was asked for %d, want %d: %v", do, n, want, err)
	}
	a.b.eventually("none waits after "+do, func() (bool, string) { return a.b.count(status) == 0, a.b.all() })
}

// TestBulkDiscard discards all dead letters at once: the counter is nothing, and nothing is handled.
//
// Rules: AMQP-13, AMQP-52
func TestBulkDiscard(t *testing.T) {
	t.Parallel()
	const many = 4
	a := onBus(t, storetest.SQLite(t), nil, func(*alone) {})
	engine := &sick{Engine: a.b.engine, seen: map[string]int{}}
	a.b.bridge.Join(engine)
	for range many {
		messageID, _ := a.from(t, a.peer)
		a.b.message(store.AMQPIn, store.AMQPBusiness, messageID, store.AMQPDead)
	}
	engine.well.Store(true)
	a.all(t, amqp.OperationDrop, store.AMQPFilter{Statuses: []string{store.AMQPDead}}, many, store.AMQPDead)
	if n := a.b.count(store.AMQPDropped); n != many {
		t.Errorf("%d are discarded", n)
	}
	if n := len(a.b.inbox.events(typeIn)); n != 0 {
		t.Errorf("%d events came of discarded messages", n)
	}
}
