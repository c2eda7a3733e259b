package amqp_test

import (
	"crypto/x509"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"schakel/delivery/amqp"
	"schakel/delivery/amqp/certs"
	"schakel/delivery/amqp/cms"
	"schakel/delivery/amqp/message"
	"schakel/delivery/amqp/pkitest"
	"schakel/store"
)

// TestSignerCertificates tries messages signed with registered certificates that may not sign: each is refused with its own
// condition, after the registry was asked once. The parties are added while b runs.
//
// Rules: AMQP-46, AMQP-58, AMQP-59, AMQP-60, AMQP-62, AMQP-102, AMQP-103, AMQP-129, AMQP-130
func TestSignerCertificates(t *testing.T) {
	t.Parallel()
	a := simple(t)
	revoked := a.pki.Signer()
	a.pki.Revoke(revoked.Certificate)
	year := func(from, until int) func(*x509.Certificate) {
		return pkitest.Valid(time.Now().AddDate(from, 0, 0), time.Now().AddDate(until, 0, 0))
	}
	for name, c := range map[string]struct {
		sign pkitest.Leaf
		want message.Condition
	}{
		"expired":       {a.pki.Signer(year(-2, -1)), message.ExpiredCertificate},
		"not yet valid": {a.pki.Signer(year(1, 2)), message.ExpiredCertificate},
		"revoked":       {revoked, message.RevokedCertificate},
		"wrong usage":   {a.pki.Recipient(), message.InvalidCertificate},
		"other issuer":  {newPKI(t).Signer(), message.InvalidCertificate},
	} {
		t.Run(name, func(t *testing.T) {
			id, party := a.meet(t, c.sign)
			messageID, _ := a.from(t, id)
			row := a.b.message(store.AMQPIn, store.AMQPBusiness, messageID, store.AMQPRefused)
			if row.Reason != string(c.want) {
				t.Errorf("row %+v", row)
			}
			m := take(t, a.wire, id.Error, 1)[0]
			if m.ApplicationProperties["errorCondition"] != string(c.want) || m.ApplicationProperties["errorDescription"] != c.want.Description() {
				t.Errorf("%v", m.ApplicationProperties)
			}
			if want := fmt.Sprintf(`{"thumbprint":{"expected":"","actual":"%s"}}`, certs.Thumbprint(c.sign.Certificate)); m.ApplicationProperties["errorConditionData"] != want {
				t.Errorf("data %v, want %s", m.ApplicationProperties["errorConditionData"], want)
			}
			if n := a.refreshed(party.ID); n != 1 {
				t.Errorf("the registry was asked %d times", n)
			}
		})
	}
}

// TestFreshCertificate has the sender use a new certificate that the cache does not know: the registry is asked once, and the
// message that waited is processed; the next one asks nothing.
//
// Rules: AMQP-57, AMQP-62, AMQP-63, AMQP-65
func TestFreshCertificate(t *testing.T) {
	t.Parallel()
	a := simple(t)
	for name, old := range map[string]pkitest.Leaf{
		"old one still valid": a.pki.Signer(),
		"old one expired":     a.pki.Signer(pkitest.Valid(time.Now().AddDate(-2, 0, 0), time.Now().AddDate(0, 0, -1))),
	} {
		t.Run(name, func(t *testing.T) {
			id, party := a.meet(t, old)
			id.sign = a.pki.Signer()
			a.mu.Lock()
			a.registry = func(partyID string) {
				if partyID == party.ID {
					a.certify(t, party.ID, store.AMQPSign, id.sign)
				}
			}
			a.mu.Unlock()
			for range 2 {
				_, msgID := a.from(t, id)
				a.b.message(store.AMQPIn, store.AMQPBusiness, msgID, store.AMQPProcessed)
				take(t, a.wire, id.Async, 1)
			}
			if n := a.refreshed(party.ID); n != 1 {
				t.Errorf("the registry was asked %d times", n)
			}
		})
	}
	if n := a.b.outgoing(store.AMQPError); n != 0 {
		t.Errorf("%d errors were told", n)
	}
}

// TestRollOver has both sides change their certificates while messages wait on the queue: none is lost or refused, and what
// goes out is encrypted for the newest.
//
// Rules: AMQP-64, AMQP-65
func TestRollOver(t *testing.T) {
	t.Parallel()
	a := simple(t)
	id, party := a.meet(t)
	a.b.stop()
	var sent []string
	for range 3 {
		_, msgID := a.from(t, id)
		sent = append(sent, msgID)
	}
	newSign, newOwn := a.pki.Signer(), a.pki.Recipient()
	a.certify(t, party.ID, store.AMQPSign, newSign)
	a.certify(t, a.b.own.ID, store.AMQPEncrypt, newOwn)
	a.b.keyring.Lock()
	a.b.newer = append(a.b.newer, amqp.Key{Identity: cms.Identity(newOwn), Purpose: store.AMQPEncrypt})
	a.b.keyring.Unlock()
	a.again(t)
	id.sign, a.b.me.encrypt = newSign, newOwn
	for range 3 {
		_, msgID := a.from(t, id)
		sent = append(sent, msgID)
	}
	for _, msgID := range sent {
		a.b.message(store.AMQPIn, store.AMQPBusiness, msgID, store.AMQPProcessed)
	}
	if n := a.b.outgoing(store.AMQPError); n != 0 {
		t.Errorf("%d errors were told", n)
	}

	newest := a.pki.Recipient(pkitest.Valid(time.Now().Add(-time.Hour), time.Now().AddDate(1, 0, 0)))
	a.certify(t, a.b.counter.ID, store.AMQPEncrypt, newest)
	msgID := uuid.NewString()
	a.b.bridge.Reload()
	a.b.eventually("the newest certificate is used", func() (bool, string) {
		msgID = uuid.NewString()
		a.b.publish(typeOut, dialogue(t, a.b.me, a.peer, msgID))
		m := take(t, a.wire, a.peer.Async, 1)[0]
		opened, err := cms.Open(m.Data[0], []cms.Identity{cms.Identity(a.peer.encrypt), cms.Identity(newest)})
		return err == nil && opened.Recipient.Equal(newest.Certificate), fmt.Sprint(err)
	})
}

