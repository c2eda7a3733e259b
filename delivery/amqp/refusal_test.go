package amqp_test

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"schakel/delivery/amqp"
	"schakel/delivery/amqp/apprec"
	"schakel/delivery/amqp/cms"
	"schakel/delivery/amqp/message"
	"schakel/delivery/amqp/pkitest"
	"schakel/delivery/outbox"
	"schakel/store"
)

// TestRefusalSaysWhy: the log and the entry of a message that is refused name the cause, which its sender does not learn. Its
// body is stored, encrypted as it came, when that is so set, and is for the own organisation alone.
//
// Rules: AMQP-12, AMQP-15
func TestRefusalSaysWhy(t *testing.T) {
	t.Parallel()
	log := &journal{}
	a := simple(t, keepLog(log), func(c *amqp.Config) { c.KeepRefused = true })
	stranger := newIdentity(t, a.broker, a.pki)
	forged := a.peer
	forged.sign = a.pki.Signer()
	expired, _ := a.meet(t, a.pki.Signer(func(c *x509.Certificate) {
		c.NotBefore, c.NotAfter = time.Now().AddDate(-2, 0, 0), time.Now().AddDate(-1, 0, 0)
	}))
	a.again(t)
	for name, c := range map[string]struct {
		from, to identity
		why      []string
	}{
		"other key":    {a.peer, stranger, []string{"serial number", "not encrypted for a certificate of ours"}},
		"other signer": {forged, a.b.me, []string{"not registered for the sender"}},
		"expired":      {expired, a.b.me, []string{"valid until"}},
	} {
		t.Run(name, func(t *testing.T) {
			id := uuid.NewString()
			m := letter(t, c.from, a.b.me, dialogue(t, c.from, a.b.me, uuid.NewString()), id)
			m.Data[0] = seal(t, dialogue(t, c.from, a.b.me, uuid.NewString()), c.from, c.to)
			sent := bytes.Clone(m.Data[0])
			send(t, a.wire, a.b.me.Async, m)
			row := a.b.message(store.AMQPIn, store.AMQPBusiness, id, store.AMQPRefused)
			for _, why := range c.why {
				if !strings.Contains(row.Detail, why) || !strings.Contains(log.String(), why) {
					t.Errorf("nothing says %q: %s", why, row.Detail)
				}
			}
			if told := take(t, a.wire, c.from.Error, 1)[0]; strings.Contains(fmt.Sprint(told.ApplicationProperties), "Cause") {
				t.Errorf("the sender is told %v", told.ApplicationProperties)
			}
			body, err := a.b.bridge.Body(t.Context(), operator(), row.ID)
			if err != nil || !bytes.Equal(body, sent) {
				t.Errorf("%d bytes are kept, %v", len(body), err)
			}
			if _, err := a.b.bridge.Body(t.Context(), outbox.Actor{PartnerID: row.PartnerID}, row.ID); err == nil {
				t.Error("a partner gets it")
			}
		})
	}
	negative := uuid.NewString()
	document := replace(dialogue(t, a.peer, a.b.me, negative), "<GenDate>", "<GenDate>ca. ")
	send(t, a.wire, a.b.me.Async, letter(t, a.peer, a.b.me, document, uuid.NewString()))
	row := a.b.message(store.AMQPIn, store.AMQPBusiness, negative, store.AMQPRejected)
	if !strings.Contains(log.String(), "GenDate") || !strings.Contains(row.Detail, "GenDate") || len(row.Encoded) == 0 {
		t.Errorf("%+v", row)
	}
}

// TestDuplicatesPerSender: two senders may use the same messageId; each gets its own AppRec, and the document of it has an id
// of its own.
//
// Rules: AMQP-18, AMQP-105, AMQP-139
func TestDuplicatesPerSender(t *testing.T) {
	t.Parallel()
	a := simple(t)
	other, _ := a.meet(t)
	a.again(t)
	id := uuid.NewString()
	seen := map[any]bool{}
	for _, from := range []identity{a.peer, other} {
		msgID := uuid.NewString()
		send(t, a.wire, a.b.me.Async, letter(t, from, a.b.me, dialogue(t, from, a.b.me, msgID), id))
		a.b.message(store.AMQPIn, store.AMQPBusiness, msgID, store.AMQPProcessed)
		got := take(t, a.wire, from.Async, 1)[0]
		opened, err := cms.Open(got.Data[0], []cms.Identity{cms.Identity(from.encrypt)})
		must(t, err)
		signed, err := cms.Verify(opened.Content, []*x509.Certificate{a.b.me.sign.Certificate})
		must(t, err)
		parsed, err := apprec.Parse(signed.Content)
		if err != nil || parsed.Original.ID != msgID || parsed.ID == got.Properties.MessageID {
			t.Errorf("%+v, %v", parsed, err)
		}
		text, _ := got.Properties.MessageID.(string)
		if seen[text] || !message.IsUUID(text) {
			t.Errorf("messageId %v", text)
		}
		seen[text] = true
	}
}

