package demo

import (
	"context"
	_ "embed"
	"strconv"
	"time"

	registryamqp "schakel/registry/amqp"
	"schakel/registry/amqp/cpa"
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
