package amqp_test

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	goamqp "github.com/Azure/go-amqp"
	"github.com/google/uuid"
	"schakel/delivery/amqp"
	"schakel/delivery/amqp/cms"
	"schakel/delivery/amqp/message"
	"schakel/delivery/amqp/msghead"
	"schakel/delivery/event"
	"schakel/delivery/outbox"
	"schakel/store"
)

// TestDialogue carries a request, its AppRec, an answer and its AppRec between two Schakels.
//
// Rules: AMQP-01, AMQP-09, AMQP-14, AMQP-15, AMQP-16, AMQP-34, AMQP-77, AMQP-78, AMQP-82, AMQP-86, AMQP-88.
func TestDialogue(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	request, answer := uuid.NewString(), uuid.NewString()
	p.a.publish(typeOut, dialogue(t, p.a.me, p.b.me, request))
	sent := p.a.message(store.AMQPOut, store.AMQPBusiness, request, store.AMQPAcknowledged)
	got := p.b.message(store.AMQPIn, store.AMQPBusiness, request, store.AMQPProcessed)
	if got.MessageID != sent.MessageID || got.ConversationID != sent.ConversationID || got.Her != int64(p.a.me.HerID) || sent.MsgID == sent.MessageID {
		t.Errorf("sent %+v\ngot %+v", sent, got)
	}
	p.b.publish(typeOut, dialogue(t, p.b.me, p.a.me, answer))
	p.b.message(store.AMQPOut, store.AMQPBusiness, answer, store.AMQPAcknowledged)
	p.a.message(store.AMQPIn, store.AMQPBusiness, answer, store.AMQPProcessed)

	p.b.eventually("the event of the request", func() (bool, string) { return len(p.b.inbox.events(typeIn)) == 1, p.b.all() })
	ev := p.b.inbox.events(typeIn)[0]
	if ev.CEID != request || string(ev.Data) != string(dialogueOf(t, p, request, ev)) {
		t.Errorf("event %s %s", ev.CEID, ev.Data)
	}
	steps, err := p.b.db.AMQPTraces(t.Context(), got.ID)
	if err != nil || len(steps) < 3 || steps[0].Step != "read" || steps[0].Node != "b" {
		t.Errorf("trace %+v, %v", steps, err)
	}
	for _, s := range []*side{p.a, p.b} {
		n, err := s.db.CountAMQPMessages(t.Context(), store.AMQPFilter{Kinds: []string{store.AMQPAppRec}})
		if err != nil || n != 2 {
			t.Errorf("%s: %d AppRecs, %v", s.name, n, err)
		}
	}
}

// dialogueOf is the data of the event as it was published: byte for byte.
func dialogueOf(t *testing.T, p *pair, _ string, ev store.Event) []byte {
	t.Helper()
	rows, _, err := p.a.db.AMQPMessages(t.Context(), store.AMQPFilter{Direction: store.AMQPOut, Kinds: []string{store.AMQPBusiness}})
	if err != nil || len(rows) != 1 {
		t.Fatalf("%d messages, %v", len(rows), err)
	}
	sent, err := p.a.db.Event(t.Context(), rows[0].EventID)
	if err != nil || len(ev.Data) == 0 {
		t.Fatal(err)
	}
	return sent.Data
}

