package demo

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"time"

	registryamqp "schakel/registry/amqp"
	"schakel/registry/amqp/cpa"
	"schakel/registry/contracts"
	"schakel/registry/partners"
	"schakel/store"
)

// DialogueContract is the contract of the events that go and come by AMQP.
const DialogueContract = "dialoog-events"

// Event types that the contract of the dialogue defines.
const (
	TypeMessageSent     = "nl.voorbeeld.dialoog.bericht-verstuurd.v1"
	TypeMessageReceived = "nl.voorbeeld.dialoog.bericht-ontvangen.v1"
	TypeReferralSent    = "nl.voorbeeld.dialoog.verwijzing-verstuurd.v1" // to who never answers
	TypeTrialSent       = "nl.voorbeeld.dialoog.proef-verstuurd.v1"      // to who has no process for it
	TypeQuestionAsked   = "nl.voorbeeld.dialoog.vraag-gesteld.v1"
	TypeQuestionReplied = "nl.voorbeeld.dialoog.vraag-beantwoord.v1"
)

// HER-ids of the parties.
const (
	HerA     = 100 // of the first Schakel
	HerB     = 200 // of the second
	HerQuiet = 300 // of a practice whose system is out of order: nobody reads its queues
)

// Quiet is the organisation whose system never answers.
func Quiet() Organisation {
	return Organisation{Name: "Legekontoret Brua", OrgNumber: "312345676", HerID: strconv.Itoa(HerQuiet), Contact: "Kari Nordli", Email: "kari@brua.example"}
}

// quietWait is after how long its AppRecs are overdue: the shortest that is allowed (AMQP-117).
const quietWait = time.Minute

// Subjects of code list 8279 in the dialogue.
const (
	subjectMessage  = "DIALOG_INNBYGGER_EKONTAKT"
	subjectReferral = "DIALOG_HELSEFAGLIG"
	subjectTrial    = "DIALOG_INNBYGGER_TEST"
	subjectQuestion = "DIALOG_INNBYGGER_TIMER"
)

//go:embed dialoog-events.yaml
var dialogueDocument []byte

// Exchange is a message broker with three parties on it.
type Exchange struct {
	Broker   registryamqp.BrokerInput
	A, B     *Chain
	Receiver *Receiver

	PartyA, PartyB, Quiet Identity
}

