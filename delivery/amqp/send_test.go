package amqp_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	goamqp "github.com/Azure/go-amqp"
	"github.com/google/uuid"
	"schakel/delivery/amqp"
	"schakel/delivery/amqp/brokertest"
	"schakel/delivery/amqp/link"
	"schakel/delivery/amqp/message"
	"schakel/delivery/outbox"
	"schakel/store"
	"schakel/store/storetest"
)

// operator resends in the tests.
func operator() outbox.Actor { return outbox.Actor{Kind: "user", ID: "u", Name: "Operator"} }

// TestOurOwnValidator has our checks refuse what the receiver would refuse: it is held with its reason and is never sent.
//
// Rules: AMQP-09, AMQP-98
func TestOurOwnValidator(t *testing.T) {
	t.Parallel()
	set := loadSchemas(t, ownSchemas)
	a := simple(t, func(c *amqp.Config) { c.Schemas = set })
	good := func(to identity) []byte { return dialogue(t, a.b.me, to, uuid.NewString()) }
	stranger := newIdentity(t, a.broker, a.pki)
	for name, c := range map[string]struct {
		document []byte
		reason   string
	}{
		"no XML":         {[]byte("hello"), amqp.ReasonDocument},
		"header":         {replace(good(a.peer), "</MsgId>", ""), amqp.ReasonDocument},
		"latin-1":        {replace(good(a.peer), "Kan", "\xE5"), amqp.ReasonDocument},
		"body":           {replace(good(a.peer), "</MsgHead>", ""), amqp.ReasonDocument},
		"schema":         {replace(good(a.peer), "<Sporsmal>", "<Annet/><Sporsmal>"), amqp.ReasonDocument},
		"values":         {replace(good(a.peer), "<GenDate>", "<GenDate>ca. "), amqp.ReasonDocument},
		"other receiver": {good(stranger), amqp.ReasonParty},
		"other sender":   {dialogue(t, stranger, a.peer, uuid.NewString()), amqp.ReasonParty},
	} {
		t.Run(name, func(t *testing.T) {
			before := a.deliveries(t)
			a.b.publish(typeOut, c.document)
			a.b.eventually("the delivery is held", func() (bool, string) {
				list, _, err := a.b.db.Deliveries(t.Context(), store.DeliveryFilter{})
				return err == nil && len(list) == before+1 && list[0].Status == store.DeliveryHeld && list[0].Reason == c.reason && list[0].Detail != "", a.b.all()
			})
		})
	}
	a.b.write(func(tx *store.Tx) error {
		list, err := tx.AMQPProcesses(t.Context(), a.b.counter.ID)
		for _, p := range list {
			err = errors.Join(err, tx.DeleteAMQPProcess(t.Context(), p.PartyID, p.ID))
		}
		return err
	})
	a.again(t)
	a.b.publish(typeOut, good(a.peer))
	a.b.held(t, amqp.ReasonNoProcess)
	if n := a.b.outgoing(); n != 0 {
		t.Errorf("%d messages are known as sent", n)
	}
}

func (a *alone) deliveries(t *testing.T) int {
	t.Helper()
	_, n, err := a.b.db.Deliveries(t.Context(), store.DeliveryFilter{})
	must(t, err)
	return n
}

// wired is a connection whose answers to a send are set by the test.
type wired struct {
	amqp.Conn

	before func(queue string, m *goamqp.Message) error // in place of sending when it gives an error
	after  func(queue string, m *goamqp.Message) error // in place of the outcome
}

func (w *wired) Send(ctx context.Context, queue string, m *goamqp.Message) error {
	if w.before != nil {
		if err := w.before(queue, m); err != nil {
			return err
		}
	}
	if err := w.Conn.Send(ctx, queue, m); err != nil || w.after == nil {
		return err
	}
	return w.after(queue, m)
}

// behind puts a test behind the connections of a Schakel.
func behind(before, after func(queue string, m *goamqp.Message) error) func(*amqp.Config) {
	return func(c *amqp.Config) {
		dial := c.Connect
		c.Connect = func(ctx context.Context, b store.AMQPBroker, changed func(link.State)) (amqp.Conn, error) {
			conn, err := dial(ctx, b, changed)
			return &wired{conn, before, after}, err
		}
	}
}

