package trial

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"schakel/delivery/amqp/msghead"
	"schakel/registry"
	registryamqp "schakel/registry/amqp"
	"schakel/registry/partners"
	"schakel/server/demo"
	"schakel/store"
)

// Event types of a dialogue between two parties of a health exchange, borrowed from the example contract: only the types of a
// contract can be subscribed to.
const (
	TypeMessageSent     = demo.TypeStudentChanged // a message of the program's own people
	TypeMessageReceived = demo.TypeEnrolled       // one of the other party
	TypeQuestionAsked   = demo.TypeStudentRemoved // a question that waits for its answer
	TypeQuestionAnswer  = demo.TypeUnenrolled     // a question of the other party, and the answer to one of ours
)

// Subjects of the dialogue, of code list 8279: of messages, and of questions that wait for their answer.
const (
	SubjectMessage  = "DIALOG_INNBYGGER_EKONTAKT"
	SubjectQuestion = "DIALOG_INNBYGGER_BEHANDLEROVERSIKT"
)

// AMQPIdentity is a party of a health exchange with its certificates.
type AMQPIdentity struct {
	HerID int64
	Pairs []tls.Certificate // each with its chain
}

// AMQPWorld holds the broker and the parties with which a program exchanges messages.
type AMQPWorld struct {
	URL, Username, Password string // of the broker
	Me, Other               AMQPIdentity
	Inbox                   demo.Target // gets what the other party sends
	Handler                 demo.Target // answers its questions; without a URL none are taken
}

// AMQPSide holds the agreements in one program.
type AMQPSide struct {
	World       AMQPWorld
	Publisher   demo.Credentials // may publish messages and questions
	Party       store.AMQPParty  // ours
	Counterpart store.AMQPParty
	Partner     registry.Actor // a contact of the other party
}

// JoinAMQP makes a program a party on a broker, as an administrator does: the broker, its own party with its keys, the
// other one with its certificates at an endpoint of its own, the processes of both, and the subscriptions.
func (s *Program) JoinAMQP(t T, c *demo.Chain, w AMQPWorld) AMQPSide {
	t.Helper()
	ctx, side := t.Context(), AMQPSide{World: w}
	Must(t, c.ChangeSettings(t.Context(), map[string]string{"sending.circuit_failures": "0"}))
	Must(t, demo.PublishContracts(ctx, c.Services, c.Admin))
	broker := Must1[store.AMQPBroker](t)(c.AMQP.CreateBroker(ctx, c.Admin, registryamqp.BrokerInput{
		Name: "Exchange", Dialect: store.AMQPRabbitMQ4, URL: w.URL, SASL: store.AMQPPlain, Username: w.Username, Password: w.Password, Enabled: true,
	}))
	side.Party = Must1[store.AMQPParty](t)(c.AMQP.CreateOwnParty(ctx, c.Admin, w.Me.party(broker.ID, s.Own.Name)))
	certificates, keys := w.Me.PEM(t)
	Must1[int](t)(c.AMQP.AddCertificates(ctx, c.Admin, side.Party.ID, certificates, keys))
	side.Publisher = Must1[demo.Credentials](t)(c.Publisher(ctx, c.Admin, s.Own))
	_, err := c.Subscribe(ctx, c.Admin, w.Inbox, TypeMessageReceived, TypeQuestionAnswer)
	Must(t, err)
	side.agree(t, c, broker.ID) // a process needs somebody who is subscribed to what it receives
	return side
}

// agree makes the other party, what is done together with it, and its subscription to what is sent.
func (a *AMQPSide) agree(t T, c *demo.Chain, broker string) {
	t.Helper()
	ctx := t.Context()
	var err error
	_, a.Partner, err = c.Approved(ctx, Organisation("Counterpart", "34567890"))
	Must(t, err)
	endpoint := Must1[store.Endpoint](t)(c.Endpoints.Create(ctx, a.Partner, "", partners.EndpointInput{Name: "Queues", Kind: store.EndpointAMQP, TimeoutSeconds: 8}))
	a.Counterpart = Must1[store.AMQPParty](t)(c.AMQP.CreateCounterpart(ctx, c.Admin, endpoint.ID, a.World.Other.party(broker, "Counterpart")))
	certificates, _ := a.World.Other.PEM(t)
	Must1[int](t)(c.AMQP.AddCertificates(ctx, c.Admin, a.Counterpart.ID, certificates, ""))
	handler := ""
	if a.World.Handler.URL != "" {
		handler = Must1[store.Endpoint](t)(c.Endpoint(ctx, c.Admin, a.World.Handler)).ID
	}
	for _, in := range []registryamqp.ProcessInput{
		{Name: "Messages", Subject: SubjectMessage, Mode: store.AMQPAsync, Sends: TypeMessageSent, Receives: TypeMessageReceived},
		{Name: "Questions", Subject: SubjectQuestion, Mode: store.AMQPSync, Sends: TypeQuestionAsked, Receives: TypeQuestionAnswer, HandlerID: handler},
	} {
		in.OwnPartyID = a.Party.ID
		_, err := c.AMQP.AddProcess(ctx, c.Admin, a.Counterpart.ID, in)
		Must(t, err)
	}
	sub := Must1[store.Subscription](t)(c.Request(ctx, a.Partner, endpoint.ID, TypeMessageSent, TypeQuestionAsked))
	Must(t, c.Subscriptions.Approve(ctx, c.Admin, sub.ID))
}

