package amqp_test

import (
	"context"
	"crypto/x509"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"schakel/delivery/amqp"
	"schakel/delivery/amqp/brokertest"
	"schakel/delivery/amqp/cms"
	"schakel/delivery/amqp/link"
	"schakel/delivery/amqp/pkitest"
	"schakel/store"
	"schakel/store/storetest"
)

// impatient has messages that wait be checked soon, and the link give back soon what failed.
func impatient(c *amqp.Config) {
	c.CheckWait = time.Millisecond
	c.Connect = func(ctx context.Context, b store.AMQPBroker, changed func(link.State)) (amqp.Conn, error) {
		dialect, err := link.ParseDialect(b.Dialect)
		if err != nil {
			return nil, err
		}
		conn, err := link.New(link.Config{
			URL: b.URL, Dialect: dialect, SASL: link.Plain, Username: b.Username, Password: b.Secret, OnChange: changed,
			Retry: link.Retry{First: time.Millisecond, Max: 5 * time.Millisecond},
		})
		if err != nil {
			return nil, err
		}
		return conn, conn.Start(ctx)
	}
}

// TestOutageOfRevocation has the sources of revocation away for more tries than a broker allows: no message becomes a dead
// letter, no error goes out, people see why they wait, also after a restart; each is handled once when a source is back.
//
// Rules: AMQP-48, AMQP-51, AMQP-61, AMQP-63
func TestOutageOfRevocation(t *testing.T) {
	t.Parallel()
	for _, version := range brokertest.Versions() {
		t.Run(string(version), func(t *testing.T) {
			t.Parallel()
			a := newAlone(t, storetest.SQLite(t), brokertest.Start(t, version), impatient)
			a.pki.SetOCSP(pkitest.Down)
			a.pki.SetCRL(pkitest.Down)
			var msgIDs []string
			for range 3 {
				_, msgID := a.from(t, a.peer)
				msgIDs = append(msgIDs, msgID)
			}
			a.b.eventually("each was tried more often than a broker allows", func() (bool, string) { return a.pki.Asked("/ocsp") >= 3*12, a.b.all() })
			a.again(t)
			a.b.eventually("all wait, and the reason can be read", func() (bool, string) {
				rows, n, err := a.b.db.AMQPMessages(t.Context(), store.AMQPFilter{Direction: store.AMQPIn})
				ok := err == nil && n == len(msgIDs)
				for _, m := range rows {
					ok = ok && m.Status == "unchecked" && m.Detail != "" && len(m.Encoded) > 0
				}
				return ok, a.b.all()
			})
			notice := <-a.b.notices
			if notice.Kind != "amqp-unchecked" || notice.Groups[0].Detail == "" {
				t.Errorf("notice %+v", notice)
			}
			if n := a.broker.Depth(t, a.b.me.DeadLetter); n != 0 || a.b.outgoing(store.AMQPError, store.AMQPAppRec) != 0 {
				t.Errorf("%d dead letters, %d answers", n, a.b.outgoing())
			}
			a.pki.SetOCSP(pkitest.Good)
			for _, msgID := range msgIDs {
				a.b.message(store.AMQPIn, store.AMQPBusiness, msgID, store.AMQPProcessed)
				a.b.message(store.AMQPOut, store.AMQPAppRec, msgID, store.AMQPSent)
			}
			take(t, a.wire, a.peer.Async, len(msgIDs))
			a.b.eventually("the events are delivered", func() (bool, string) {
				return len(a.b.inbox.events(typeIn)) == len(msgIDs), a.b.all()
			})
		})
	}
}

// unreachable is a change for a leaf: its sources of revocation do not exist.
func unreachable(c *x509.Certificate) {
	c.OCSPServer, c.CRLDistributionPoints = []string{"http://127.0.0.1:1/ocsp"}, []string{"http://127.0.0.1:1/crl"}
}

// newer is a change for a leaf: it is newer than others.
func newer(c *x509.Certificate) { c.NotBefore = time.Now().Add(-time.Hour) }