// TestOutcomes: only accepted counts as sent. After any other outcome the message is written again, under both its ids; the
// broker's refusal is for a person.
//
// Rules: AMQP-07, AMQP-08, AMQP-121
func TestOutcomes(t *testing.T) {
	t.Parallel()
	for _, kind := range []link.Kind{link.Released, link.Modified, link.Lost, link.NotFound, link.Unavailable, link.Blocked, link.Denied} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			fails := make(chan struct{}, 1)
			fails <- struct{}{}
			outcome := func(queue string, _ *goamqp.Message) error {
				select {
				case <-fails:
					return &link.Error{Kind: kind, Queue: queue}
				default:
					return nil
				}
			}
			before, after := outcome, outcome
			if kind == link.Lost {
				before = nil // it is on the queue all the same
			} else {
				after = nil
			}
			a := simple(t, behind(before, after))
			msgID := uuid.NewString()
			a.b.publish(typeOut, dialogue(t, a.b.me, a.peer, msgID))
			sent := a.b.message(store.AMQPOut, store.AMQPBusiness, msgID, store.AMQPOpenMessage)
			if sent.Attempts != 1 {
				t.Errorf("%+v", sent)
			}
			want := 1
			if kind == link.Lost {
				want = 2
			}
			for _, m := range take(t, a.wire, a.peer.Async, want) {
				if m.Properties.MessageID != sent.MessageID {
					t.Errorf("messageId %v, want %s", m.Properties.MessageID, sent.MessageID)
				}
			}
			if n := a.b.outgoing(store.AMQPBusiness); n != 1 {
				t.Errorf("%d messages", n)
			}
		})
	}
	for _, kind := range []link.Kind{link.Rejected, link.TooLarge} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			a := simple(t, behind(func(queue string, _ *goamqp.Message) error { return &link.Error{Kind: kind, Queue: queue} }, nil))
			msgID := uuid.NewString()
			a.b.publish(typeOut, dialogue(t, a.b.me, a.peer, msgID))
			a.b.held(t, amqp.ReasonRefused)
			a.b.message(store.AMQPOut, store.AMQPBusiness, msgID, store.AMQPUnsent)
		})
	}
}

// TestResendAfterError: after an AMQP error a resend has a new messageId and the MsgId it had; each error is followed by at most
// one message.
//
// Rules: AMQP-13, AMQP-87, AMQP-119
func TestResendAfterError(t *testing.T) {
	t.Parallel()
	a := simple(t)
	msgID := uuid.NewString()
	a.b.publish(typeOut, dialogue(t, a.b.me, a.peer, msgID))
	first := take(t, a.wire, a.peer.Async, 1)[0]
	open := a.b.message(store.AMQPOut, store.AMQPBusiness, msgID, store.AMQPOpenMessage)
	if err := a.b.bridge.Resend(t.Context(), operator(), open.ID); err == nil {
		t.Error("a message whose AppRec is not overdue is sent again")
	}
	a.tellError(t, first, message.InvalidSignature)
	failed := a.b.message(store.AMQPOut, store.AMQPBusiness, msgID, store.AMQPFailed)
	a.b.held(t, string(message.InvalidSignature))
	must(t, a.b.bridge.Resend(t.Context(), operator(), failed.ID))
	second := take(t, a.wire, a.peer.Async, 1)[0]
	again := a.b.message(store.AMQPOut, store.AMQPBusiness, msgID, store.AMQPOpenMessage)
	if second.Properties.MessageID == first.Properties.MessageID || second.Properties.MessageID != again.MessageID || again.MsgID != failed.MsgID || again.Resends != 0 {
		t.Errorf("%+v after %+v", again, failed)
	}
	a.b.message(store.AMQPOut, store.AMQPBusiness, msgID, store.AMQPReplaced)
	if why := amqp.MayResend(again, time.Now()); why == "" {
		t.Error("it may be sent again at once")
	}
	if err := a.b.bridge.Resend(t.Context(), outbox.Actor{PartnerID: "another"}, again.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("another partner: %v", err)
	}
}