// TestSynchronous asks and answers in real time.
//
// Rules: AMQP-17, AMQP-24, AMQP-90, AMQP-92, AMQP-94, AMQP-95, AMQP-96, AMQP-97.
func TestSynchronous(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	question, reply := uuid.NewString(), uuid.NewString()
	p.b.handle = func(e *event.Event) ([]byte, error) {
		if e.ID != question {
			return nil, errors.New("another question")
		}
		return dialogue(t, p.b.me, p.a.me, reply), nil
	}
	p.a.publish(typeAsk, dialogue(t, p.a.me, p.b.me, question))
	asked := p.a.message(store.AMQPOut, store.AMQPRequest, question, store.AMQPAcknowledged)
	p.a.eventually("the event of the answer", func() (bool, string) { return len(p.a.inbox.events(typeReply)) == 1, p.a.all() })
	if ev := p.a.inbox.events(typeReply)[0]; ev.CEID != reply {
		t.Errorf("answer %s", ev.CEID)
	}
	if asked.CorrelationID != asked.MessageID {
		t.Errorf("%+v", asked)
	}
	p.b.message(store.AMQPIn, store.AMQPRequest, question, store.AMQPProcessed)
	n, err := p.b.db.CountAMQPMessages(t.Context(), store.AMQPFilter{Kinds: []string{store.AMQPAppRec}})
	if err != nil || n != 0 {
		t.Errorf("%d AppRecs to a synchronous question, %v", n, err)
	}

	p.b.handle = nil // an error code is an answer too
	again := uuid.NewString()
	p.a.publish(typeAsk, dialogue(t, p.a.me, p.b.me, again))
	p.a.message(store.AMQPOut, store.AMQPRequest, again, store.AMQPRejected)
}

// TestLargeMessage sends a business message that is oversize data of its event, and takes it in whole.
//
// Rules: AMQP-41, EDU-01a.
func TestLargeMessage(t *testing.T) {
	t.Parallel()
	p := newPair(t, func(c *amqp.Config) { c.Limits = event.Limits{EventBytes: 32 << 20} })
	doc, err := msghead.Compose(msghead.Draft{
		Type: msghead.Code{V: subjectDialogue}, MsgID: uuid.NewString(), Generated: time.Now(), Sender: headParty(p.a.me.HerID), Receiver: headParty(p.b.me.HerID),
		Topic: msghead.Code{V: "BA"}, Question: "With a picture.", Attachment: make([]byte, 2<<20),
	})
	must(t, err)
	id := p.a.db.NewID("obj")
	must(t, p.a.db.PutObject(t.Context(), store.Object{ID: id, PartnerID: p.a.self.ID, ContentType: "application/xml", Size: int64(len(doc)), Digest: make([]byte, 32)}, doc))
	ev, err := event.New(map[string]string{
		"id": uuid.NewString(), "source": "urn:own", "type": typeOut, "datacontenttype": "application/xml", "dataref": "https://a.example/objects/" + id,
	}, nil, event.Limits{})
	must(t, err)
	if _, err := p.a.engine.Accept(t.Context(), outbox.Submission{ClientID: "own", PartnerID: p.a.self.ID, FromOwn: true, Events: []event.Event{ev}, Objects: []string{id}}); err != nil {
		t.Fatal(err)
	}
	p.b.eventually("the large message", func() (bool, string) { return len(p.b.inbox.events(typeIn)) == 1, p.b.all() })
	if got := p.b.inbox.events(typeIn)[0]; !bytes.Equal(got.Data, doc) {
		t.Errorf("%d bytes came of %d", len(got.Data), len(doc))
	}
}

