package amqp_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	goamqp "github.com/Azure/go-amqp"
	"github.com/google/uuid"
	"schakel/delivery/amqp"
	"schakel/delivery/amqp/apprec"
	"schakel/delivery/amqp/brokertest"
	"schakel/delivery/amqp/cms"
	"schakel/delivery/amqp/link"
	"schakel/delivery/amqp/message"
	"schakel/delivery/amqp/msghead"
	"schakel/delivery/amqp/pkitest"
	"schakel/delivery/amqp/xsd"
	"schakel/store"
	"schakel/store/needs"
	"schakel/store/storetest"
)

// alone is one Schakel, b, among parties that have none.
type alone struct {
	*pair

	wire *link.Connection
	peer identity // whom b knows from the beginning

	mu        sync.Mutex
	refreshes map[string]int // how often the address registry was asked, by party
	registry  func(partyID string)
}

func newAlone(t testing.TB, db *store.DB, broker *brokertest.Broker, change ...func(*amqp.Config)) *alone {
	t.Helper()
	storetest.Encrypt(db) // everything works with data encrypted
	a := &alone{pair: &pair{broker: broker, pki: newPKI(t)}, refreshes: map[string]int{}}
	a.wire = dial(t, broker)
	a.peer = newIdentity(t, broker, a.pki)
	counted := func(c *amqp.Config) {
		forget := c.Refresh
		c.Refresh = func(ctx context.Context, partyID string) error {
			a.mu.Lock()
			a.refreshes[partyID]++
			registry := a.registry
			a.mu.Unlock()
			if registry != nil {
				registry(partyID)
			}
			return forget(ctx, partyID)
		}
	}
	a.b = a.side(t, "b", db, newIdentity(t, broker, a.pki), a.peer, append([]func(*amqp.Config){counted}, change...)...)
	return a
}

func simple(t *testing.T, change ...func(*amqp.Config)) *alone {
	t.Helper()
	return newAlone(t, storetest.SQLite(t), brokertest.Start(t, brokertest.RabbitMQ4), change...)
}

// again starts b once more.
func (a *alone) again(t *testing.T) {
	t.Helper()
	a.b.stop()
	a.b.start()
}

// held waits for a delivery of b to be in the error queue for a reason.
func (s *side) held(t *testing.T, reason string) store.Delivery {
	t.Helper()
	var found store.Delivery
	s.eventually("a delivery is held for "+reason, func() (bool, string) {
		list, _, err := s.db.Deliveries(context.Background(), store.DeliveryFilter{})
		for _, d := range list {
			if found = d; d.Status == store.DeliveryHeld && d.Reason == reason && d.Detail != "" {
				return err == nil, ""
			}
		}
		return false, s.all()
	})
	return found
}

func (a *alone) refreshed(partyID string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.refreshes[partyID]
}

// meet makes b know a new party, with certificates to sign that may be others than its own.
func (a *alone) meet(t *testing.T, sign ...pkitest.Leaf) (identity, store.AMQPParty) {
	t.Helper()
	id := newIdentity(t, a.broker, a.pki)
	if len(sign) > 0 {
		id.sign = sign[0]
	}
	return id, a.register(t, id)
}

// register makes a party known to b, with its partner, endpoint, certificates and process.
func (a *alone) register(t *testing.T, id identity) store.AMQPParty {
	t.Helper()
	var counter store.AMQPParty
	a.b.write(func(tx *store.Tx) error {
		ctx := t.Context()
		partner := store.Partner{Name: fmt.Sprint("party ", id.HerID), Status: store.PartnerApproved}
		if err := tx.InsertPartner(ctx, &partner); err != nil {
			return err
		}
		endpoint := store.Endpoint{PartnerID: partner.ID, Name: "amqp", Kind: store.EndpointAMQP, Status: store.EndpointActive, MaxConcurrency: 8, TimeoutMS: 30_000}
		if err := tx.InsertEndpoint(ctx, &endpoint); err != nil {
			return err
		}
		counter = partyOf(id, partner.ID, a.b.own.BrokerID, false)
		counter.EndpointID = endpoint.ID
		if err := tx.InsertAMQPParty(ctx, &counter); err != nil {
			return err
		}
		process := store.AMQPProcess{PartyID: counter.ID, OwnPartyID: a.b.own.ID, Name: "dialogue", Subject: subjectDialogue, Mode: store.AMQPAsync, Sends: typeOut, Receives: typeIn}
		return errors.Join(a.b.certificates(tx, counter.ID, id), tx.InsertAMQPProcess(ctx, &process))
	})
	return counter
}

