package amqp_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"schakel/delivery/amqp"
	"schakel/delivery/amqp/brokertest"
	"schakel/delivery/amqp/certs"
	"schakel/delivery/amqp/cms"
	"schakel/delivery/amqp/link"
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

// Send implements outbox.Transport.
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

// newIdentity makes a party with its queues and certificates.
func newIdentity(t testing.TB, broker *brokertest.Broker, pki *pkitest.PKI) identity {
	t.Helper()
	p := broker.NewParty(t)
	broker.Queue(t, fmt.Sprint(p.HerID, "_reply"), map[string]any{"x-queue-type": "classic", "x-message-ttl": 15000})
	return identityOf(p, pki)
}

// identityOf makes the certificates of a party whose queues are there.
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

// SealBytes implements amqp.Vault.
func (openVault) SealBytes(purpose string, plain []byte) []byte {
	return append([]byte("b1."+purpose+"."), plain...)
}

// OpenBytes implements amqp.Vault.
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
	if err := s.engine.Start(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	if err := s.bridge.Start(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
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
	if err := s.db.Write(context.Background(), fn); err != nil {
		s.t.Fatal(err)
	}
}