// tellError writes an error message about a message to b's error queue, as another program would.
func (a *alone) tellError(t *testing.T, about *goamqp.Message, c message.Condition) {
	t.Helper()
	original, _ := message.Decode(about)
	m, err := message.Encode(message.Report(original, message.Refuse(c), a.b.me.Error, a.peer.Error, time.Now()))
	must(t, err)
	send(t, a.wire, a.b.me.Error, m)
}

// TestNoResendAfterRejection: after a negative AppRec the same message is not sent again, by whatever button: a corrected one has
// a MsgId of its own.
//
// Rules: AMQP-88, AMQP-113, AMQP-120
func TestNoResendAfterRejection(t *testing.T) {
	t.Parallel()
	a := simple(t)
	msgID := uuid.NewString()
	document := dialogue(t, a.b.me, a.peer, msgID)
	a.b.publish(typeOut, document)
	first := take(t, a.wire, a.peer.Async, 1)[0]
	a.acknowledge(t, document, uuid.NewString(), "2")
	rejected := a.b.message(store.AMQPOut, store.AMQPBusiness, msgID, store.AMQPRejected)
	d := a.b.held(t, "T02")
	var refused amqp.Refused
	if err := a.b.bridge.Resend(t.Context(), operator(), rejected.ID); !errors.As(err, &refused) {
		t.Errorf("resend: %v", err)
	}
	if err := a.b.engine.Resend(t.Context(), operator(), d.ID); !errors.Is(err, outbox.ErrNotResendable) { // the button of all deliveries
		t.Errorf("resend of the delivery: %v", err)
	}
	a.b.publish(typeOut, document) // the same as another event
	again := a.b.held(t, amqp.ReasonSentBefore)
	if err := a.b.engine.Resend(t.Context(), operator(), again.ID); !errors.Is(err, outbox.ErrNotResendable) {
		t.Errorf("resend of the same message: %v", err)
	}
	preview, err := a.b.engine.PreviewJob(t.Context(), operator(), store.DeliveryFilter{})
	if err != nil || preview.Total != 2 || preview.SentForGood != 2 {
		t.Errorf("a job would handle %d and leave out %d of two: %v", preview.Total, preview.SentForGood, err)
	}
	corrected := uuid.NewString()
	a.b.publish(typeOut, dialogue(t, a.b.me, a.peer, corrected))
	second := take(t, a.wire, a.peer.Async, 1)[0]
	if second.Properties.MessageID == first.Properties.MessageID {
		t.Error("a corrected message has the messageId of the first")
	}
	if n := a.b.outgoing(store.AMQPBusiness); n != 2 {
		t.Errorf("%d messages, want the first and the corrected one", n)
	}
}

// acknowledge sends b an AppRec with a status to a document of b's, as the peer would.
func (a *alone) acknowledge(t *testing.T, document []byte, messageID, status string) {
	t.Helper()
	send(t, a.wire, a.b.me.Async, a.receipt(t, document, messageID, status))
}

// TestReceipts has AppRecs of every status come, in the first and in a second place: the first that says something counts.
//
// Rules: AMQP-14, AMQP-16, AMQP-88
func TestReceipts(t *testing.T) {
	t.Parallel()
	a := simple(t)
	for name, c := range map[string]struct {
		statuses []string
		want     string
	}{
		"taken":               {[]string{"1"}, store.AMQPAcknowledged},
		"partly":              {[]string{"3"}, store.AMQPPartly},
		"refused":             {[]string{"2"}, store.AMQPRejected},
		"of no list":          {[]string{"7"}, store.AMQPOpenMessage},
		"of no list, taken":   {[]string{"7", "1"}, store.AMQPAcknowledged},
		"taken, then refused": {[]string{"1", "2"}, store.AMQPAcknowledged},
		"refused, then taken": {[]string{"2", "1"}, store.AMQPRejected},
	} {
		t.Run(name, func(t *testing.T) {
			msgID := uuid.NewString()
			document := dialogue(t, a.b.me, a.peer, msgID)
			a.b.publish(typeOut, document)
			a.b.message(store.AMQPOut, store.AMQPBusiness, msgID, store.AMQPOpenMessage)
			for _, status := range c.statuses {
				id := uuid.NewString()
				a.acknowledge(t, document, id, status)
				a.b.message(store.AMQPIn, store.AMQPAppRec, id, store.AMQPMatched)
			}
			a.b.message(store.AMQPOut, store.AMQPBusiness, msgID, c.want)
		})
	}
	stray := uuid.NewString()
	a.acknowledge(t, dialogue(t, a.b.me, a.peer, uuid.NewString()), stray, "1")
	a.b.message(store.AMQPIn, store.AMQPAppRec, stray, store.AMQPUnmatched)
	if n := a.b.outgoing(store.AMQPAppRec, store.AMQPError); n != 0 {
		t.Errorf("%d answers to AppRecs", n)
	}
}