// TestResponderDown has the responder of the certificates away: no error goes out, the message waits and is
// processed once when the responder is back. What goes out waits likewise.
//
// Rules: AMQP-48, AMQP-60, AMQP-61, AMQP-80
func TestResponderDown(t *testing.T) {
	t.Parallel()
	a := simple(t)
	a.pki.SetOCSP(pkitest.Down)
	a.pki.SetCRL(pkitest.Down)
	_, msgID := a.from(t, a.peer)
	out := uuid.NewString()
	a.b.publish(typeOut, dialogue(t, a.b.me, a.peer, out))
	a.b.eventually("the responder was asked for both", func() (bool, string) { return a.pki.Asked("/ocsp") >= 3, "" })
	a.b.eventually("the message that goes out waits", func() (bool, string) {
		list, _, err := a.b.db.Deliveries(t.Context(), store.DeliveryFilter{})
		return err == nil && len(list) == 1 && list[0].Status == store.DeliveryRetrying, a.b.all()
	})
	if rows, _, err := a.b.db.AMQPMessages(t.Context(), store.AMQPFilter{Direction: store.AMQPIn}); err != nil || len(rows) != 1 || rows[0].Status != store.AMQPUnchecked {
		t.Errorf("%+v, %v", rows, err)
	}
	if n := a.b.outgoing(store.AMQPError, store.AMQPAppRec); n != 0 {
		t.Errorf("%d answers", n)
	}
	a.pki.SetOCSP(pkitest.Good)
	a.b.message(store.AMQPIn, store.AMQPBusiness, msgID, store.AMQPProcessed)
	a.b.message(store.AMQPOut, store.AMQPBusiness, out, store.AMQPOpenMessage)
	take(t, a.wire, a.peer.Async, 2)
	if n := a.b.outgoing(store.AMQPError, store.AMQPAppRec); n != 1 {
		t.Errorf("%d answers", n)
	}
}

// TestOwnCertificates has own certificates that do not serve: one of the wrong usage is not used from the start and is reported,
// an expired one holds what would be signed with it.
//
// Rules: AMQP-58, AMQP-59, AMQP-69, AMQP-98
func TestOwnCertificates(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*x509.Certificate)
		unfit  int
	}{
		"wrong usage": {func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageDataEncipherment }, 1},
		"expired":     {pkitest.Valid(time.Now().AddDate(-2, 0, 0), time.Now().AddDate(0, 0, -1)), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := simple(t)
			a.b.stop()
			a.b.me.sign = a.pki.Signer(c.change)
			a.b.start()
			if got := a.b.bridge.Unfit(); len(got) != c.unfit || c.unfit > 0 && (got[0].PartyID != a.b.own.ID || got[0].Purpose != store.AMQPSign || got[0].Detail == "") {
				t.Errorf("unfit: %+v", got)
			}
			a.b.publish(typeOut, dialogue(t, a.b.me, a.peer, uuid.NewString()))
			a.b.held(t, amqp.ReasonCertificate)
		})
	}
}

// TestRecipientCertificates has the party's certificate to encrypt with be no good: the registry is asked once, then
// the message is held, and nothing is on the queue.
//
// Rules: AMQP-58, AMQP-59, AMQP-60, AMQP-62, AMQP-70, AMQP-98
func TestRecipientCertificates(t *testing.T) {
	t.Parallel()
	for name, certificate := range map[string]func(p *pkitest.PKI) pkitest.Leaf{
		"expired": func(p *pkitest.PKI) pkitest.Leaf {
			return p.Recipient(pkitest.Valid(time.Now().AddDate(-2, 0, 0), time.Now().AddDate(0, 0, -1)))
		},
		"revoked": func(p *pkitest.PKI) pkitest.Leaf {
			leaf := p.Recipient()
			p.Revoke(leaf.Certificate)
			return leaf
		},
		"wrong usage": func(p *pkitest.PKI) pkitest.Leaf { return p.Signer() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := simple(t)
			a.b.write(func(tx *store.Tx) error {
				rows, err := tx.AMQPCertificates(t.Context(), a.b.counter.ID)
				for _, row := range rows {
					if err == nil && row.Purpose == store.AMQPEncrypt {
						err = tx.DeleteAMQPCertificate(t.Context(), row.PartyID, row.ID)
					}
				}
				return err
			})
			a.certify(t, a.b.counter.ID, store.AMQPEncrypt, certificate(a.pki))
			a.again(t)
			a.b.publish(typeOut, dialogue(t, a.b.me, a.peer, uuid.NewString()))
			a.b.held(t, amqp.ReasonCertificate)
			if n := a.refreshed(a.b.counter.ID); n != 1 {
				t.Errorf("the registry was asked %d times", n)
			}
		})
	}
}