// TestEachCertificateByItself has the newest certificate of a party name sources that cannot be reached: what the other one
// signs is handled all the same, and what goes out is encrypted for the other one. A message signed with the newest waits.
//
// Rules: AMQP-60, AMQP-61, AMQP-64
func TestEachCertificateByItself(t *testing.T) {
	t.Parallel()
	a := simple(t, impatient)
	newest := a.pki.Signer(unreachable, newer)
	a.certify(t, a.b.counter.ID, store.AMQPSign, newest)
	a.certify(t, a.b.counter.ID, store.AMQPEncrypt, a.pki.Recipient(unreachable, newer))
	a.again(t)
	_, msgID := a.from(t, a.peer)
	a.b.message(store.AMQPIn, store.AMQPBusiness, msgID, store.AMQPProcessed)
	out := uuid.NewString()
	a.b.publish(typeOut, dialogue(t, a.b.me, a.peer, out))
	a.b.message(store.AMQPOut, store.AMQPBusiness, out, store.AMQPOpenMessage)
	for _, m := range take(t, a.wire, a.peer.Async, 2) {
		if _, err := cms.Open(m.Data[0], []cms.Identity{cms.Identity(a.peer.encrypt)}); err != nil {
			t.Error(err)
		}
	}
	other := a.peer
	other.sign = newest
	messageID, _ := a.from(t, other)
	waits := a.b.message(store.AMQPIn, store.AMQPBusiness, messageID, "unchecked")

	if err := a.b.bridge.Retry(t.Context(), operator(), waits.ID); err != nil {
		t.Error(err)
	}
	if err := a.b.bridge.Drop(t.Context(), operator(), waits.ID, "agreed with its sender"); err != nil {
		t.Error(err)
	}
	row := a.b.message(store.AMQPIn, store.AMQPBusiness, messageID, store.AMQPDropped)
	if len(row.Encoded) > 0 {
		t.Error("what was dropped is still there")
	}
}

// TestWaitingMessages: an AppRec that waits is matched in the end, a message that turns out to be revoked or a duplicate ends
// as it would have at once.
//
// Rules: AMQP-61, AMQP-63, AMQP-103, AMQP-116
func TestWaitingMessages(t *testing.T) {
	t.Parallel()
	a := simple(t, impatient)
	out := uuid.NewString()
	document := dialogue(t, a.b.me, a.peer, out)
	a.b.publish(typeOut, document)
	a.b.message(store.AMQPOut, store.AMQPBusiness, out, store.AMQPOpenMessage)
	take(t, a.wire, a.peer.Async, 1)
	revoked := a.pki.Signer()
	bad, _ := a.meet(t, revoked)
	a.again(t)
	a.pki.SetOCSP(pkitest.Down)
	a.pki.SetCRL(pkitest.Down)
	appRec := uuid.NewString()
	send(t, a.wire, a.b.me.Async, a.receipt(t, document, appRec, "1"))
	badID, _ := a.from(t, bad)
	msgID, first, second := uuid.NewString(), uuid.NewString(), uuid.NewString()
	for _, id := range []string{first, second} {
		send(t, a.wire, a.b.me.Async, letter(t, a.peer, a.b.me, dialogue(t, a.peer, a.b.me, msgID), id))
	}
	for _, id := range []string{appRec, badID, first, second} {
		a.b.message(store.AMQPIn, store.AMQPBusiness, id, "unchecked")
	}
	a.pki.Revoke(revoked.Certificate)
	a.pki.SetOCSP(pkitest.Good)
	a.b.message(store.AMQPOut, store.AMQPBusiness, out, store.AMQPAcknowledged)
	a.b.message(store.AMQPIn, store.AMQPAppRec, appRec, store.AMQPMatched)
	a.b.message(store.AMQPIn, store.AMQPBusiness, badID, store.AMQPRefused)
	a.b.message(store.AMQPIn, store.AMQPBusiness, msgID, store.AMQPProcessed)
	a.b.eventually("one of the two is a duplicate", func() (bool, string) {
		n, err := a.b.db.CountAMQPMessages(t.Context(), store.AMQPFilter{Statuses: []string{store.AMQPDuplicate}})
		return err == nil && n == 1, fmt.Sprint(err, a.b.all())
	})
	take(t, a.wire, bad.Error, 1)
	take(t, a.wire, a.peer.Async, 1)
}
