package amqp_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"schakel/delivery/amqp"
	"schakel/delivery/amqp/brokertest"
	"schakel/delivery/amqp/certs"
	"schakel/delivery/amqp/cms"
	"schakel/delivery/amqp/link"
	"schakel/delivery/amqp/msghead"
	"schakel/delivery/amqp/pkitest"
	"schakel/delivery/event"
	"schakel/delivery/outbox"
	"schakel/delivery/webhook"
	"schakel/store"
	"schakel/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// Event types of the tests.
const (
	typeOut   = "no.example.dialogue-sent.v1"
	typeIn    = "no.example.dialogue-received.v1"
	typeAsk   = "no.example.question-asked.v1"
	typeReply = "no.example.question-answered.v1"
)

// Subjects of the tests: of a dialogue, and of a synchronous question.
const (
	subjectDialogue = "DIALOG_INNBYGGER_EKONTAKT"
	subjectQuestion = "DIALOG_INNBYGGER_REGISTRERING"
)

// identity is a party of the exchange as the tests know it.
type identity struct {
	brokertest.Party

	sign, encrypt pkitest.Leaf
}

// side is one Schakel, with its engine and bridge, and a party.
type side struct {
	t       testing.TB
	name    string
	db      *store.DB
	engine  *outbox.Engine
	bridge  *amqp.Bridge
	inbox   *inbox
	me      identity
	other   identity
	own     store.AMQPParty // of ours
	counter store.AMQPParty // of the other
	partner store.Partner
	self    store.Partner
	cfg     amqp.Config
	running bool
	handle  func(e *event.Event) ([]byte, error)
	notices chan amqp.Notice

	keyring sync.Mutex
	newer   []amqp.Key // own keys beside those of me
}

// inbox is a transport of the own organisation that remembers what came.
type inbox struct {
	mu     sync.Mutex
	got    []store.Claimed
	broken bool
}

func (i *inbox) Send(_ context.Context, _ store.Endpoint, c store.Claimed) outbox.Result {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.broken {
		return outbox.Result{Status: store.DeliveryHeld, Reason: "inbox", Detail: "It is out of order.", Attempt: store.Attempt{StartedAt: store.At(time.Now())}}
	}
	i.got = append(i.got, c)
	return outbox.Result{Status: store.DeliveryDelivered, Attempt: store.Attempt{StatusCode: 202, StartedAt: store.At(time.Now())}}
}

func (i *inbox) events(eventType string) []store.Event {
	i.mu.Lock()
	defer i.mu.Unlock()
	var list []store.Event
	for _, c := range i.got {
		if c.Event.CEType == eventType {
			list = append(list, c.Event)
		}
	}
	return list
}

// pair is two Schakels on one broker.
type pair struct {
	broker *brokertest.Broker
	bus    *brokertest.Scripted // in place of broker: one that behaves like Service Bus
	pki    *pkitest.PKI
	a, b   *side
}

func newIdentity(t testing.TB, broker *brokertest.Broker, pki *pkitest.PKI) identity {
	t.Helper()
	p := broker.NewParty(t)
	broker.Queue(t, fmt.Sprint(p.HerID, "_reply"), map[string]any{"x-queue-type": "classic", "x-message-ttl": 15000})
	return identityOf(p, pki)
}

func identityOf(p brokertest.Party, pki *pkitest.PKI) identity {
	return identity{p, pki.Leaf(x509.KeyUsageContentCommitment), pki.Leaf(x509.KeyUsageDataEncipherment | x509.KeyUsageKeyEncipherment)}
}

func newPKI(t testing.TB) *pkitest.PKI { return pkitest.New(t, time.Now) }

// newPair makes two Schakels that know each other. change may alter how the second is set up.
func newPair(t *testing.T, change ...func(*amqp.Config)) *pair {
	t.Helper()
	p := &pair{broker: brokertest.Start(t, brokertest.RabbitMQ4), pki: newPKI(t)}
	a, b := newIdentity(t, p.broker, p.pki), newIdentity(t, p.broker, p.pki)
	p.a = p.side(t, "a", storetest.SQLite(t), a, b)
	p.b = p.side(t, "b", storetest.SQLite(t), b, a, change...)
	return p
}