// from sends b a message of a party, and gives its messageId and MsgId.
func (a *alone) from(t *testing.T, id identity) (messageID, msgID string) {
	t.Helper()
	messageID, msgID = uuid.NewString(), uuid.NewString()
	send(t, a.wire, a.b.me.Async, letter(t, id, a.b.me, dialogue(t, id, a.b.me, msgID), messageID))
	return messageID, msgID
}

func (a *alone) certify(t *testing.T, partyID, purpose string, leaf pkitest.Leaf) {
	t.Helper()
	a.b.write(func(tx *store.Tx) error {
		return tx.InsertAMQPCertificate(context.Background(), certificateRow(partyID, purpose, leaf))
	})
}

// receipt is an AppRec with a status to a document of b's, by the peer.
func (a *alone) receipt(t *testing.T, document []byte, messageID, status string) *goamqp.Message {
	t.Helper()
	parsed, err := msghead.Parse(document)
	must(t, err)
	answer := apprec.Answer{Version: apprec.V11, ID: messageID, At: time.Now(), Info: parsed.Info}
	if status == "2" {
		answer.Errors = []apprec.Error{apprec.T02("not so")}
	}
	built, err := apprec.Build(answer)
	must(t, err)
	if status != "1" && status != "2" {
		built = replace(built, `<Status V="1"`, `<Status V="`+status+`"`)
	}
	m := letter(t, a.peer, a.b.me, built, messageID)
	subject := "APPREC"
	m.Properties.Subject = &subject
	return m
}

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

func dial(t testing.TB, broker *brokertest.Broker) *link.Connection {
	t.Helper()
	cfg := broker.Config()
	cfg.Retry = link.Retry{First: 50 * time.Millisecond, Max: 500 * time.Millisecond}
	c, err := link.New(cfg)
	must(t, err)
	must(t, c.Start(context.Background()))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = c.Stop(ctx)
	})
	return c
}

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

func send(t testing.TB, c *link.Connection, queue string, m *goamqp.Message) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	must(t, c.Send(ctx, queue, m))
}

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
	must(t, err)
	return sealed
}

// letter is a message of a party without a Schakel, as it should be.
func letter(t testing.TB, from, to identity, document []byte, id string) *goamqp.Message {
	t.Helper()
	m, err := message.Encode(message.Message{
		ID: id, To: to.Async, Subject: subjectDialogue, ReplyTo: from.Async, CorrelationID: id, ContentType: message.ContentSignedAndEncrypted,
		Timestamp: time.Now(), FromHerID: from.HerID, ToHerID: to.HerID, Durable: true, Body: seal(t, document, from, to),
	})
	must(t, err)
	return m
}

// ownSchemas is the folder of XSDs of the exchange in our own words.
const ownSchemas = "testdata/exchange"

func loadSchemas(t testing.TB, folder string) *xsd.Set {
	t.Helper()
	set, err := xsd.Load(folder)
	must(t, err)
	return set
}

func lint(t testing.TB, schema string, document []byte) {
	t.Helper()
	program := needs.Program(t, "xmllint")
	file := filepath.Join(t.TempDir(), "document.xml")
	must(t, os.WriteFile(file, document, 0o600))
	if out, err := exec.Command(program, "--noout", "--nonet", "--schema", filepath.Join(schemas(t), schema), file).CombinedOutput(); err != nil {
		t.Errorf("xmllint: %v: %s\n%s", err, out, document)
	}
}

// outgoing counts what a side wrote, of the kinds given.
func (s *side) outgoing(kinds ...string) int {
	s.t.Helper()
	n, err := s.db.CountAMQPMessages(context.Background(), store.AMQPFilter{Direction: store.AMQPOut, Kinds: kinds})
	must(s.t, err)
	return n
}