// TestCorrelation sends messages with every kind of correlationId: the AppRec and the AMQP error go out, with that
// correlationId of that type.
//
// Rules: AMQP-24, AMQP-86, AMQP-140
func TestCorrelation(t *testing.T) {
	t.Parallel()
	a := simple(t)
	id := uuid.New()
	for name, value := range map[string]any{
		"text":                  "order 12 / a",
		"text in white space":   "  padded\t",
		"text with line breaks": "one\ntwo\r\n",
		"text beyond ASCII":     "bestilling nr. 7 – øl 🍺",
		"long text":             strings.Repeat("x", 5000),
		"number":                uint64(1 << 63),
		"zero":                  uint64(0),
		"binary":                []byte{0, 1, 2, 0xff, 0xfe},
		"binary of 16 bytes":    id[:],
		"binary text":           []byte("plain"),
		"UUID":                  goamqp.UUID(id),
		"UUID as text":          id.String(),
		"UUID in capitals":      strings.ToUpper(id.String()),
		"UUID without dashes":   strings.ReplaceAll(id.String(), "-", ""),
		"UUID in braces":        "{" + id.String() + "}",
		"UUID as URN":           "urn:uuid:" + id.String(),
	} {
		t.Run(name, func(t *testing.T) {
			msgID := uuid.NewString()
			m := letter(t, a.peer, a.b.me, dialogue(t, a.peer, a.b.me, msgID), uuid.NewString())
			m.Properties.CorrelationID = value
			send(t, a.wire, a.b.me.Async, m)
			a.b.message(store.AMQPOut, store.AMQPAppRec, msgID, store.AMQPSent)
			got := take(t, a.wire, a.peer.Async, 1)[0]
			if !reflect.DeepEqual(got.Properties.CorrelationID, value) {
				t.Errorf("the AppRec has correlationId %T %.60v, want %T %.60v", got.Properties.CorrelationID, got.Properties.CorrelationID, value, value)
			}
			bad := letter(t, a.peer, a.b.me, []byte("<a/>"), uuid.NewString())
			bad.Properties.CorrelationID = value
			send(t, a.wire, a.b.me.Async, bad)
			got = take(t, a.wire, a.peer.Error, 1)[0]
			if !reflect.DeepEqual(got.Properties.CorrelationID, value) || got.ApplicationProperties["errorCondition"] != string(message.NotWellFormedXML) {
				t.Errorf("the error has correlationId %T %.60v, want %T %.60v", got.Properties.CorrelationID, got.Properties.CorrelationID, value, value)
			}
		})
	}
}

// TestCorrelationOfReply: the answer to a synchronous request has the correlationId of the request, of its type.
//
// Rules: AMQP-24, AMQP-27, AMQP-94
func TestCorrelationOfReply(t *testing.T) {
	t.Parallel()
	a := simple(t)
	m := letter(t, a.peer, a.b.me, dialogue(t, a.peer, a.b.me, uuid.NewString()), uuid.NewString())
	subject := subjectQuestion
	m.Properties.Subject, m.Properties.CorrelationID = &subject, uint64(7)
	send(t, a.wire, a.b.me.Sync, m)
	if got := take(t, a.wire, a.peer.Async, 1)[0]; got.Properties.CorrelationID != uint64(7) { // replyTo of a letter
		t.Errorf("%T %v", got.Properties.CorrelationID, got.Properties.CorrelationID)
	}
}

// TestUnwritableAnswer has the queue for every AppRec be full: it is tried again, and when that has failed too often people are
// notified, and can have it tried again or dropped.
//
// Rules: AMQP-13, AMQP-114
func TestUnwritableAnswer(t *testing.T) {
	t.Parallel()
	a := simple(t, func(c *amqp.Config) { c.Patience = 1 })
	full := a.peer.Async + "_full"
	a.broker.Queue(t, full, map[string]any{"x-queue-type": "classic", "x-max-length": 1, "x-overflow": "reject-publish"})
	send(t, a.wire, full, goamqp.NewMessage([]byte("it fills the queue")))
	a.b.write(func(tx *store.Tx) error {
		p, err := tx.AMQPParty(t.Context(), a.b.counter.ID)
		if p.AsyncQueue = full; err != nil {
			return err
		}
		return tx.UpdateAMQPParty(t.Context(), &p)
	})
	a.again(t)
	for _, drop := range []bool{true, false} {
		messageID, msgID := a.from(t, a.peer)
		a.b.message(store.AMQPIn, store.AMQPBusiness, messageID, store.AMQPProcessed)
		answer := a.b.message(store.AMQPOut, store.AMQPAppRec, msgID, store.AMQPDue)
		a.b.eventually("the queue is full", func() (bool, string) {
			m, err := a.b.db.AMQPMessage(t.Context(), answer.ID)
			answer = m
			return err == nil && m.Attempts > 0, a.b.all()
		})
		a.b.write(func(tx *store.Tx) error { // the waits between so many tries take minutes
			answer.Attempts, answer.DueAt = store.AMQPAnswerTries-1, tx.Now
			_, err := tx.UpdateAMQPMessage(t.Context(), &answer, store.AMQPDue)
			return err
		})
		if notice := <-a.b.notices; notice.Kind != "amqp-answer" || notice.Groups[0].MessageID != answer.ID || answer.Detail == "" {
			t.Errorf("notice %+v", notice)
		}
		if n, err := a.b.db.CountAMQPMessages(t.Context(), store.AMQPFilter{Attention: true}); n != 1 || err != nil {
			t.Errorf("%d need attention, %v", n, err)
		}
		if drop {
			if err := a.b.bridge.Drop(t.Context(), operator(), answer.ID, "they were phoned"); err != nil {
				t.Error(err)
			}
			a.b.message(store.AMQPOut, store.AMQPAppRec, msgID, store.AMQPDropped)
			continue
		}
		take(t, a.wire, full, 1)
		if err := a.b.bridge.Retry(t.Context(), operator(), answer.ID); err != nil {
			t.Error(err)
		}
		a.b.message(store.AMQPOut, store.AMQPAppRec, msgID, store.AMQPSent)
		take(t, a.wire, full, 1)
	}
}