// TestOverdue moves the clock on: the AppRec is overdue after the party's time, people are notified once, a person may send
// the same message again once, and nothing is ever sent again by itself.
//
// Rules: AMQP-16, AMQP-76, AMQP-89, AMQP-117, AMQP-118, AMQP-122, INC-08
func TestOverdue(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClockAt(time.Now())
	a := newAlone(t, storetest.SQLite(t, storetest.WithClock(clock)), brokertest.Start(t, brokertest.RabbitMQ4), func(c *amqp.Config) { c.Now = clock.Now })
	msgID := uuid.NewString()
	a.b.publish(typeOut, dialogue(t, a.b.me, a.peer, msgID))
	first := a.b.message(store.AMQPOut, store.AMQPBusiness, msgID, store.AMQPOpenMessage)
	clock.Advance(5 * time.Hour)
	notice := <-a.b.notices
	if notice.Kind != amqp.NoticeOverdue || len(notice.Groups) != 1 || notice.Groups[0].Count != 1 || notice.Groups[0].MessageID != first.ID {
		t.Errorf("notice %+v", notice)
	}
	clock.Advance(96 * time.Hour) // AMQP-122
	a.sweeps(t)
	if n := a.b.outgoing(store.AMQPBusiness); n != 1 {
		t.Errorf("%d messages", n)
	}
	first, err := a.b.db.AMQPMessage(t.Context(), first.ID)
	if err != nil || first.OverdueAt.IsZero() || amqp.MayResend(first, clock.Now()) != "" {
		t.Fatalf("%+v, %v", first, err)
	}
	must(t, a.b.bridge.Resend(t.Context(), operator(), first.ID))
	a.b.message(store.AMQPOut, store.AMQPBusiness, msgID, store.AMQPReplaced)
	second := a.b.message(store.AMQPOut, store.AMQPBusiness, msgID, store.AMQPOpenMessage)
	if second.Resends != 1 || second.MessageID == first.MessageID || second.MsgID != first.MsgID {
		t.Errorf("%+v", second)
	}
	clock.Advance(5 * time.Hour)
	if notice = <-a.b.notices; notice.Groups[0].MessageID != second.ID {
		t.Errorf("notice %+v", notice)
	}
	var refused amqp.Refused
	if err := a.b.bridge.Resend(t.Context(), operator(), second.ID); !errors.As(err, &refused) {
		t.Errorf("a second identical resend: %v", err)
	}
	if n := len(take(t, a.wire, a.peer.Async, 2)); n != 2 || len(a.b.notices) != 0 {
		t.Errorf("%d messages, %d notices left", n, len(a.b.notices))
	}
}

// sweeps waits until the loops of b went round: another message went out and came back.
func (a *alone) sweeps(t *testing.T) {
	t.Helper()
	for range 2 {
		messageID, _ := a.from(t, a.peer)
		a.b.message(store.AMQPIn, store.AMQPBusiness, messageID, store.AMQPProcessed)
		a.b.eventually("its AppRec", func() (bool, string) {
			m, err := a.b.db.AMQPWritten(t.Context(), message.AnswerID(message.Seed(int64(a.peer.HerID), messageID), "apprec"))
			return err == nil && m.Status == store.AMQPSent, fmt.Sprint(err)
		})
		take(t, a.wire, a.peer.Async, 1)
	}
}

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
	must(t, a.b.bridge.Resend(t.Context(), operator(), unsent.ID))
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
