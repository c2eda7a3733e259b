package amqp_test

import (
	"context"
	"crypto/x509"
	"sync/atomic"
	"testing"

	"schakel/delivery/amqp"
	"schakel/delivery/amqp/apprec"
	"schakel/delivery/amqp/brokertest"
	"schakel/delivery/amqp/cms"
	"schakel/store"
	"schakel/store/storetest"
)

// subscribe changes the state of the subscription to what comes in.
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

// opened reads an AppRec of b to the peer.
func (a *alone) opened(t *testing.T, body []byte) (apprec.AppRec, []byte) {
	t.Helper()
	opened, err := cms.Unseal(body, []cms.Identity{cms.Identity(a.peer.encrypt)}, []*x509.Certificate{a.b.me.sign.Certificate})
	if err != nil {
		t.Fatal(err)
	}
	got, err := apprec.Parse(opened.Content)
	if err != nil {
		t.Fatal(err)
	}
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
	if err := a.b.bridge.Reprocess(t.Context(), operator(), row.ID); err != nil {
		t.Fatal(err)
	}
	a.b.message(store.AMQPIn, store.AMQPBusiness, held, store.AMQPRejected)
	for _, m := range take(t, a.wire, a.peer.Async, 2) {
		got, document := a.opened(t, m.GetData())
		if got.Status != apprec.Rejected || got.Errors[0].Code != "E21" {
			t.Errorf("AppRec %+v", got)
		}
		lint(t, "apprec-v1.1.xsd", document)
	}
}