// question is a synchronous request of the peer to b.
func (a *alone) question(t *testing.T, document []byte, at time.Time) *goamqp.Message {
	t.Helper()
	m := letter(t, a.peer, a.b.me, document, uuid.NewString())
	subject, replyTo := subjectQuestion, fmt.Sprint(a.peer.HerID, "_reply")
	m.Properties.To, m.Properties.Subject, m.Properties.ReplyTo = &a.b.me.Sync, &subject, &replyTo
	m.ApplicationProperties["applicationTimeStamp"] = message.FormatTime(at)
	m.Header = &goamqp.MessageHeader{TTL: 15 * time.Second}
	return m
}

// answerTo is the answer of the peer to a request of b's.
func (a *alone) answerTo(t *testing.T, request *goamqp.Message, document []byte) *goamqp.Message {
	t.Helper()
	m := letter(t, a.peer, a.b.me, document, uuid.NewString())
	subject := subjectQuestion
	m.Properties.Subject, m.Properties.To, m.Properties.CorrelationID = &subject, request.Properties.ReplyTo, request.Properties.CorrelationID
	return m
}

// TestSynchronousOut looks at a request on the wire: to the sync queue, not durable, for fifteen seconds. Its answer ends it;
// without one it has failed, and an answer that comes late is dropped.
//
// Rules: AMQP-17, AMQP-24, AMQP-43, AMQP-90, AMQP-91, AMQP-92, INC-07
func TestSynchronousOut(t *testing.T) {
	t.Parallel()
	a := simple(t)
	msgID := uuid.NewString()
	a.b.publish(typeAsk, dialogue(t, a.b.me, a.peer, msgID))
	request := take(t, a.wire, a.peer.Sync, 1)[0]
	if request.Header.TTL > 15*time.Second || request.Header.TTL < 10*time.Second || request.Header.Durable || *request.Properties.To != a.peer.Sync || *request.Properties.ReplyTo != fmt.Sprint(a.b.me.HerID, "_reply") {
		t.Errorf("header %+v, properties %+v", request.Header, request.Properties)
	}
	send(t, a.wire, *request.Properties.ReplyTo, a.answerTo(t, request, dialogue(t, a.peer, a.b.me, uuid.NewString())))
	asked := a.b.message(store.AMQPOut, store.AMQPRequest, msgID, store.AMQPAcknowledged)
	if asked.MessageID != request.Properties.CorrelationID {
		t.Errorf("%+v", asked)
	}

	silent := simple(t, func(c *amqp.Config) { c.SyncTimeout = 2 * time.Second })
	msgID = uuid.NewString()
	silent.b.publish(typeAsk, dialogue(t, silent.b.me, silent.peer, msgID))
	request = take(t, silent.wire, silent.peer.Sync, 1)[0]
	silent.b.message(store.AMQPOut, store.AMQPRequest, msgID, store.AMQPUnanswered)
	silent.b.held(t, amqp.ReasonUnanswered)
	late := silent.answerTo(t, request, dialogue(t, silent.peer, silent.b.me, uuid.NewString()))
	send(t, silent.wire, *request.Properties.ReplyTo, late)
	id, _ := late.Properties.MessageID.(string)
	silent.b.message(store.AMQPIn, store.AMQPAnswer, id, store.AMQPDropped)
	if n := len(silent.b.inbox.events(typeReply)); n != 0 || silent.b.outgoing() != 1 {
		t.Errorf("%d events of a late answer, %d messages went out", n, silent.b.outgoing())
	}
}

