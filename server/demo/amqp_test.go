package demo

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"schakel/delivery/amqp/msghead"
	"schakel/delivery/amqp/xsd"
	registryamqp "schakel/registry/amqp"
	"schakel/registry/contracts/contract"
	"schakel/store"
)

// TestDialogueContract holds the example document against what the program asks of any.
func TestDialogueContract(t *testing.T) {
	t.Parallel()
	doc, findings, err := contract.Parse(dialogueDocument, contract.Limits{})
	if err != nil || doc == nil {
		t.Fatalf("%v, %v", findings, err)
	}
	for _, f := range doc.Validate() {
		t.Errorf("%d:%d %s %s", f.Line, f.Column, f.Code, f.Detail)
	}
	types := map[string]bool{}
	for _, e := range doc.EventTypes() {
		types[e.Type] = true
		if len(e.Schema) == 0 || len(e.Example) == 0 || e.ContentType != "application/xml" {
			t.Errorf("%s: %s %s %s", e.Type, e.Schema, e.Example, e.ContentType)
		}
	}
	for _, name := range []string{TypeMessageSent, TypeMessageReceived, TypeReferralSent, TypeTrialSent, TypeQuestionAsked, TypeQuestionReplied} {
		if !types[name] {
			t.Errorf("the contract has no %s", name)
		}
	}
}

func newExchange(t *testing.T, a, b *Chain, receiver *Receiver) *Exchange {
	t.Helper()
	authority, err := NewAuthority(time.Now)
	if err != nil {
		t.Fatal(err)
	}
	broker := registryamqp.BrokerInput{
		Name: "RabbitMQ", Dialect: store.AMQPRabbitMQ4, URL: "amqp://127.0.0.1:5672", SASL: store.AMQPPlain, Username: "guest", Password: "guest", Enabled: true,
	}
	x, err := NewExchange(authority, broker, a, b, receiver)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestHouseRules wants the second Schakel's schemas to refuse what is too long, and nothing else.
func TestHouseRules(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := WriteSchemas(dir); err != nil {
		t.Fatal(err)
	}
	set, err := xsd.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{"short": 0, strings.Repeat("x", 400): 0, strings.Repeat("x", 401): 1} {
		l := letter{from: Identity{Name: "A", HerID: HerA}, to: Identity{Name: "B", HerID: HerB}, subject: subjectMessage, id: uuid.NewString(), text: text}
		document, err := l.write(time.Now())
		if err != nil {
			t.Fatal(err)
		}
		found, err := set.Validate(t.Context(), document)
		if err != nil || len(found) != want {
			t.Errorf("%d characters: %v, %v", len(text), found, err)
		}
	}
}

// TestSeedExchange agrees the dialogue in two Schakels.
func TestSeedExchange(t *testing.T) {
	t.Parallel()
	a, b := newChain(t, OwnA(), "http://a.example"), newChain(t, OwnB(), "http://b.example")
	receiver := NewReceiver("http://127.0.0.1:1", time.Now)
	if _, err := Seed(t.Context(), a, b, "http://a.example", "http://b.example", receiver); err != nil {
		t.Fatal(err)
	}
	x := newExchange(t, a, b, receiver)
	if err := x.Seed(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		chain              *Chain
		parties, processes int
	}{{a, 3, 4}, {b, 2, 2}} {
		parties, err := c.chain.AMQP.Parties(t.Context(), c.chain.Admin.Scope(), "")
		if err != nil || len(parties) != c.parties {
			t.Errorf("%d parties, %v", len(parties), err)
		}
		processes := 0
		for _, p := range parties {
			certificates, err := c.chain.AMQP.Certificates(t.Context(), c.chain.Admin.Scope(), p.ID)
			if err != nil || len(certificates) != 2 {
				t.Errorf("%s has %d certificates, %v", p.Name, len(certificates), err)
			}
			list, err := c.chain.AMQP.Processes(t.Context(), c.chain.Admin.Scope(), p.ID)
			if err != nil {
				t.Error(err)
			}
			processes += len(list)
		}
		if processes != c.processes {
			t.Errorf("%d processes, want %d", processes, c.processes)
		}
	}
}

// TestDialogueTurns wants each kind of message at the start, and what goes wrong now and then after that.
func TestDialogueTurns(t *testing.T) {
	t.Parallel()
	d := &Dialogue{}
	if len(d.first()) != 6 {
		t.Errorf("%d first steps", len(d.first()))
	}
	for n := range 200 {
		if d.next(n) == nil {
			t.Errorf("no step %d", n)
		}
	}
}

// TestReply answers a question with one of its sender's.
func TestReply(t *testing.T) {
	t.Parallel()
	r := NewReceiver("http://127.0.0.1:1", time.Now)
	l := letter{from: Identity{Name: "A", HerID: HerA}, to: Identity{Name: "B", HerID: HerB}, subject: subjectQuestion, id: uuid.NewString(), text: "When?"}
	asked, err := l.write(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	raw, err := r.reply(string(asked), "")
	if err != nil {
		t.Fatal(err)
	}
	got, err := msghead.Parse(raw)
	if err != nil || got.Info.Sender.HerID() != HerB || got.Info.Receiver.HerID() != HerA || got.Info.Conversation.RefToParent != l.id {
		t.Errorf("%+v, %v", got.Info, err)
	}
	if _, err := r.reply("", "no base64"); err == nil {
		t.Error("what cannot be read was answered")
	}
}