// side makes a Schakel for one identity that knows the other.
func (p *pair) side(t testing.TB, name string, db *store.DB, me, other identity, change ...func(*amqp.Config)) *side {
	t.Helper()
	s := &side{t: t, name: name, db: db, inbox: &inbox{}, me: me, other: other, notices: make(chan amqp.Notice, 100)}
	if p.bus != nil {
		s.write(s.agree(store.AMQPServiceBus, p.bus.URL))
	} else {
		s.write(s.agree(p.broker.Version.Dialect().Name, p.broker.URL))
	}
	validator := certs.New(certs.Config{
		Roots: []certs.Anchor{{Certificate: p.pki.Root}}, Intermediates: p.pki.Issuers(), HTTP: p.pki.Server.Client(), Now: time.Now,
	})
	cfg := amqp.Config{
		DB: db, Now: time.Now, Log: slog.New(slog.DiscardHandler), Node: name,
		Connect: connect, Check: validator.Check, Keys: s.keys,
		Refresh:  func(context.Context, string) error { validator.Forget(); return nil },
		Schedule: func(context.Context, store.Claimed) webhook.Schedule { return quick() },
		Handle: func(_ context.Context, _ string, e *event.Event, _ string) ([]byte, error) {
			if s.handle == nil {
				return nil, errors.New("no handler")
			}
			return s.handle(e)
		},
		WhyNot: func(_ context.Context, _, eventType, _ string) (string, error) {
			if eventType == typeIn {
				return "", nil
			}
			return "This client may not send events of this type.", nil
		},
		Notify:  func(_ context.Context, _ *store.Tx, n amqp.Notice) error { s.notices <- n; return nil },
		Vault:   openVault{},
		Options: amqp.Options{Poll: 100 * time.Millisecond},
	}
	for _, fn := range change {
		fn(&cfg)
	}
	s.cfg = cfg
	s.start()
	return s
}

// openVault is a vault that marks what it seals.
type openVault struct{}

func (openVault) SealBytes(purpose string, plain []byte) []byte {
	return append([]byte("b1."+purpose+"."), plain...)
}

func (openVault) OpenBytes(purpose string, sealed []byte) ([]byte, error) {
	plain, ok := bytes.CutPrefix(sealed, []byte("b1."+purpose+"."))
	if !ok {
		return nil, errors.New("it is not sealed for this")
	}
	return plain, nil
}

func quick() webhook.Schedule {
	return webhook.Schedule{Waits: []time.Duration{200 * time.Millisecond}, MaxAttempts: 1000, Deadline: time.Hour}
}

func connect(ctx context.Context, b store.AMQPBroker, changed func(link.State)) (amqp.Conn, error) {
	dialect, err := link.ParseDialect(b.Dialect)
	if err != nil {
		return nil, err
	}
	c, err := link.New(link.Config{
		URL: b.URL, Dialect: dialect, SASL: link.Plain, Username: b.Username, Password: b.Secret, OnChange: changed,
		Retry: link.Retry{First: 50 * time.Millisecond, Max: 500 * time.Millisecond},
	})
	if err != nil {
		return nil, err
	}
	return c, c.Start(ctx)
}

// start makes engine and bridge and starts them, also again after stop, as a process that starts on the same database.
func (s *side) start() {
	s.t.Helper()
	s.bridge = amqp.New(s.cfg)
	s.engine = outbox.New(outbox.Config{
		DB: s.db, Log: s.cfg.Log, Poll: 100 * time.Millisecond, Circuit: outbox.CircuitPolicy{Failures: -1}, Now: s.cfg.Now,
		Transports: map[string]outbox.Transport{store.EndpointAMQP: s.bridge, store.EndpointWebhook: s.inbox},
	})
	s.bridge.Join(s.engine)
	s.running = true
	must(s.t, s.engine.Start(s.t.Context()))
	must(s.t, s.bridge.Start(s.t.Context()))
	s.t.Cleanup(s.stop)
}

func (s *side) stop() {
	if !s.running {
		return
	}
	s.running = false
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := errors.Join(s.bridge.Stop(ctx), s.engine.Stop(ctx)); err != nil {
		s.t.Error(err)
	}
}

// keys gives the private keys of the own party.
func (s *side) keys(context.Context, string) ([]amqp.Key, error) {
	s.keyring.Lock()
	defer s.keyring.Unlock()
	return append(slices.Clone(s.newer), amqp.Key{Identity: cms.Identity(s.me.sign), Purpose: store.AMQPSign}, amqp.Key{Identity: cms.Identity(s.me.encrypt), Purpose: store.AMQPEncrypt}), nil
}