// TestSynchronousIn sends requests to b: good ones are answered once, with what the handler said or an error; broken ones go to
// the error queue by the checks that hold for all; one that is too old is dropped.
//
// Rules: AMQP-44, AMQP-56, AMQP-91, AMQP-93, AMQP-94, AMQP-95, AMQP-96
func TestSynchronousIn(t *testing.T) {
	t.Parallel()
	a := simple(t)
	reply := fmt.Sprint(a.peer.HerID, "_reply")
	handled := make(chan string, 100)
	a.b.handle = func(e *event.Event) ([]byte, error) {
		handled <- e.ID
		return dialogue(t, a.b.me, a.peer, uuid.NewString()), nil
	}
	good := a.question(t, dialogue(t, a.peer, a.b.me, "q-good"), time.Now())
	send(t, a.wire, a.b.me.Sync, good)
	answer := take(t, a.wire, reply, 1)[0]
	if answer.Properties.CorrelationID != good.Properties.CorrelationID || answer.Header.Durable || answer.Header.TTL == 0 || <-handled != "q-good" {
		t.Errorf("answer %+v %+v", answer.Properties, answer.Header)
	}
	other := a.question(t, replace(dialogue(t, a.peer, a.b.me, "q-other"), fmt.Sprint("<Id>", a.b.me.HerID, "</Id>"), "<Id>5</Id>"), time.Now())
	send(t, a.wire, a.b.me.Sync, other)
	answer = take(t, a.wire, reply, 1)[0]
	opened, err := cms.Open(answer.Data[0], []cms.Identity{cms.Identity(a.peer.encrypt)})
	must(t, err)
	signed, err := cms.Verify(opened.Content, nil)
	if parsed, bad := msghead.Parse(signed.Content); bad != nil && len(signed.Content) > 0 || *answer.Properties.Subject != message.SubjectSOAPFault {
		t.Errorf("a request for another: %+v, %v, %v, %+v", parsed, bad, err, answer.Properties)
	}
	for name, c := range map[string]struct {
		change func(m *goamqp.Message)
		want   message.Condition
	}{
		"field":   {func(m *goamqp.Message) { m.Properties.ContentType = nil }, message.InvalidFieldValue},
		"replyTo": {func(m *goamqp.Message) { no := "no_queue"; m.Properties.ReplyTo = &no }, message.InvalidFieldValue},
		"process": {func(m *goamqp.Message) { other := subjectDialogue; m.Properties.Subject = &other }, message.UnsupportedMessage},
		"garbage": {func(m *goamqp.Message) { m.Data = [][]byte{[]byte("x")} }, message.InvalidCMS},
		"header":  {func(m *goamqp.Message) { m.Data = [][]byte{seal(t, []byte("<a/>"), a.peer, a.b.me)} }, message.NotWellFormedXML},
	} {
		m := a.question(t, dialogue(t, a.peer, a.b.me, "q-"+name), time.Now())
		c.change(m)
		send(t, a.wire, a.b.me.Sync, m)
		told := take(t, a.wire, a.peer.Error, 1)[0]
		if told.ApplicationProperties["errorCondition"] != string(c.want) || told.ApplicationProperties["originalMessageId"] != m.Properties.MessageID {
			t.Errorf("%s: %v", name, told.ApplicationProperties)
		}
	}
	old := a.question(t, dialogue(t, a.peer, a.b.me, "q-old"), time.Now().Add(-time.Minute))
	send(t, a.wire, a.b.me.Sync, old)
	id, _ := old.Properties.MessageID.(string)
	a.b.message(store.AMQPIn, store.AMQPRequest, id, store.AMQPDropped)
	if len(handled) != 0 || a.b.outgoing(store.AMQPAppRec) != 0 {
		t.Errorf("%d more handled, %d AppRecs", len(handled), a.b.outgoing(store.AMQPAppRec))
	}
}

