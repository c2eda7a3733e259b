package amqp_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	goamqp "github.com/Azure/go-amqp"

	"schakel/delivery/amqp"
	"schakel/delivery/amqp/brokertest"
	"schakel/delivery/amqp/cms"
	"schakel/delivery/amqp/link"
	"schakel/delivery/amqp/message"
	"schakel/delivery/amqp/xsd"
	"schakel/store"
	"schakel/store/needs"
	"schakel/store/storetest"
)

// schemas is the folder of XSDs of the exchange, among the documents of other parties.
func schemas(t testing.TB) string {
	t.Helper()
	return needs.Shared(t, "amqp", "xsd-ks")
}

// relay is two Schakels between which a test stands: what a writes, and what b answers, comes by queues of the test, which
// passes it on as it is or changed.
type relay struct {
	*pair

	wire *link.Connection
}

// newRelay makes a relay; change may alter how b is set up.
func newRelay(t *testing.T, change ...func(*amqp.Config)) *relay {
	t.Helper()
	p := &pair{broker: brokertest.Start(t, brokertest.RabbitMQ4), pki: newPKI(t)}
	a, b := newIdentity(t, p.broker, p.pki), newIdentity(t, p.broker, p.pki)
	r := &relay{p, dial(t, p.broker)}
	p.a = p.side(t, "a", storetest.SQLite(t), a, r.tapped(t, b))
	p.b = p.side(t, "b", storetest.SQLite(t), b, r.tapped(t, a), change...)
	return r
}

// tapped is an identity as the other party knows it: by queues of the test.
func (r *relay) tapped(t *testing.T, id identity) identity {
	t.Helper()
	for _, queue := range []*string{&id.Async, &id.Sync, &id.Error} {
		*queue += "_tap"
		r.broker.Queue(t, *queue, map[string]any{"x-queue-type": "classic"})
	}
	return id
}

// dial makes a connection of the test's own.
func dial(t testing.TB, broker *brokertest.Broker) *link.Connection {
	t.Helper()
	cfg := broker.Config()
	cfg.Retry = link.Retry{First: 50 * time.Millisecond, Max: 500 * time.Millisecond}
	c, err := link.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = c.Stop(ctx)
	})
	return c
}

// take takes messages off a queue until it has so many.
func take(t testing.TB, c *link.Connection, queue string, count int) []*goamqp.Message {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	got := make(chan *goamqp.Message)
	go func() {
		_ = c.Receive(ctx, queue, 1, func(ctx context.Context, d *link.Delivery) error {
			if err := d.Accept(ctx); err != nil {
				return err
			}
			select {
			case got <- d.Message:
			case <-ctx.Done():
			}
			return nil
		})
	}()
	var all []*goamqp.Message
	for len(all) < count {
		select {
		case m := <-got:
			all = append(all, m)
		case <-ctx.Done():
			t.Fatalf("%d messages came to %s, want %d", len(all), queue, count)
		}
	}
	return all
}

// send writes a message as it is.
func send(t testing.TB, c *link.Connection, queue string, m *goamqp.Message) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := c.Send(ctx, queue, m); err != nil {
		t.Fatal(err)
	}
}

// sections is a message as a foreign peer writes it.
func sections(m *goamqp.Message) brokertest.Sections {
	s := brokertest.Sections{Header: map[string]brokertest.Value{"durable": {Type: "boolean", Text: "true"}}, Properties: map[string]brokertest.Value{}, Application: map[string]brokertest.Value{}}
	p := m.Properties
	text := func(name string, value *string) {
		if value != nil {
			s.Properties[name] = brokertest.Text(*value)
		}
	}
	if p.MessageID != nil {
		s.Properties["message-id"] = brokertest.Text(fmt.Sprint(p.MessageID))
	}
	if p.CorrelationID != nil {
		s.Properties["correlation-id"] = brokertest.Text(fmt.Sprint(p.CorrelationID))
	}
	text("to", p.To)
	text("subject", p.Subject)
	text("reply-to", p.ReplyTo)
	if p.ContentType != nil {
		s.Properties["content-type"] = brokertest.Value{Type: "symbol", Text: *p.ContentType}
	}
	for name, value := range m.ApplicationProperties {
		s.Application[name] = brokertest.Text(fmt.Sprint(value))
	}
	for _, part := range m.Data {
		s.Body = append(s.Body, brokertest.Section{Kind: "data", Value: brokertest.Value{Type: "binary", Text: hex.EncodeToString(part)}})
	}
	return s
}

// seal signs and encrypts as a party does.
func seal(t testing.TB, document []byte, from, to identity) []byte {
	t.Helper()
	sealed, err := cms.Seal(document, cms.Identity(from.sign), to.encrypt.Certificate)
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

// letter is a message of a party without a Schakel, as it should be.
func letter(t testing.TB, from, to identity, document []byte, id string) *goamqp.Message {
	t.Helper()
	m, err := message.Encode(message.Message{
		ID: id, To: to.Async, Subject: subjectDialogue, ReplyTo: from.Async, CorrelationID: id, ContentType: message.ContentSignedAndEncrypted,
		Timestamp: time.Now(), FromHerID: from.HerID, ToHerID: to.HerID, Durable: true, Body: seal(t, document, from, to),
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// ownSchemas is the folder of XSDs of the exchange in our own words.
const ownSchemas = "testdata/exchange"

// loadSchemas reads the XSDs of a folder.
func loadSchemas(t testing.TB, folder string) *xsd.Set {
	t.Helper()
	set, err := xsd.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// lint holds a document against a schema with xmllint.
func lint(t testing.TB, schema string, document []byte) {
	t.Helper()
	program := needs.Program(t, "xmllint")
	file := filepath.Join(t.TempDir(), "document.xml")
	if err := os.WriteFile(file, document, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(program, "--noout", "--nonet", "--schema", filepath.Join(schemas(t), schema), file).CombinedOutput(); err != nil {
		t.Errorf("xmllint: %v: %s\n%s", err, out, document)
	}
}

// outgoing counts what a side wrote, of the kinds given.
func (s *side) outgoing(kinds ...string) int {
	s.t.Helper()
	n, err := s.db.CountAMQPMessages(context.Background(), store.AMQPFilter{Direction: store.AMQPOut, Kinds: kinds})
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}