func (s *side) write(fn func(tx *store.Tx) error) {
	s.t.Helper()
	must(s.t, s.db.Write(context.Background(), fn))
}

// agree makes the rows of what is agreed.
func (s *side) agree(dialect, url string) func(tx *store.Tx) error {
	return func(tx *store.Tx) error {
		ctx := s.t.Context()
		s.self = store.Partner{Own: true, Name: s.name, Status: store.PartnerApproved}
		s.partner = store.Partner{Name: "the other of " + s.name, Status: store.PartnerApproved}
		at := store.AMQPBroker{Name: "exchange", Dialect: dialect, URL: url, SASL: store.AMQPPlain, Username: brokertest.User, Secret: brokertest.Password, Enabled: true}
		if err := errors.Join(tx.InsertPartner(ctx, &s.self), tx.InsertPartner(ctx, &s.partner), tx.InsertAMQPBroker(ctx, &at)); err != nil {
			return err
		}
		endpoint := store.Endpoint{PartnerID: s.partner.ID, Name: "amqp", Kind: store.EndpointAMQP, Status: store.EndpointActive, MaxConcurrency: 8, TimeoutMS: 30_000}
		hook := store.Endpoint{PartnerID: s.self.ID, Name: "inbox", Kind: store.EndpointWebhook, Status: store.EndpointActive, MaxConcurrency: 8, TimeoutMS: 5000}
		if err := errors.Join(tx.InsertEndpoint(ctx, &endpoint), tx.InsertEndpoint(ctx, &hook)); err != nil {
			return err
		}
		s.own = partyOf(s.me, s.self.ID, at.ID, true)
		s.counter = partyOf(s.other, s.partner.ID, at.ID, false)
		s.counter.EndpointID = endpoint.ID
		if err := errors.Join(tx.InsertAMQPParty(ctx, &s.own), tx.InsertAMQPParty(ctx, &s.counter)); err != nil {
			return err
		}
		return errors.Join(
			s.certificates(tx, s.own.ID, s.me), s.certificates(tx, s.counter.ID, s.other), s.processes(tx, hook.ID),
			tx.InsertSubscription(ctx, &store.Subscription{PartnerID: s.partner.ID, EndpointID: endpoint.ID, Status: store.SubscriptionApproved, Types: store.Strings{typeOut, typeAsk}}),
			tx.InsertSubscription(ctx, &store.Subscription{PartnerID: s.self.ID, EndpointID: hook.ID, Status: store.SubscriptionApproved, Types: store.Strings{typeIn, typeReply}}),
		)
	}
}

func partyOf(id identity, partnerID, brokerID string, own bool) store.AMQPParty {
	p := store.AMQPParty{
		PartnerID: partnerID, BrokerID: brokerID, Own: own, Kind: store.AMQPHealth, Name: fmt.Sprint("HER ", id.HerID), HerID: int64(id.HerID),
		AsyncQueue: "amqp.example/ns/" + id.Async, SyncQueue: id.Sync, ErrorQueue: id.Error, Enabled: true, Source: store.AMQPEntered,
	}
	if own {
		p.ReplyQueue, p.DeadQueue = fmt.Sprint(id.HerID, "_reply"), id.DeadLetter
	}
	return p
}

func (s *side) certificates(tx *store.Tx, partyID string, id identity) error {
	insert := func(purpose string, leaf pkitest.Leaf) error {
		return tx.InsertAMQPCertificate(s.t.Context(), certificateRow(partyID, purpose, leaf))
	}
	return errors.Join(insert(store.AMQPSign, id.sign), insert(store.AMQPEncrypt, id.encrypt))
}

func certificateRow(partyID, purpose string, leaf pkitest.Leaf) *store.AMQPCertificate {
	c := leaf.Certificate
	return &store.AMQPCertificate{
		PartyID: partyID, Purpose: purpose, Thumbprint: certs.Thumbprint(c), Subject: c.Subject.String(), Source: store.AMQPEntered,
		Certificate: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})),
		NotBefore:   store.At(c.NotBefore), NotAfter: store.At(c.NotAfter),
	}
}