// TestAnswerOfHandler: an answer that its receiver would refuse is not signed and sent; a SOAP fault takes its place, and the log
// and the trace say why. A fault of the handler's own goes out as it is.
//
// Rules: AMQP-96, AMQP-98
func TestAnswerOfHandler(t *testing.T) {
	t.Parallel()
	set, log := loadSchemas(t, ownSchemas), &journal{}
	a := simple(t, keepLog(log), func(c *amqp.Config) { c.Schemas = set })
	stranger := newIdentity(t, a.broker, a.pki)
	good := dialogue(t, a.b.me, a.peer, uuid.NewString())
	own := `<e:Envelope xmlns:e="` + msghead.NamespaceSOAP12 + `"><e:Body><e:Fault><e:Code><e:Value>e:Sender</e:Value></e:Code><e:Reason><e:Text xml:lang="en">own words</e:Text></e:Reason></e:Fault></e:Body></e:Envelope>`
	var answer []byte
	a.b.handle = func(*event.Event) ([]byte, error) { return answer, nil }
	for name, c := range map[string]struct {
		answer []byte
		why    string // empty: it goes out as it is
	}{
		"good":           {good, ""},
		"own fault":      {[]byte(own), ""},
		"no XML":         {[]byte("ok"), "no business message"},
		"JSON":           {[]byte(`{"ok":true}`), "no business message"},
		"schema":         {replace(good, "<Sporsmal>", "<Annet/><Sporsmal>"), "schema"},
		"values":         {replace(good, "<GenDate>", "<GenDate>ca. "), "no business message"},
		"other sender":   {dialogue(t, stranger, a.peer, uuid.NewString()), "it is from HER-id"},
		"other receiver": {dialogue(t, a.b.me, stranger, uuid.NewString()), "it is to HER-id"},
	} {
		t.Run(name, func(t *testing.T) {
			answer = c.answer
			m := a.question(t, dialogue(t, a.peer, a.b.me, uuid.NewString()), time.Now())
			send(t, a.wire, a.b.me.Sync, m)
			got := take(t, a.wire, fmt.Sprint(a.peer.HerID, "_reply"), 1)[0]
			opened, err := cms.Unseal(got.Data[0], []cms.Identity{cms.Identity(a.peer.encrypt)}, []*x509.Certificate{a.b.me.sign.Certificate})
			must(t, err)
			if same := string(opened.Content) == string(c.answer); same != (c.why == "") {
				t.Errorf("sent: %s", opened.Content)
			}
			if c.why == "" {
				return
			}
			if *got.Properties.Subject != message.SubjectSOAPFault {
				t.Errorf("subject %s", *got.Properties.Subject)
			}
			id, _ := m.Properties.MessageID.(string)
			row := a.b.message(store.AMQPIn, store.AMQPRequest, id, store.AMQPProcessed)
			steps, err := a.b.db.AMQPTraces(t.Context(), row.ID)
			if text := fmt.Sprint(steps); err != nil || !strings.Contains(text, c.why) || !strings.Contains(log.String(), c.why) {
				t.Errorf("nothing says %q: %s, %v", c.why, text, err)
			}
		})
	}
}

