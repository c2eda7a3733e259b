package web

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	registryamqp "schakel/registry/amqp"
	"schakel/registry/partners"
	"schakel/store"
)

// amqpWorld is the portal with a broker, an own party, and the party of a partner.
type amqpWorld struct {
	*portalHarness
	admin, staff    *browser
	broker          string
	own, party      string // ids
	endpoint, owner string
}

func newAMQPWorld(t *testing.T) *amqpWorld {
	t.Helper()
	h := newPortalHarness(t)
	w := &amqpWorld{portalHarness: h, admin: h.browser()}
	w.admin.login(t, testEmail)
	staff, who := h.at(t, "pat@example.nl")
	w.staff, w.owner = staff, who.PartnerID
	return w
}

func (w *amqpWorld) filled(t *testing.T) *amqpWorld {
	t.Helper()
	ctx := t.Context()
	b, err := w.reg.AMQP.CreateBroker(ctx, w.portalHarness.admin, registryamqp.BrokerInput{
		Name: "Exchange", Dialect: store.AMQPRabbitMQ4, URL: "amqps://broker.example", SASL: store.AMQPAnonymous, Enabled: true,
	})
	noError(t, err)
	own, err := w.reg.AMQP.CreateOwnParty(ctx, w.portalHarness.admin, registryamqp.PartyInput{BrokerID: b.ID, Kind: store.AMQPHealth, Name: "Chain clinic", HerID: 100, Enabled: true})
	noError(t, err)
	e, err := w.reg.Endpoints.Create(ctx, w.portalHarness.admin, w.owner, partners.EndpointInput{Name: "Queues", Kind: store.EndpointAMQP})
	noError(t, err)
	p, err := w.reg.AMQP.CreateCounterpart(ctx, w.portalHarness.admin, e.ID, registryamqp.PartyInput{BrokerID: b.ID, Kind: store.AMQPHealth, Name: "Legekontor", HerID: 200, Enabled: true})
	noError(t, err)
	w.broker, w.own, w.party, w.endpoint = b.ID, own.ID, p.ID, e.ID
	return w
}

// message keeps a message of the counterpart, changed as a test wants.
func (w *amqpWorld) message(t *testing.T, id string, edit func(*store.AMQPMessage)) store.AMQPMessage {
	t.Helper()
	ctx := t.Context()
	m := store.AMQPMessage{
		Direction: store.AMQPOut, Kind: store.AMQPBusiness, Status: store.AMQPOpenMessage, OwnPartyID: w.own, PartyID: w.party, PartnerID: w.owner, OwnHer: 100,
		Her: 200, MessageID: id, MsgID: "msg-" + id, CorrelationID: "cor-" + id, Subject: "DIALOG_INNBYGGER_EKONTAKT", Queue: "200_async",
	}
	edit(&m)
	noError(t, w.db.Write(ctx, func(tx *store.Tx) error {
		if err := tx.InsertAMQPMessage(ctx, &m); err != nil {
			return err
		}
		return tx.TraceAMQP(ctx, store.AMQPTrace{MessageID: m.ID, Step: "written", Detail: "200_async", Node: "a"})
	}))
	return m
}

func (w *amqpWorld) partyForm(pairs ...string) url.Values {
	return changed(url.Values{
		"kind": {"health"}, "name": {"Legekontor"}, "herId": {"200"}, "brokerId": {w.broker}, "answerWait": {"4h"}, "enabled": {"on"},
	}, pairs...)
}

var testRSAKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

// testCertificate makes a certificate for signing and encryption, and its key, as PEM.
func testCertificate(t *testing.T, name string, until time.Time) (certificate, key string) {
	t.Helper()
	c := &x509.Certificate{
		SerialNumber: big.NewInt(until.UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: until.AddDate(-2, 0, 0), NotAfter: until,
		KeyUsage: x509.KeyUsageContentCommitment | x509.KeyUsageDataEncipherment, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, testRSAKey().Public(), testRSAKey())
	noError(t, err)
	var cert, private bytes.Buffer
	noError(t, pem.Encode(&cert, &pem.Block{Type: "CERTIFICATE", Bytes: der}))
	noError(t, pem.Encode(&private, &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(testRSAKey())}))
	return cert.String(), private.String()
}

// wantRefused checks that a form comes back with these words.
func wantRefused(t *testing.T, answer *http.Response, words ...string) {
	t.Helper()
	wantStatus(t, answer, http.StatusUnprocessableEntity)
	wantWords(t, text(answer), words...)
}
