package amqp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	goamqp "github.com/Azure/go-amqp"
	"github.com/google/uuid"

	"schakel/delivery/amqp"
	"schakel/delivery/amqp/brokertest"
	"schakel/delivery/amqp/message"
	"schakel/store"
	"schakel/store/storetest"
)

// unsealed reads a stored message.
func unsealed(t *testing.T, stored []byte) *goamqp.Message {
	t.Helper()
	plain, err := openVault{}.OpenBytes("amqp-message", stored)
	if err != nil {
		t.Fatalf("%v: %q", err, stored)
	}
	m := &goamqp.Message{}
	if err := m.UnmarshalBinary(plain); err != nil {
		t.Fatal(err)
	}
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
		if err := bridge.Reprocess(ctx, operator(), rows[0].ID); err != nil {
			t.Fatal(err)
		}
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
			if err != nil {
				t.Fatal(err)
			}
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
	if err := a.b.bridge.Drop(t.Context(), operator(), left[0].ID, "ours"); err != nil {
		t.Fatal(err)
	}
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
