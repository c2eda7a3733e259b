package amqp_test

import (
	"errors"
	"sync/atomic"
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

// TestEachCounterpartHasItsOwnWait sends to three parties at one moment, of which two limit the time of their AppRec: each
// message is overdue after the time of its own receiver, and not before.
//
// Rules: AMQP-89, AMQP-117
func TestEachCounterpartHasItsOwnWait(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClockAt(time.Now())
	a := newAlone(t, storetest.SQLite(t, storetest.WithClock(clock)), brokertest.Start(t, brokertest.RabbitMQ4), func(c *amqp.Config) { c.Now = clock.Now })
	type receiver struct {
		identity
		party store.AMQPParty
		wait  time.Duration
		msgID string
	}
	receivers := []*receiver{{identity: a.peer, party: a.b.counter, wait: 90 * time.Minute}, {wait: 30 * time.Minute}, {wait: 4 * time.Hour}}
	for _, r := range receivers[1:] {
		r.identity, r.party = a.meet(t)
	}
	a.b.stop()
	a.b.write(func(tx *store.Tx) error {
		for _, r := range receivers {
			if r.wait != 4*time.Hour { // the default
				r.party.AnswerWaitMS = r.wait.Milliseconds()
			}
			if err := tx.UpdateAMQPParty(t.Context(), &r.party); err != nil {
				return err
			}
		}
		own := a.b.own
		own.AnswerWaitMS = time.Minute.Milliseconds() // of our own AppRecs, if of anything
		subscribe := func(r *receiver) error {
			return tx.InsertSubscription(t.Context(), &store.Subscription{PartnerID: r.party.PartnerID, EndpointID: r.party.EndpointID, Status: store.SubscriptionApproved, Types: store.Strings{typeOut}})
		}
		return errors.Join(tx.UpdateAMQPParty(t.Context(), &own), subscribe(receivers[1]), subscribe(receivers[2]))
	})
	a.b.start()
	sentAt := clock.Now()
	for _, r := range receivers {
		r.msgID = uuid.NewString()
		a.b.publish(typeOut, dialogue(t, a.b.me, r.identity, r.msgID))
		m := a.b.message(store.AMQPOut, store.AMQPBusiness, r.msgID, store.AMQPOpenMessage)
		if m.PartyID != r.party.ID || !m.DueAt.Equal(store.At(sentAt.Add(r.wait)).Time) {
			t.Fatalf("its AppRec is due %v after it was sent, want %v", m.DueAt.Sub(sentAt), r.wait)
		}
	}
	for passed, want := range map[time.Duration]string{31 * time.Minute: receivers[1].party.ID} {
		clock.Advance(passed)
		notice := <-a.b.notices
		if notice.Kind != amqp.NoticeOverdue || len(notice.Groups) != 1 || notice.Groups[0].PartyID != want {
			t.Errorf("overdue after %v: %+v, want that of %s alone", passed, notice, want)
		}
	}
	for i, overdue := range []bool{false, true, false} {
		m := a.b.message(store.AMQPOut, store.AMQPBusiness, receivers[i].msgID, store.AMQPOpenMessage)
		if m.OverdueAt.IsZero() == overdue {
			t.Errorf("message %d: overdue at %v", i, m.OverdueAt)
		}
	}
}

// TestResendOfWhatWasNeverWritten has the broker refuse a message for good, so that it waits for a person and never was on its queue.
// The resend of a person writes it, once, under the messageId and the MsgId that it had.
//
// Rules: AMQP-121
func TestResendOfWhatWasNeverWritten(t *testing.T) {
	t.Parallel()
	var well atomic.Bool
	a := simple(t, behind(func(queue string, _ *goamqp.Message) error {
		if well.Load() {
			return nil
		}
		return &link.Error{Kind: link.Rejected, Queue: queue, Condition: "amqp:not-allowed"}
	}, nil))
	msgID := uuid.NewString()
	a.b.publish(typeOut, dialogue(t, a.b.me, a.peer, msgID))
	a.b.held(t, amqp.ReasonRefused)
	unsent := a.b.message(store.AMQPOut, store.AMQPBusiness, msgID, store.AMQPUnsent)
	well.Store(true)
	if err := a.b.bridge.Resend(t.Context(), operator(), unsent.ID); err != nil {
		t.Fatal(err)
	}
	sent := a.b.message(store.AMQPOut, store.AMQPBusiness, msgID, store.AMQPOpenMessage)
	if sent.ID != unsent.ID || sent.MessageID != unsent.MessageID || sent.Resends != 0 || sent.DueAt.IsZero() {
		t.Errorf("%+v after %+v", sent, unsent)
	}
	on := take(t, a.wire, a.peer.Async, 1)[0]
	if on.Properties.MessageID != unsent.MessageID {
		t.Errorf("messageId %v, want the original %s", on.Properties.MessageID, unsent.MessageID)
	}
	if n := a.b.outgoing(store.AMQPBusiness); n != 1 {
		t.Errorf("%d messages are listed", n)
	}
	var refused amqp.Refused
	if err := a.b.bridge.Resend(t.Context(), operator(), sent.ID); !errors.As(err, &refused) {
		t.Errorf("a second resend: %v", err)
	}
	a.sweeps(t) // takes the AppRecs alone: nothing else came
	a.broker.AwaitDepth(t, a.peer.Async, 0)
}
