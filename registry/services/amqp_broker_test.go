package services

import (
	"errors"
	"strings"
	"testing"

	"schakel/registry"
	registryamqp "schakel/registry/amqp"
	"schakel/store"
)

// Every field of a broker is judged, and secrets go in and never come out.
func TestAMQPBrokers(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		cert, key := pemPair(t, "schakel", signUsage, 0)
		_, otherKey := pemPair(t, "other", signUsage, 1)
		for _, tc := range []struct {
			field string
			edit  func(*registryamqp.BrokerInput)
		}{
			{"name", func(in *registryamqp.BrokerInput) { in.Name = "x" }},
			{"dialect", func(in *registryamqp.BrokerInput) { in.Dialect = "kafka" }},
			{"url", func(in *registryamqp.BrokerInput) { in.URL = "" }},
			{"url", func(in *registryamqp.BrokerInput) { in.URL = "https://broker.example" }},
			{"url", func(in *registryamqp.BrokerInput) { in.URL = "amqp://broker.example" }},
			{"url", func(in *registryamqp.BrokerInput) { in.URL = "amqps://me:secret@broker.example" }},
			{"url", func(in *registryamqp.BrokerInput) { in.URL = "amqps://broker.example/vhost" }},
			{"url", func(in *registryamqp.BrokerInput) { in.URL = "amqps://broker.example?x=1" }},
			{"namespace", func(in *registryamqp.BrokerInput) { in.Namespace = "a b" }},
			{"sasl", func(in *registryamqp.BrokerInput) { in.SASL = "kerberos" }},
			{"username", func(in *registryamqp.BrokerInput) { in.Username = "" }},
			{"password", func(in *registryamqp.BrokerInput) { in.Password = "" }},
			{"ca", func(in *registryamqp.BrokerInput) { in.CA = "no PEM" }},
			{"ca", func(in *registryamqp.BrokerInput) { in.CA = key }},
			{"certificate", func(in *registryamqp.BrokerInput) { in.SASL = store.AMQPExternal }},
			{"certificate", func(in *registryamqp.BrokerInput) { in.PrivateKey = key }},
			{"certificate", func(in *registryamqp.BrokerInput) { in.Certificate = cert + cert }},
			{"privateKey", func(in *registryamqp.BrokerInput) { in.Certificate = cert }},
			{"privateKey", func(in *registryamqp.BrokerInput) { in.Certificate, in.PrivateKey = cert, otherKey }},
		} {
			in := goodBroker()
			tc.edit(&in)
			_, err := w.AMQP.CreateBroker(ctx, w.admin, in)
			wantField(t, tc.field, err)
		}
		in := goodBroker()
		in.Certificate, in.PrivateKey, in.CA = cert, key, cert
		row, err := w.AMQP.CreateBroker(ctx, w.admin, in)
		must(t, err)
		_, err = w.AMQP.CreateBroker(ctx, w.admin, in)
		wantField(t, "name", err)
		w.checkBrokerSecrets(t, row)
		w.checkBrokerChanges(t, row)
	})
}

func (w *world) checkBrokerSecrets(t *testing.T, row store.AMQPBroker) {
	t.Helper()
	ctx := t.Context()
	if row.Secret != "sealed" || row.PrivateKey != "sealed" {
		t.Errorf("a secret came out: %+v", row)
	}
	stored, err := w.db.AMQPBroker(ctx, row.ID)
	must(t, err)
	if strings.Contains(stored.Secret, "secret") || !strings.HasPrefix(stored.PrivateKey, "v1.") {
		t.Error("a secret is not sealed")
	}
	password, client, ca, err := w.AMQP.BrokerSecrets(ctx, stored)
	if err != nil || password != "top secret" || client == nil || client.Leaf.Subject.CommonName != "schakel" || ca == nil {
		t.Errorf("opened %q %v %v %v", password, client, ca, err)
	}
	stored.Secret = stored.PrivateKey
	if _, _, _, err := w.AMQP.BrokerSecrets(ctx, stored); err == nil {
		t.Error("a key opens as a password")
	}
}

func (w *world) checkBrokerChanges(t *testing.T, row store.AMQPBroker) {
	t.Helper()
	ctx := t.Context()
	in := registryamqp.InputOfBroker(row)
	in.Name = "Exchange"
	if _, err := w.AMQP.UpdateBroker(ctx, w.admin, row.ID, in); err != nil {
		t.Fatal(err)
	}
	stored, err := w.db.AMQPBroker(ctx, row.ID)
	must(t, err)
	if password, client, _, err := w.AMQP.BrokerSecrets(ctx, stored); err != nil || password != "top secret" || client == nil {
		t.Errorf("secrets were lost: %v", err)
	}
	in.URL = "amqps://elsewhere.example"
	_, err = w.AMQP.UpdateBroker(ctx, w.admin, row.ID, in)
	wantField(t, "password", err)
	wantField(t, "privateKey", err)
	in.URL, in.Password, in.PrivateKey, in.Certificate, in.SASL = "amqp://127.0.0.1:5672", "", "", "", store.AMQPAnonymous
	changed, err := w.AMQP.UpdateBroker(ctx, w.admin, row.ID, in)
	if err != nil || changed.Secret != "" || changed.PrivateKey != "" || changed.Certificate != "" {
		t.Errorf("secrets stayed: %+v %v", changed, err)
	}
	must(t, w.AMQP.RemoveBroker(ctx, w.admin, row.ID))
	if got := w.lastSentence(t); !strings.Contains(got, "removed message broker Exchange") {
		t.Error(got)
	}
	_, actor := w.partner(t, "Scholengroep Noord", goodOIN, "anna@noord.example")
	_, errList := w.AMQP.Brokers(ctx, actor)
	_, errGet := w.AMQP.Broker(ctx, actor, row.ID)
	_, errMake := w.AMQP.CreateBroker(ctx, actor, goodBroker())
	_, errChange := w.AMQP.UpdateBroker(ctx, actor, row.ID, goodBroker())
	for _, err := range []error{errList, errGet, errMake, errChange, w.AMQP.RemoveBroker(ctx, actor, row.ID)} {
		wantCode(t, "by a partner", registry.CodeForbidden, err)
	}
}

func wantField(t *testing.T, field string, err error) {
	t.Helper()
	refused, ok := errors.AsType[*registry.Error](err)
	if !ok || refused.Fields[field] == "" {
		t.Errorf("got %v, want field %s", err, field)
	}
}
