package demo

import (
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/Azure/go-amqp"
	"github.com/google/uuid"
	"schakel/delivery/amqp/cms"
	"schakel/delivery/amqp/message"
	"schakel/delivery/amqp/msghead"
)

// parentHer gives the difference between the HER-id of an organisation and that of its service.
const parentHer = 1_000_000

// letter is a business message that is made up.
type letter struct {
	from, to Identity
	subject  string
	id       string // MsgId
	text     string
	answers  string // the MsgId that it answers, which began the conversation
}

// write makes the document.
func (l letter) write(now time.Time) ([]byte, error) {
	draft := msghead.Draft{
		Type: msghead.Code{V: l.subject, DN: subjectText(l.subject)}, MsgID: l.id, Generated: now,
		Sender: headParty(l.from), Receiver: headParty(l.to), Topic: msghead.Code{V: "BA", DN: "Question"}, Question: l.text,
	}
	if l.answers != "" {
		draft.Conversation = msghead.Conversation{RefToParent: l.answers, RefToConversation: l.answers}
	}
	document, err := msghead.Compose(draft)
	if err != nil {
		return nil, fmt.Errorf("write message of %s: %w", l.from.Name, err)
	}
	return document, nil
}

func headParty(i Identity) msghead.Party {
	return msghead.Party{
		Organisation: msghead.Unit{Name: i.Name, Idents: her(i.HerID + parentHer)},
		Unit:         &msghead.Unit{Name: "Dialogue of " + i.Name, Idents: her(i.HerID)},
	}
}

func her(id int) []msghead.Ident {
	return []msghead.Ident{{ID: strconv.Itoa(id), Type: msghead.Code{V: msghead.TypeHER}}}
}

var (
	//go:embed amqp-house-rules.xsd
	houseRules []byte
	//go:embed amqp-house-question.xsd
	houseQuestion []byte
)

// WriteSchemas writes the schemas of the second Schakel to a folder: house rules of its own, which the first does not know,
// so that it refuses some messages by a negative AppRec (AMQP-111).
func WriteSchemas(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("write schemas: %w", err)
	}
	for name, content := range map[string][]byte{"house-rules.xsd": houseRules, "house-question.xsd": houseQuestion} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return fmt.Errorf("write schemas: %w", err)
		}
	}
	return nil
}

// HookAnswers is the hook of the system that answers synchronous questions (AMQP-94).
const HookAnswers = "answers"

// question answers the message in an event with another.
func (r *Receiver) question(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, q.Body, 1<<20))
	var event struct {
		ID, Type, Data string
		Bytes          string `json:"data_base64"`
	}
	if err == nil {
		err = json.Unmarshal(body, &event)
	}
	status := r.judge(HookAnswers, event.ID, q.Header.Get("Authorization"))
	var reply []byte
	if err == nil && status == http.StatusAccepted {
		reply, err = r.reply(event.Data, event.Bytes)
	}
	if err != nil {
		status = http.StatusBadRequest
	}
	r.note(Received{r.now(), HookAnswers, event.Type, event.ID, status})
	if status != http.StatusAccepted {
		answer(w, status, map[string]any{"status": status, "title": http.StatusText(status), "detail": excuses()[status]})
		return
	}
	w.Header().Set("Content-Type", "application/xml")
	_, _ = w.Write(reply) // who asked and is gone needs no answer
}

// reply makes the answer to a message that is data as text or, when that is empty, in base64.
func (r *Receiver) reply(text, encoded string) ([]byte, error) {
	document := []byte(text)
	if text == "" {
		var err error
		if document, err = base64.StdEncoding.DecodeString(encoded); err != nil {
			return nil, fmt.Errorf("read question: %w", err)
		}
	}
	asked, err := msghead.Parse(document)
	if err != nil {
		return nil, fmt.Errorf("read question: %w", err)
	}
	if asked.Kind != msghead.MsgHead {
		return nil, errors.New("read question: it is a " + asked.Kind.String())
	}
	return msghead.Compose(msghead.Draft{
		Type: asked.Info.Type, MsgID: uuid.NewString(), Generated: r.now(), Sender: asked.Info.Receiver, Receiver: asked.Info.Sender,
		Conversation: msghead.Conversation{RefToParent: asked.Info.MsgID, RefToConversation: asked.Info.MsgID},
		Topic:        msghead.Code{V: "BA", DN: "Answer"}, Question: "The desk is open from eight to five.",
	})
}

// Writer writes messages to queues of a broker; *link.Connection is one.
type Writer interface {
	Send(ctx context.Context, queue string, m *amqp.Message) error
}

// unknownHer is a HER-id that nobody has.
const unknownHer = 999

// envelope is a message of the practice to the first Schakel, which may not agree with the letter in it.
type envelope struct {
	letter
	queue string // of the first Schakel, without its HER-id
	from  int    // HER-id on the envelope
}

// Foreign writes what the systems of others get wrong to the queues of the first Schakel: a message that its broker gave
// up on, so that it can be put back; one to somebody else, one of somebody else, and one of nobody who is known.
func (x *Exchange) Foreign(ctx context.Context, to Writer, now time.Time) error {
	good := letter{from: x.Quiet, to: x.PartyA, subject: subjectReferral, text: "The patient you referred was here."}
	lost, forged := good, good
	lost.to, forged.from = x.PartyB, x.PartyB
	for _, e := range []envelope{
		{good, "_dl", HerQuiet},
		{lost, "_async", HerQuiet},
		{forged, "_async", HerQuiet},
		{good, "_async", unknownHer},
	} {
		e.id = uuid.NewString()
		m, err := x.seal(e, now)
		if err != nil {
			return err
		}
		if err := to.Send(ctx, strconv.Itoa(HerA)+e.queue, m); err != nil {
			return fmt.Errorf("write message of %s: %w", x.Quiet.Name, err)
		}
	}
	return nil
}

// seal signs and encrypts a message and puts it in its envelope.
func (x *Exchange) seal(e envelope, now time.Time) (*amqp.Message, error) {
	document, err := e.write(now)
	if err != nil {
		return nil, err
	}
	body, err := cms.Seal(document, x.Quiet.Sign, x.PartyA.Encrypt.Certificate)
	if err != nil {
		return nil, fmt.Errorf("seal message of %s: %w", x.Quiet.Name, err)
	}
	id := uuid.NewString()
	m, err := message.Encode(message.Message{
		ID: id, CorrelationID: id, ConversationID: e.id, Subject: e.subject, ContentType: message.ContentSignedAndEncrypted,
		To: strconv.Itoa(HerA) + "_async", ReplyTo: strconv.Itoa(HerQuiet) + "_async",
		FromHerID: e.from, ToHerID: HerA, Timestamp: now, Durable: true, Body: body,
	})
	if err != nil {
		return nil, fmt.Errorf("write message of %s: %w", x.Quiet.Name, err)
	}
	return m, nil
}