// NewExchange issues the certificates of the parties.
func NewExchange(authority *Authority, broker registryamqp.BrokerInput, a, b *Chain, receiver *Receiver) (*Exchange, error) {
	x := &Exchange{Broker: broker, A: a, B: b, Receiver: receiver}
	for _, p := range []struct {
		into *Identity
		name string
		her  int
	}{{&x.PartyA, OwnA().Name, HerA}, {&x.PartyB, OwnB().Name, HerB}, {&x.Quiet, Quiet().Name, HerQuiet}} {
		var err error
		if *p.into, err = authority.Identity(p.name, p.her); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// Seed agrees the dialogue in both Schakels, while they run: the contract, the broker, the parties with their
// certificates, the processes, and who subscribes to what.
func (x *Exchange) Seed(ctx context.Context) error {
	a, err := x.join(ctx, x.A, x.PartyA)
	if err != nil {
		return err
	}
	b, err := x.join(ctx, x.B, x.PartyB)
	if err != nil {
		return err
	}
	handler, err := x.B.Endpoint(ctx, x.B.Admin, x.Receiver.Target("Appointment desk (answers at once)", HookAnswers))
	if err != nil {
		return err
	}
	if err := x.seedA(ctx, a); err != nil {
		return err
	}
	return x.meet(ctx, b, x.B, OwnA().Number(), counterpart{
		Identity: x.PartyA, subscribes: []string{TypeMessageSent},
		processes: []registryamqp.ProcessInput{
			dialogueProcess(), {Name: "Appointments", Subject: subjectQuestion, Mode: store.AMQPSync, Receives: TypeQuestionAsked, HandlerID: handler.ID},
		},
	})
}

// seedA agrees what the first Schakel does with the second, and with the practice that never answers.
func (x *Exchange) seedA(ctx context.Context, a agreed) error {
	if _, _, err := x.A.Approved(ctx, Quiet()); err != nil {
		return err
	}
	err := x.meet(ctx, a, x.A, OwnB().Number(), counterpart{
		Identity: x.PartyB, subscribes: []string{TypeMessageSent, TypeTrialSent, TypeQuestionAsked},
		processes: []registryamqp.ProcessInput{
			dialogueProcess(),
			{Name: "Trial messages", Subject: subjectTrial, Mode: store.AMQPAsync, Sends: TypeTrialSent},
			{Name: "Appointments", Subject: subjectQuestion, Mode: store.AMQPSync, Sends: TypeQuestionAsked, Receives: TypeQuestionReplied},
		},
	})
	if err != nil {
		return err
	}
	return x.meet(ctx, a, x.A, Quiet().Number(), counterpart{
		Identity: x.Quiet, subscribes: []string{TypeReferralSent}, wait: quietWait,
		processes: []registryamqp.ProcessInput{{
			Name: "Referrals", Subject: subjectReferral, Mode: store.AMQPAsync, Sends: TypeReferralSent, Receives: TypeMessageReceived,
		}},
	})
}

func dialogueProcess() registryamqp.ProcessInput {
	return registryamqp.ProcessInput{
		Name: "Dialogue", Subject: subjectMessage, Mode: store.AMQPAsync, CPAID: "demo-100-200", Service: "Dialogue", Action: "Message",
		FromRole: "Practice", ToRole: "Practice", Sends: TypeMessageSent, Receives: TypeMessageReceived,
	}
}

// subjectText gives the name of a subject in a message.
func subjectText(code string) string { return cpa.Subjects()[code] }

// agreed holds the side of one Schakel in an exchange.
type agreed struct{ broker, party string }

// join makes a Schakel a party of the exchange, whose system gets what comes in.
func (x *Exchange) join(ctx context.Context, c *Chain, me Identity) (agreed, error) {
	if err := publishContract(ctx, c.Services, c.Admin, contracts.ContractInput{
		ID: DialogueContract, Kind: "asyncapi", Title: "Dialoogberichten (example)",
		Description:    "Example, made for this demonstration: events whose data is a business message of a health exchange.",
		Classification: "persoonsgegevens, vertrouwelijk",
	}, "dialoog-events.yaml", dialogueDocument); err != nil {
		return agreed{}, err
	}
	broker, err := c.AMQP.CreateBroker(ctx, c.Admin, x.Broker)
	if err != nil {
		return agreed{}, fmt.Errorf("add broker: %w", err)
	}
	party, err := c.AMQP.CreateOwnParty(ctx, c.Admin, partyInput(me, broker.ID))
	if err != nil {
		return agreed{}, fmt.Errorf("add own party: %w", err)
	}
	certificates, keys, err := me.PEM()
	if err != nil {
		return agreed{}, err
	}
	if _, err := c.AMQP.AddCertificates(ctx, c.Admin, party.ID, certificates, keys); err != nil {
		return agreed{}, fmt.Errorf("add own certificates: %w", err)
	}
	_, err = c.Subscribe(ctx, c.Admin, x.Receiver.Target("Dialogue system", "dialogue"), TypeMessageReceived, TypeQuestionReplied)
	return agreed{broker.ID, party.ID}, err
}

func partyInput(i Identity, broker string) registryamqp.PartyInput {
	return registryamqp.PartyInput{BrokerID: broker, Kind: store.AMQPHealth, Name: i.Name, HerID: int64(i.HerID), Enabled: true}
}

// counterpart holds the agreements with another party.
type counterpart struct {
	Identity
	subscribes []string
	processes  []registryamqp.ProcessInput
	wait       time.Duration
}

// meet makes a partner a counterpart: an endpoint of queues, its party with certificates, processes and a subscription.
func (x *Exchange) meet(ctx context.Context, mine agreed, c *Chain, number string, with counterpart) error {
	found, _, err := c.Partners.List(ctx, c.Admin, store.PartnerFilter{Search: number})
	if err != nil || len(found) != 1 {
		return fmt.Errorf("find %s: %d partners, %w", with.Name, len(found), err)
	}
	endpoint, err := c.Endpoints.Create(ctx, c.Admin, found[0].ID, partners.EndpointInput{Name: "Health exchange", Kind: store.EndpointAMQP})
	if err != nil {
		return fmt.Errorf("add endpoint of %s: %w", with.Name, err)
	}
	in := partyInput(with.Identity, mine.broker)
	in.AnswerWait = with.wait
	party, err := c.AMQP.CreateCounterpart(ctx, c.Admin, endpoint.ID, in)
	if err != nil {
		return fmt.Errorf("add party of %s: %w", with.Name, err)
	}
	certificates, _, err := with.PEM()
	if err != nil {
		return err
	}
	if _, err := c.AMQP.AddCertificates(ctx, c.Admin, party.ID, certificates, ""); err != nil {
		return fmt.Errorf("add certificates of %s: %w", with.Name, err)
	}
	for _, process := range with.processes {
		process.OwnPartyID = mine.party
		if _, err := c.AMQP.AddProcess(ctx, c.Admin, party.ID, process); err != nil {
			return fmt.Errorf("add process %s with %s: %w", process.Name, with.Name, err)
		}
	}
	sub, err := c.Request(ctx, c.Admin, endpoint.ID, with.subscribes...)
	if err != nil {
		return err
	}
	return c.Subscriptions.Approve(ctx, c.Admin, sub.ID)
}
