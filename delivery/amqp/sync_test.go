package amqp_test

import (
	"crypto/x509"
	"fmt"
	"strings"
	"testing"
	"time"

	goamqp "github.com/Azure/go-amqp"
	"github.com/google/uuid"

	"schakel/delivery/amqp"
	"schakel/delivery/amqp/cms"
	"schakel/delivery/amqp/message"
	"schakel/delivery/amqp/msghead"
	"schakel/delivery/event"
	"schakel/store"
)

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
	if err != nil {
		t.Fatal(err)
	}
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
			if err != nil {
				t.Fatal(err)
			}
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
	a.b.held(t, "soap-fault")
}