// TestSOAPFault has a SOAP fault come in place of an AppRec: what it answers has failed.
//
// Rules: AMQP-22
func TestSOAPFault(t *testing.T) {
	t.Parallel()
	a := simple(t)
	msgID := uuid.NewString()
	a.b.publish(typeOut, dialogue(t, a.b.me, a.peer, msgID))
	request := take(t, a.wire, a.peer.Async, 1)[0]
	fault := `<e:Envelope xmlns:e="` + msghead.NamespaceSOAP12 + `"><e:Body><e:Fault><e:Code><e:Value>e:Receiver</e:Value></e:Code><e:Reason><e:Text>out of order</e:Text></e:Reason></e:Fault></e:Body></e:Envelope>`
	m := a.answerTo(t, request, []byte(fault))
	subject := message.SubjectSOAPFault
	m.Properties.Subject = &subject
	send(t, a.wire, a.b.me.Async, m)
	failed := a.b.message(store.AMQPOut, store.AMQPBusiness, msgID, store.AMQPFailed)
	if failed.Reason != "soap-fault" || failed.Detail != "out of order" {
		t.Errorf("%+v", failed)
	}
	d := a.b.held(t, "soap-fault")
	issues, _, err := a.b.db.Issues(t.Context(), store.IssueFilter{EndpointID: d.EndpointID})
	if err != nil || len(issues) != 1 || issues[0].Cause != "soap-fault" || issues[0].DeliveryID != d.ID {
		t.Errorf("%+v, %v", issues, err)
	}
}

type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func keepLog(j *journal) func(*amqp.Config) {
	return func(c *amqp.Config) { c.Log = slog.New(slog.NewTextHandler(j, nil)) }
}

// TestLargeAttachment: with schemas a message with a large attachment is taken in, and one that the validator cannot read is
// taken in with a warning in the log and on the page.
//
// Rules: AMQP-111
func TestLargeAttachment(t *testing.T) {
	t.Parallel()
	set, log := loadSchemas(t, ownSchemas), &journal{}
	a := simple(t, keepLog(log), hasty, func(c *amqp.Config) { c.Schemas = set; c.Limits.EventBytes = 32 << 20 })
	msgID := uuid.NewString()
	large, err := msghead.Compose(msghead.Draft{
		Type: msghead.Code{V: subjectDialogue, DN: "Dialog"}, MsgID: msgID, Generated: time.Now(), Sender: headParty(a.peer.HerID), Receiver: headParty(a.b.me.HerID),
		Topic: msghead.Code{V: "BA"}, Question: "Se vedlegg.", Attachment: bytes.Repeat([]byte("a"), 8_500_000),
	})
	must(t, err)
	send(t, a.wire, a.b.me.Async, letter(t, a.peer, a.b.me, large, uuid.NewString()))
	a.b.message(store.AMQPIn, store.AMQPBusiness, msgID, store.AMQPProcessed)
	if strings.Contains(log.String(), "without validation") {
		t.Error("it was not validated")
	}
	odd := uuid.NewString()
	var hints strings.Builder // more than the validator takes
	for i := range 300 {
		fmt.Fprintf(&hints, "urn:n:%d %d.xsd ", i, i)
	}
	document := replace(dialogue(t, a.peer, a.b.me, odd), "<MsgHead ", `<MsgHead xmlns:hint="http://www.w3.org/2001/XMLSchema-instance" hint:schemaLocation="`+hints.String()+`" `)
	send(t, a.wire, a.b.me.Async, letter(t, a.peer, a.b.me, document, uuid.NewString()))
	row := a.b.message(store.AMQPIn, store.AMQPBusiness, odd, store.AMQPProcessed)
	if !strings.Contains(log.String(), "without validation") || !strings.Contains(row.Detail, "amqp.detail.unvalidated") {
		t.Errorf("nothing is said of it: %s", row.Detail)
	}
	take(t, a.wire, a.peer.Async, 2)
}