func (s *side) processes(tx *store.Tx, handlerID string) error {
	ctx := s.t.Context()
	return errors.Join(
		tx.InsertAMQPProcess(ctx, &store.AMQPProcess{PartyID: s.counter.ID, OwnPartyID: s.own.ID, Name: "dialogue", Subject: subjectDialogue, Mode: store.AMQPAsync, Sends: typeOut, Receives: typeIn, CPAID: "93252", Service: "Dialog", Action: "Send", FromRole: "A", ToRole: "B"}),
		tx.InsertAMQPProcess(ctx, &store.AMQPProcess{PartyID: s.counter.ID, OwnPartyID: s.own.ID, Name: "question", Subject: subjectQuestion, Mode: store.AMQPSync, Sends: typeAsk, Receives: typeReply, HandlerID: handlerID}),
	)
}

func dialogue(t *testing.T, from, to identity, msgID string) []byte {
	t.Helper()
	doc, err := msghead.Compose(msghead.Draft{
		Type: msghead.Code{V: subjectDialogue, DN: "Dialog"}, MsgID: msgID, Generated: time.Now(), Sender: headParty(from.HerID), Receiver: headParty(to.HerID),
		Topic: msghead.Code{V: "BA"}, Question: "Kan du komme?",
	})
	must(t, err)
	return doc
}

func headParty(her int) msghead.Party {
	return msghead.Party{
		Organisation: msghead.Unit{Name: "Parent", Idents: []msghead.Ident{{ID: fmt.Sprint(her + 1_000_000), Type: msghead.Code{V: msghead.TypeHER}}}},
		Unit:         &msghead.Unit{Name: "Unit", Idents: []msghead.Ident{{ID: fmt.Sprint(her), Type: msghead.Code{V: msghead.TypeHER}}}},
	}
}

// publish accepts an event of the own organisation with a document in it.
func (s *side) publish(eventType string, document []byte) {
	s.t.Helper()
	ev, err := event.New(map[string]string{"id": uuid.NewString(), "source": "urn:own", "type": eventType, "datacontenttype": "application/xml"}, document, event.Limits{})
	must(s.t, err)
	if _, err := s.engine.Accept(s.t.Context(), outbox.Submission{ClientID: "own", PartnerID: s.self.ID, FromOwn: true, Events: []event.Event{ev}}); err != nil {
		s.t.Fatal(err)
	}
}

// message waits for a message with a MsgId to be in one of some states.
func (s *side) message(direction, kind, msgID string, states ...string) store.AMQPMessage {
	s.t.Helper()
	var found store.AMQPMessage
	s.eventually(fmt.Sprintf("%s: a message %s %s %s in %v", s.name, direction, kind, msgID, states), func() (bool, string) {
		rows, _, err := s.db.AMQPMessages(s.t.Context(), store.AMQPFilter{Direction: direction, Kinds: []string{kind}, ID: msgID})
		must(s.t, err)
		for _, m := range rows {
			if slices.Contains(states, m.Status) {
				found = m
				return true, ""
			}
		}
		return false, s.all()
	})
	return found
}

func (s *side) all() string {
	rows, _, err := s.db.AMQPMessages(context.Background(), store.AMQPFilter{})
	text := fmt.Sprint(err, "\n")
	for _, m := range rows {
		text += fmt.Sprintf("%s %s %s %q %s %s %s msg=%s %v\n", m.Direction, m.Kind, m.Status, m.Reason, m.Detail, m.Queue, m.MessageID, m.MsgID, m.Codes)
	}
	deliveries, _, _ := s.db.Deliveries(context.Background(), store.DeliveryFilter{})
	for _, d := range deliveries {
		text += fmt.Sprintf("delivery %s %s %s %s\n", d.EventType, d.Status, d.Reason, d.Detail)
	}
	return text
}

// giveUp ends a failing test. An answer waits for as long again as its broker was away, however long that was.
const giveUp = 5 * time.Minute

// eventually waits for something that must come to pass; how long that takes decides nothing.
func (s *side) eventually(what string, ok func() (bool, string)) {
	s.t.Helper()
	deadline := time.Now().Add(giveUp)
	for {
		done, last := ok()
		if done {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("did not come to pass: %s; last:\n%s", what, last)
		}
		<-time.After(20 * time.Millisecond)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
