package services

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"sync"
	"testing"
	"time"

	"schakel/registry"
	registryamqp "schakel/registry/amqp"
	"schakel/registry/partners"
	"schakel/store"
)

// testRSA makes the keys of the tests once.
var testRSA = sync.OnceValue(func() [2]*rsa.PrivateKey {
	var keys [2]*rsa.PrivateKey
	for i := range keys {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			panic(err)
		}
		keys[i] = key
	}
	return keys
})

// pemPair makes a certificate for a use that is signed by itself, and its key, as PEM.
func pemPair(t *testing.T, name string, usage x509.KeyUsage, key int, changes ...func(*x509.Certificate)) (certificate, private string) {
	t.Helper()
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, KeyUsage: usage, BasicConstraintsValid: true,
		NotBefore: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2028, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	for _, change := range changes {
		change(c)
	}
	pair := testRSA()[key]
	der, err := x509.CreateCertificate(rand.Reader, c, c, pair.Public(), pair)
	must(t, err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(pair)
	must(t, err)
	return block("CERTIFICATE", der), block("PRIVATE KEY", pkcs8)
}

func block(kind string, der []byte) string {
	var b bytes.Buffer
	_ = pem.Encode(&b, &pem.Block{Type: kind, Bytes: der})
	return b.String()
}

const (
	signUsage    = x509.KeyUsageContentCommitment
	encryptUsage = x509.KeyUsageDataEncipherment
)

func goodBroker() registryamqp.BrokerInput {
	return registryamqp.BrokerInput{
		Name: "Health exchange", Dialect: store.AMQPRabbitMQ4, URL: "amqps://broker.example:5671", Namespace: "DigitalDialog",
		SASL: store.AMQPPlain, Username: "schakel", Password: "top secret", Enabled: true,
	}
}

func (w *world) broker(t *testing.T) store.AMQPBroker {
	t.Helper()
	b, err := w.AMQP.CreateBroker(t.Context(), w.admin, goodBroker())
	must(t, err)
	return b
}

func healthParty(broker string, her int64) registryamqp.PartyInput {
	return registryamqp.PartyInput{BrokerID: broker, Kind: store.AMQPHealth, Name: "Legekontor", HerID: her, Enabled: true}
}

// amqpEndpoint adds an endpoint of kind amqp.
func (w *world) amqpEndpoint(t *testing.T, actor registry.Actor) store.Endpoint {
	t.Helper()
	e, err := w.Endpoints.Create(t.Context(), actor, "", partners.EndpointInput{Name: "Queues", Kind: store.EndpointAMQP})
	must(t, err)
	return e
}
