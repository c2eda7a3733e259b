package trial

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"strings"

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
