package faults

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"testing"
	"time"

	"schakel/delivery/amqp/brokertest"
	"schakel/delivery/amqp/pkitest"
	"schakel/server/trial"
	"schakel/store/storetest"
)

// exchange is two programs that exchange messages over a RabbitMQ of their own.
type exchange struct {
	*trial.AMQPPair
	broker *brokertest.Broker
}

// newExchange makes the programs, one on SQLite and one on PostgreSQL, and starts them. through may put something between a
// program and the broker.
func newExchange(t *testing.T, through func(n int, url string) string) *exchange {
	t.Helper()
	broker := brokertest.StartOwn(t, brokertest.RabbitMQ4, nil)
	pki := pkitest.New(t, time.Now)
	x := trial.AMQPExchange{Username: brokertest.User, Password: brokertest.Password, Root: pki.Root}
	for n, her := range []int{100, 200} {
		broker.Party(t, her)
		broker.Queue(t, fmt.Sprint(her, "_reply"), map[string]any{"x-queue-type": "classic", "x-message-ttl": 15000})
		x.Parties[n] = amqpIdentity(pki, int64(her))
		x.URLs[n] = through(n, broker.URL)
	}
	e := &exchange{broker: broker}
	e.AMQPPair = trial.NewAMQPPair(t, x, [2]string{trial.SQLitePath(t), storetest.PostgresURL(t)},
		"--log-level", "warn", "--lease", "2s", "--retry-attempts", "10000")
	e.A.Start(t)
	e.B.Start(t)
	return e
}

// identity is a party with a certificate to sign and one to be encrypted for.
func amqpIdentity(pki *pkitest.PKI, her int64) trial.AMQPIdentity {
	id := trial.AMQPIdentity{HerID: her}
	for _, usage := range []x509.KeyUsage{x509.KeyUsageContentCommitment, x509.KeyUsageDataEncipherment | x509.KeyUsageKeyEncipherment} {
		leaf := pki.Leaf(usage)
		pair := tls.Certificate{Certificate: [][]byte{leaf.Certificate.Raw}, PrivateKey: leaf.Key}
		for _, c := range pki.Issuers() {
			pair.Certificate = append(pair.Certificate, c.Raw)
		}
		id.Pairs = append(id.Pairs, pair)
	}
	return id
}

func straight(_ int, url string) string { return url }

// settled lets all that is under way end, stops the programs and compares the ledgers.
func (e *exchange) settled(t *testing.T) {
	t.Helper()
	e.Settle(t)
	e.A.Stop(t)
	e.B.Stop(t)
	ab, ba := e.Compare(t)
	for _, a := range []trial.AMQPAccount{ab, ba} {
		t.Log(a)
		if a.Messages > 0 && !a.Sound() {
			t.Errorf("not every message was handled once and acknowledged once: %s; %q", a, a.Examples)
		}
	}
	if broken := e.Receiver.Broken(); len(broken) > 0 {
		t.Errorf("%d rules broken, as %v", len(broken), broken[:min(len(broken), 10)])
	}
}
