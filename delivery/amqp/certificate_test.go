package amqp_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"schakel/delivery/amqp"
	"schakel/delivery/amqp/brokertest"
	"schakel/delivery/amqp/certs"
	"schakel/delivery/amqp/cms"
	"schakel/delivery/amqp/link"
	"schakel/delivery/amqp/message"
	"schakel/delivery/amqp/pkitest"
	"schakel/store"
	"schakel/store/needs"
	"schakel/store/storetest"
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

// foreign seals a document with openssl, which signs with RSA-PSS and encrypts with AES-GCM and RSA-OAEP.
func foreign(t *testing.T, document []byte, from, to identity) []byte {
	t.Helper()
	needs.Program(t, "openssl")
	dir := t.TempDir()
	put := func(name string, content []byte) {
		must(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	key, err := x509.MarshalPKCS8PrivateKey(from.sign.Key)
	must(t, err)
	put("key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
	put("signer", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: from.sign.Certificate.Raw}))
	put("recipient", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: to.encrypt.Certificate.Raw}))
	put("document", document)
	run := func(args ...string) {
		cmd := exec.Command("openssl", append([]string{"cms", "-binary", "-outform", "DER"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("openssl %v: %v: %s", args, err, out)
		}
	}
	run("-sign", "-nodetach", "-md", "sha256", "-signer", "signer", "-inkey", "key", "-keyopt", "rsa_padding_mode:pss", "-in", "document", "-out", "signed")
	run("-encrypt", "-aes-256-gcm", "-recip", "recipient", "-keyopt", "rsa_padding_mode:oaep", "-in", "signed", "-out", "sealed")
	body, err := os.ReadFile(filepath.Join(dir, "sealed"))
	must(t, err)
	return body
}

// TestModernAlgorithms: a message that a foreign tool seals with RSA-PSS, RSA-OAEP and AES-GCM is processed. When a setting
// rejects one of them, it is refused; the entry and the log name the algorithm, and the sender learns no more than that it
// could not be decrypted.
//
// Rules: AMQP-68, AMQP-101, AMQP-131
func TestModernAlgorithms(t *testing.T) {
	t.Parallel()
	log := &journal{}
	a := simple(t, keepLog(log))
	put := func() string {
		msgID, id := uuid.NewString(), uuid.NewString()
		document := dialogue(t, a.peer, a.b.me, msgID)
		m := letter(t, a.peer, a.b.me, document, id)
		m.Data = [][]byte{foreign(t, document, a.peer, a.b.me)}
		send(t, a.wire, a.b.me.Async, m)
		return id
	}
	a.b.message(store.AMQPIn, store.AMQPBusiness, put(), store.AMQPProcessed)
	take(t, a.wire, a.peer.Async, 1)
	a.b.stop()
	a.b.cfg.CMS = cms.Limits{Rejected: []string{cms.KeyOAEPSHA1}}
	a.b.start()
	row := a.b.message(store.AMQPIn, store.AMQPBusiness, put(), store.AMQPRefused)
	if !strings.Contains(row.Detail, cms.KeyOAEPSHA1) || !strings.Contains(log.String(), cms.KeyOAEPSHA1) {
		t.Errorf("nothing names the algorithm: %s", row.Detail)
	}
	told := take(t, a.wire, a.peer.Error, 1)[0].ApplicationProperties
	text, _ := told["errorDescription"].(string)
	data, _ := told["errorConditionData"].(string)
	if told["errorCondition"] != "transport:decryption-failed" || bytes.Contains([]byte(text+data), []byte("oaep")) {
		t.Errorf("the sender is told %v", told)
	}
}