func (i AMQPIdentity) party(broker, name string) registryamqp.PartyInput {
	return registryamqp.PartyInput{BrokerID: broker, Kind: store.AMQPHealth, Name: name, HerID: i.HerID, Enabled: true}
}

// PEM writes the certificates with their chains, and their keys.
func (i AMQPIdentity) PEM(t T) (certificates, keys string) {
	t.Helper()
	var c, k strings.Builder
	for _, pair := range i.Pairs {
		for _, der := range pair.Certificate {
			Must(t, pem.Encode(&c, &pem.Block{Type: "CERTIFICATE", Bytes: der}))
		}
		der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
		Must(t, err)
		Must(t, pem.Encode(&k, &pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	}
	return c.String(), k.String()
}

// AMQPExchange is a broker with the identities of two parties, whose queues are on it.
type AMQPExchange struct {
	URLs               [2]string // of the broker, for each program; a proxy may stand between
	Username, Password string
	Root               *x509.Certificate // of enterprise certificates
	Parties            [2]AMQPIdentity
}

// AMQPMember is one of two programs that exchange messages.
type AMQPMember struct {
	*Program
	AMQPSide
	Ledger *Ledger // MsgIds of what it published
	Inbox  string  // path of the receiver for what it gets
}

// AMQPPair is two programs that exchange messages as parties of one broker, and the systems behind both.
type AMQPPair struct {
	PKI      *PKI
	Receiver *Receiver
	A, B     *AMQPMember
}

// NewAMQPPair makes two programs, one on each of the databases, that are not started.
func NewAMQPPair(t T, x AMQPExchange, databases [2]string, more ...string) *AMQPPair {
	t.Helper()
	pki := NewPKI(t)
	p := &AMQPPair{PKI: pki, Receiver: NewReceiver(t, pki)}
	args := append([]string{"--amqp-trust", writePEM(t, t.TempDir(), "root.pem", "CERTIFICATE", x.Root.Raw)}, more...)
	p.A = p.member(t, x, 0, demo.OwnA(), databases[0], args)
	p.B = p.member(t, x, 1, demo.OwnB(), databases[1], args)
	return p
}

func (p *AMQPPair) member(t T, x AMQPExchange, n int, own demo.Organisation, database string, args []string) *AMQPMember {
	t.Helper()
	root := fmt.Sprintf("/her-%d", x.Parties[n].HerID)
	m := &AMQPMember{Program: NewProgram(t, p.PKI, own, database, args...), Ledger: NewLedger(), Inbox: root + "/inbox"}
	m.SetUp(t, func(c *demo.Chain) {
		m.AMQPSide = m.JoinAMQP(t, c, AMQPWorld{
			URL: x.URLs[n], Username: x.Username, Password: x.Password, Me: x.Parties[n], Other: x.Parties[1-n],
			Inbox: p.Receiver.Target("Inbox", m.Inbox), Handler: p.Receiver.Target("Handler", root+"/handler"),
		})
	})
	return m
}

// Handler is the path of the receiver where a member's questions are answered.
func (m *AMQPMember) Handler() string { return path.Dir(m.Inbox) + "/handler" }

// Members lists both.
func (p *AMQPPair) Members() []*AMQPMember { return []*AMQPMember{p.A, p.B} }

// Correspondents make several publishers for each member.
func (p *AMQPPair) Correspondents(each int, pause time.Duration) (all []*Correspondent) {
	for _, m := range p.Members() {
		for range each {
			all = append(all, &Correspondent{Program: m.Program, Side: m.AMQPSide, Ledger: m.Ledger, Pause: pause})
		}
	}
	return all
}

// Settle waits until both programs have nothing to do any more and wait for nothing. It gives up when nothing changes for
// longer than an answer waits for its next try.
func (p *AMQPPair) Settle(t T) {
	t.Helper()
	const patience = 11 * time.Minute
	last, since := "", time.Now()
	for {
		a, saidA := p.A.UnsettledAMQP(t)
		b, saidB := p.B.UnsettledAMQP(t)
		said := p.A.Own.Name + ": " + saidA + "; " + p.B.Own.Name + ": " + saidB
		if a+b == 0 {
			return
		}
		if said != last {
			last, since = said, time.Now()
		}
		if time.Since(since) > patience {
			t.Fatalf("not settled: %s", said)
		}
		Pause(200 * time.Millisecond)
	}
}

// Compare holds the ledgers of both directions against what there is.
func (p *AMQPPair) Compare(t T) (ab, ba AMQPAccount) {
	t.Helper()
	return p.A.Ledger.CompareAMQP(t, p.A.Program, p.B.Program, p.Receiver, p.B.Inbox),
		p.B.Ledger.CompareAMQP(t, p.B.Program, p.A.Program, p.Receiver, p.A.Inbox)
}

// NewMessage makes a business message from one party to another.
func NewMessage(t T, subject, msgID string, from, to int64) []byte {
	t.Helper()
	return Must1[[]byte](t)(msghead.Compose(msghead.Draft{
		Type: msghead.Code{V: subject, DN: "Dialog"}, MsgID: msgID, Generated: time.Now(),
		Sender: headParty(from), Receiver: headParty(to), Topic: msghead.Code{V: "BA"}, Question: "Kan du komme?",
	}))
}

func headParty(her int64) msghead.Party {
	unit := func(name string, her int64) msghead.Unit {
		return msghead.Unit{Name: name, Idents: []msghead.Ident{{ID: fmt.Sprint(her), Type: msghead.Code{V: msghead.TypeHER}}}}
	}
	own := unit("Unit", her)
	return msghead.Party{Organisation: unit("Organisation", her+1_000_000), Unit: &own}
}

// PublishMessage publishes a business message in binary mode and returns the answer. The same key is the same request.
func (s *Program) PublishMessage(access, eventType, msgID, key string, document []byte) (Answer, error) {
	return s.Try(http.MethodPost, "/events/v1/events", access, map[string]string{
		"Content-Type": "application/xml", "Idempotency-Key": `"` + key + `"`,
		"Ce-Specversion": "1.0", "Ce-Id": msgID, "Ce-Source": s.Own.Source(), "Ce-Type": eventType,
	}, document)
}

// Correspondent publishes business messages of a side, one after another, until it is told to stop. A request without an
// answer that settles it is repeated with its key. Its ledger has the MsgIds of those that were answered 202.
type Correspondent struct {
	Program *Program
	Side    AMQPSide
	Ledger  *Ledger
	Pause   time.Duration // between two messages

	msgID, key string // of the request that has no answer yet
	document   []byte
}

// Run publishes until done is closed.
func (p *Correspondent) Run(t T, access string, done <-chan struct{}) {
	for !t.Failed() {
		p.step(t, access)
		select {
		case <-done:
			return
		case <-time.After(p.Pause):
		}
	}
}

func (p *Correspondent) step(t T, access string) {
	if p.msgID == "" {
		p.msgID, p.key = uuid.NewString(), uuid.NewString()
		p.document = NewMessage(t, SubjectMessage, p.msgID, p.Side.Party.HerID, p.Side.Counterpart.HerID)
	}
	answer, err := p.Program.PublishMessage(access, TypeMessageSent, p.msgID, p.key, p.document)
	p.Ledger.answered(answer.Status)
	switch {
	case err != nil: // the program is gone, or its answer is
	case answer.Status == http.StatusAccepted:
		p.Ledger.Add([]string{p.msgID})
		p.msgID = ""
	case answer.Status == http.StatusConflict || answer.Status == http.StatusServiceUnavailable || answer.Status == http.StatusTooManyRequests:
	default:
		t.Errorf("publish: %d %s", answer.Status, answer.Body)
	}
}

// Correspondence lets correspondents publish until the function it gives is called, which returns when they have stopped.
func Correspondence(t T, all ...*Correspondent) (stop func()) {
	t.Helper()
	done := make(chan struct{})
	var running sync.WaitGroup
	for _, p := range all {
		access := p.Program.Token(t, p.Side.Publisher, "events.publish")
		running.Go(func() { p.Run(t, access, done) })
	}
	return sync.OnceFunc(func() {
		close(done)
		running.Wait()
	})
}