// TestOtherContent: other content under a MsgId that was handled is not handled, people are notified of it, and they can take the
// entry off their list. The same content is a plain duplicate.
//
// Rules: AMQP-116
func TestOtherContent(t *testing.T) {
	t.Parallel()
	a := simple(t)
	msgID := uuid.NewString()
	document := dialogue(t, a.peer, a.b.me, msgID)
	put := func(document []byte) string {
		id := uuid.NewString()
		send(t, a.wire, a.b.me.Async, letter(t, a.peer, a.b.me, document, id))
		return id
	}
	put(document)
	a.b.message(store.AMQPIn, store.AMQPBusiness, msgID, store.AMQPProcessed)
	same := a.b.message(store.AMQPIn, store.AMQPBusiness, put(document), store.AMQPDuplicate)
	if same.Reason != "" || len(a.b.notices) != 0 {
		t.Errorf("%+v", same)
	}
	other := a.b.message(store.AMQPIn, store.AMQPBusiness, put(replace(document, "Kan du", "Kan dere")), store.AMQPDuplicate)
	if other.Reason != "amqp-other-content" || other.ReferenceID != same.ReferenceID {
		t.Errorf("%+v", other)
	}
	if notice := <-a.b.notices; notice.Kind != "amqp-content" || notice.Groups[0].MessageID != other.ID {
		t.Errorf("%+v", notice)
	}
	attention := func(want int) {
		t.Helper()
		if n, err := a.b.db.CountAMQPMessages(t.Context(), store.AMQPFilter{Attention: true}); n != want || err != nil {
			t.Errorf("%d need attention, %v", n, err)
		}
	}
	attention(1)
	if err := a.b.bridge.Drop(t.Context(), operator(), same.ID, "no"); err == nil {
		t.Error("a plain duplicate is dropped")
	}
	if err := a.b.bridge.Drop(t.Context(), operator(), other.ID, "agreed"); err != nil {
		t.Error(err)
	}
	attention(0)
	if n := len(take(t, a.wire, a.peer.Async, 1)); n != 1 || a.b.outgoing(store.AMQPAppRec) != 1 {
		t.Errorf("%d AppRecs", a.b.outgoing(store.AMQPAppRec))
	}
}

// TestCPAID: what we write names the CPA of the process, or that of the message it answers, and has no such field without one.
//
// Rules: AMQP-27
func TestCPAID(t *testing.T) {
	t.Parallel()
	a := simple(t)
	is := func(what string, queue string, want any) {
		t.Helper()
		if got := take(t, a.wire, queue, 1)[0].ApplicationProperties["cpaId"]; got != want {
			t.Errorf("%s: cpaId %v, want %v", what, got, want)
		}
	}
	a.b.publish(typeOut, dialogue(t, a.b.me, a.peer, uuid.NewString()))
	is("message", a.peer.Async, "93252")
	a.from(t, a.peer)
	is("AppRec", a.peer.Async, "93252")
	named := letter(t, a.peer, a.b.me, dialogue(t, a.peer, a.b.me, uuid.NewString()), uuid.NewString())
	named.ApplicationProperties["cpaId"] = "5"
	send(t, a.wire, a.b.me.Async, named)
	is("AppRec to a message with another", a.peer.Async, "5")
	send(t, a.wire, a.b.me.Async, letter(t, a.peer, a.b.me, []byte("<a/>"), uuid.NewString()))
	is("error", a.peer.Error, "93252")
	other, _ := a.meet(t)
	a.again(t)
	a.from(t, other)
	is("AppRec without a CPA", other.Async, nil)
}

// TestMessageIDs looks at everything that we write: each messageId is a UUID that nothing else has, and none is that of the business
// message in it.
//
// Rules: AMQP-18, AMQP-126
func TestMessageIDs(t *testing.T) {
	t.Parallel()
	const many = 10
	a := simple(t)
	business := map[string]bool{}
	for range many {
		msgID := uuid.NewString()
		business[msgID] = true
		a.b.publish(typeOut, dialogue(t, a.b.me, a.peer, msgID))
		_, came := a.from(t, a.peer) // gets an AppRec
		business[came] = true
		send(t, a.wire, a.b.me.Async, letter(t, a.peer, a.b.me, []byte("<a/>"), uuid.NewString())) // gets an error
	}
	seen := map[string]bool{}
	for _, m := range append(take(t, a.wire, a.peer.Async, 2*many), take(t, a.wire, a.peer.Error, many)...) {
		id, ok := m.Properties.MessageID.(string)
		if _, err := uuid.Parse(id); !ok || err != nil || !message.IsUUID(id) || seen[id] || business[id] {
			t.Errorf("messageId %T %v", m.Properties.MessageID, m.Properties.MessageID)
		}
		seen[id] = true
	}
}

// TestSendingWaitsForRevocation has the sources of revocation away while a message is to be sent: it is not written and not held, and
// is tried again until a source answers. It is written once then, under the messageId that it had.
//
// Rules: AMQP-60, AMQP-61, AMQP-115
func TestSendingWaitsForRevocation(t *testing.T) {
	t.Parallel()
	a := simple(t, impatient)
	a.pki.SetOCSP(pkitest.Down)
	a.pki.SetCRL(pkitest.Down)
	msgID := uuid.NewString()
	a.b.publish(typeOut, dialogue(t, a.b.me, a.peer, msgID))
	waits := a.b.message(store.AMQPOut, store.AMQPBusiness, msgID, store.AMQPUnsent)
	a.b.eventually("it was tried again", func() (bool, string) {
		m, err := a.b.db.AMQPMessage(t.Context(), waits.ID)
		return err == nil && m.Attempts >= 3 && m.Status == store.AMQPUnsent, a.b.all()
	})
	list, _, err := a.b.db.Deliveries(t.Context(), store.DeliveryFilter{})
	if err != nil || len(list) != 1 || list[0].Status == store.DeliveryHeld || list[0].Status == store.DeliveryDead {
		t.Errorf("deliveries %+v, %v", list, err)
	}
	if n := a.broker.Depth(t, a.peer.Async); n != 0 {
		t.Errorf("%d messages were written", n)
	}
	a.pki.SetOCSP(pkitest.Good)
	a.b.message(store.AMQPOut, store.AMQPBusiness, msgID, store.AMQPOpenMessage)
	if got := take(t, a.wire, a.peer.Async, 1)[0]; got.Properties.MessageID != waits.MessageID {
		t.Errorf("messageId %v, want %s", got.Properties.MessageID, waits.MessageID)
	}
}
