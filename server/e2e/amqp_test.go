package e2e

import (
	"bytes"
	"context"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"schakel/delivery/amqp/brokertest"
	"schakel/delivery/amqp/cms"
	"schakel/delivery/amqp/link"
	"schakel/delivery/amqp/message"
	"schakel/delivery/amqp/pkitest"
	"schakel/server/demo"
	"schakel/server/trial"
	"schakel/store"
	"schakel/store/storetest"
)

// parties is two programs that exchange messages, their broker and the authority of their certificates.
type parties struct {
	*trial.AMQPPair
	broker *brokertest.Broker
	pki    *pkitest.PKI
	leaves [2][2]pkitest.Leaf // of each party: to sign, and to be encrypted for
}

// newParties makes the parties 100 and 200, one on SQLite and one on PostgreSQL, that are not started.
func newParties(t *testing.T) *parties {
	t.Helper()
	p := &parties{broker: brokertest.StartOwn(t, brokertest.RabbitMQ4, nil), pki: pkitest.New(t, time.Now)}
	x := trial.AMQPExchange{
		URLs: [2]string{p.broker.URL, p.broker.URL}, Username: brokertest.User, Password: brokertest.Password, Root: p.pki.Root,
	}
	for n, her := range []int{100, 200} {
		p.broker.Party(t, her)
		p.broker.Queue(t, fmt.Sprint(her, "_reply"), map[string]any{"x-queue-type": "classic", "x-message-ttl": 15000})
		p.leaves[n] = [2]pkitest.Leaf{p.pki.Signer(), p.pki.Recipient()}
		x.Parties[n] = trial.AMQPIdentity{HerID: int64(her), Pairs: []tls.Certificate{p.pair(p.leaves[n][0]), p.pair(p.leaves[n][1])}}
	}
	p.AMQPPair = trial.NewAMQPPair(t, x, [2]string{trial.SQLitePath(t), storetest.PostgresURL(t)}, "--log-level", "warn")
	return p
}

func (p *parties) pair(leaf pkitest.Leaf) tls.Certificate {
	pair := tls.Certificate{Certificate: [][]byte{leaf.Certificate.Raw}, PrivateKey: leaf.Key}
	for _, c := range p.pki.Issuers() {
		pair.Certificate = append(pair.Certificate, c.Raw)
	}
	return pair
}

// TestParties has the parties 100 and 200 exchange messages over one RabbitMQ: a request, its AppRec, an answer, its AppRec; a
// question and its answer; a dead letter that an administrator puts back in the portal.
//
// Rules: AMQP-01, AMQP-14, AMQP-16, AMQP-17, AMQP-24, AMQP-45, AMQP-52, AMQP-77, AMQP-78, AMQP-85, AMQP-86, AMQP-92, AMQP-94, AMQP-95, AMQP-97
func TestParties(t *testing.T) {
	t.Parallel()
	p := newParties(t)
	p.A.Start(t)
	p.B.Start(t)
	request := p.send(t, p.A, trial.TypeMessageSent, trial.SubjectMessage)
	p.arrives(t, p.B, request)
	p.becomes(t, p.A, request, store.AMQPAcknowledged)
	answer := p.send(t, p.B, trial.TypeMessageSent, trial.SubjectMessage)
	p.arrives(t, p.A, answer)
	p.becomes(t, p.B, answer, store.AMQPAcknowledged)
	p.ask(t)
	p.putBack(t)
	p.A.Stop(t)
	p.B.Stop(t)
	ab, ba := p.Compare(t)
	if !ab.Sound() || !ba.Sound() {
		t.Errorf("%s %q; %s %q", ab, ab.Examples, ba, ba.Examples)
	}
}

// send publishes a business message at a member and gives its MsgId.
func (p *parties) send(t *testing.T, m *trial.AMQPMember, eventType, subject string) string {
	t.Helper()
	id := uuid.NewString()
	document := trial.NewMessage(t, subject, id, m.Party.HerID, m.Counterpart.HerID)
	said, err := m.PublishMessage(m.Token(t, m.Publisher, "events.publish"), eventType, id, uuid.NewString(), document)
	trial.Must(t, err)
	said.Want(t, http.StatusAccepted)
	if eventType == trial.TypeMessageSent {
		m.Ledger.Add([]string{id})
	}
	return id
}

// arrives waits for the event of a message at the systems of a member.
func (p *parties) arrives(t *testing.T, at *trial.AMQPMember, msgID string) {
	t.Helper()
	got := p.Receiver.WaitFor(t, at.Inbox, msgID)
	if !bytes.Contains(got.Body, []byte(msgID)) || !bytes.Contains(got.Body, []byte("urn:oid:2.16.578.1.12.4.1.2.")) {
		t.Errorf("the event of %s: %.500s", msgID, got.Body)
	}
}

func (p *parties) becomes(t *testing.T, m *trial.AMQPMember, msgID, state string) {
	t.Helper()
	trial.Eventually(t, "message "+msgID+" is "+state, func() (bool, string) {
		now := m.MessageState(t, msgID)
		return now == state, now
	})
}

// ask has A ask B, whose system answers at once, with more than a few kilobytes. Without an answer in time, or with a fault, the
// question waits for a person.
func (p *parties) ask(t *testing.T) {
	t.Helper()
	reply := uuid.NewString()
	document := bytes.Replace(trial.NewMessage(t, trial.SubjectQuestion, reply, 200, 100), []byte("Kan du"), []byte(strings.Repeat("Kan du ", 8000)), 1)
	p.Receiver.Reply(p.B.Handler(), func([]byte) []byte { return document })
	question := p.send(t, p.A, trial.TypeQuestionAsked, trial.SubjectQuestion)
	p.becomes(t, p.A, question, store.AMQPAcknowledged)
	got := p.Receiver.WaitFor(t, p.A.Inbox, reply)
	if n := bytes.Count(got.Body, []byte("Kan du ")); n < 8000 {
		t.Errorf("the answer arrived with %d of its 8000 sentences", n)
	}
	if _, asked := p.Receiver.Got(p.B.Handler(), question); !asked {
		t.Error("the handler was not asked")
	}
	p.Receiver.Behave(func(path, _ string) int {
		if path == p.B.Handler() {
			return http.StatusInternalServerError
		}
		return http.StatusAccepted
	})
	p.becomes(t, p.A, p.send(t, p.A, trial.TypeQuestionAsked, trial.SubjectQuestion), store.AMQPRejected)
	p.Receiver.Behave(nil)
}

// putBack has a message of A die on B's queue, where somebody takes it ten times and settles nothing, and B's administrator
// put it back.
func (p *parties) putBack(t *testing.T) {
	t.Helper()
	p.B.Stop(t)
	request := p.send(t, p.A, trial.TypeMessageSent, trial.SubjectMessage)
	p.becomes(t, p.A, request, store.AMQPOpenMessage)
	p.exhaust(t, "200_async")
	p.broker.AwaitDepth(t, "200_dl", 1)
	p.B.Start(t)
	admin := newAdministrator(t, p.B.Program)
	id := p.dead(t)
	page := admin.get(t, "/admin/amqp/messages/"+id)
	if !strings.Contains(page, "Dead letter") || !strings.Contains(page, "/put-back") {
		t.Errorf("the page of a dead letter: %s", page)
	}
	admin.post(t, "/admin/amqp/messages/"+id+"/put-back")
	p.arrives(t, p.B, request)
	p.becomes(t, p.A, request, store.AMQPAcknowledged)
}

// exhaust takes the message of a queue as often as the broker hands it out.
func (p *parties) exhaust(t *testing.T, queue string) {
	t.Helper()
	cfg := p.broker.Config()
	cfg.Retry = link.Retry{First: time.Millisecond, Max: time.Millisecond}
	c := trial.Must1[*link.Connection](t)(link.New(cfg))
	trial.Must(t, c.Start(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	var taken atomic.Int64
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = c.Receive(ctx, queue, 1, func(context.Context, *link.Delivery) error { // until it is told to end
			taken.Add(1)
			return errors.New("not handled")
		})
	}()
	trial.Eventually(t, "the message was taken ten times", func() (bool, string) { return taken.Load() >= 10, fmt.Sprint(taken.Load()) })
	p.broker.AwaitDepth(t, queue, 0)
	cancel()
	<-ended
	trial.Must(t, c.Stop(context.Background()))
	if n := taken.Load(); n != 10 {
		t.Errorf("the broker handed a message out %d times, want 10", n)
	}
}

// dead waits for the dead letter of B and gives its id.
func (p *parties) dead(t *testing.T) (id string) {
	t.Helper()
	trial.Eventually(t, "the dead letter is taken in", func() (bool, string) {
		rows := messages(t, p.B.Program, store.AMQPFilter{Statuses: []string{store.AMQPDead}})
		if len(rows) > 0 {
			id = rows[0].ID
		}
		return id != "", ""
	})
	return id
}

func messages(t *testing.T, s *trial.Program, f store.AMQPFilter) (rows []store.AMQPMessage) {
	t.Helper()
	s.Open(t, func(db *store.DB) {
		var err error
		rows, _, err = db.AMQPMessages(t.Context(), f)
		trial.Must(t, err)
	})
	return rows
}

// administrator is a browser in which the administrator of a program is logged in.
type administrator struct {
	*http.Client
	base string
}

func newAdministrator(t *testing.T, s *trial.Program) administrator {
	t.Helper()
	browser := *s.Client
	browser.Jar = trial.Must1[http.CookieJar](t)(cookiejar.New(nil))
	a := administrator{&browser, s.Base}
	answer, err := browser.PostForm(s.Base+"/login", url.Values{"email": {s.Own.Email}, "password": {trial.Password}})
	trial.Must(t, err)
	_ = answer.Body.Close()
	return a
}

func (a administrator) get(t *testing.T, path string) string {
	t.Helper()
	status, body, err := trial.Get(a.Client, a.base+path)
	trial.Must(t, err)
	if status != http.StatusOK {
		t.Fatalf("%s: %d %s", path, status, body)
	}
	return body
}

// post presses a button.
func (a administrator) post(t *testing.T, path string) {
	t.Helper()
	answer, err := a.PostForm(a.base+path, url.Values{})
	trial.Must(t, err)
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", path, answer.Status)
	}
}

// provocation is a message that somebody with another implementation writes to B's queue in the name of A.
type provocation struct {
	condition message.Condition
	sections  brokertest.Sections
	id        string // messageId
}

// TestPartiesFaults has a foreign party provoke each error condition at B, in the name of A, and looks at the portals of both: B
// shows what it refused, A what came back on its error queue, with the same cause. No event is made of any.
//
// Rules: AMQP-12, AMQP-35, AMQP-37, AMQP-44, AMQP-49, AMQP-79, AMQP-99, AMQP-100, AMQP-101, AMQP-102, AMQP-103, AMQP-104, AMQP-106, AMQP-108
// Rules: AMQP-127, AMQP-128, AMQP-129, AMQP-130, AMQP-131, AMQP-132, AMQP-133, AMQP-134, AMQP-135, AMQP-136, AMQP-137
func TestPartiesFaults(t *testing.T) {
	t.Parallel()
	p := newParties(t)
	expired := p.pki.Signer(pkitest.Valid(time.Now().AddDate(-1, 0, 0), time.Now().AddDate(0, 0, -1)))
	revoked := p.pki.Signer()
	p.pki.Revoke(revoked.Certificate)
	p.B.SetUp(t, func(c *demo.Chain) {
		trial.Must1[int](t)(c.AMQP.AddCertificates(t.Context(), c.Admin, p.B.Counterpart.ID, p.others(t, expired, revoked), ""))
	})
	p.A.Start(t)
	p.B.Start(t)
	p.provoke(t, p.faults(t, expired, revoked))
	p.B.Stop(t)
	p.B.Args = append(p.B.Args, "--amqp-required-field-missing", "--amqp-xml-not-interpretable")
	p.B.Start(t)
	p.provoke(t, p.otherReadings(t))
	if n := p.Receiver.Offers(p.B.Inbox); n != 0 {
		t.Errorf("%d events were made of messages that are refused", n)
	}
	p.A.Stop(t)
	p.B.Stop(t)
}

// provoke has the foreign party write messages, and looks for each in both portals.
func (p *parties) provoke(t *testing.T, all []provocation) {
	t.Helper()
	var batch []brokertest.Sections
	for _, f := range all {
		batch = append(batch, f.sections)
	}
	for _, outcome := range brokertest.Proton.Send(t, p.broker.URL, "/queues/200_async", batch...) {
		if outcome != "accepted" {
			t.Fatalf("the broker said %s", outcome)
		}
	}
	a, b := newAdministrator(t, p.A.Program), newAdministrator(t, p.B.Program)
	for _, f := range all {
		p.shown(t, b, p.B, store.AMQPFilter{Direction: store.AMQPIn, Statuses: []string{store.AMQPRefused}, ID: f.id}, f)
		answer := message.AnswerID(message.Seed(100, f.id), message.AnswerError)
		p.shown(t, a, p.A, store.AMQPFilter{Direction: store.AMQPIn, Kinds: []string{store.AMQPError}, ID: answer}, f)
	}
}

// shown waits for a message and reads its page as the administrator does.
func (p *parties) shown(t *testing.T, admin administrator, m *trial.AMQPMember, filter store.AMQPFilter, f provocation) {
	t.Helper()
	var row store.AMQPMessage
	trial.Eventually(t, string(f.condition)+" at "+m.Program.Own.Name, func() (bool, string) {
		rows := messages(t, m.Program, filter)
		if len(rows) == 1 {
			row = rows[0]
		}
		return len(rows) == 1, ""
	})
	if row.Reason != string(f.condition) {
		t.Errorf("%s at %s: it is %s", f.condition, m.Program.Own.Name, row.Reason)
	}
	page := admin.get(t, "/admin/amqp/messages/"+row.ID)
	for _, want := range []string{string(f.condition), row.MessageID} {
		if !strings.Contains(page, want) {
			t.Errorf("%s at %s: its page does not say %s", f.condition, m.Program.Own.Name, want)
		}
	}
}

// faults are the conditions that B answers with as it is set up by itself.
func (p *parties) faults(t *testing.T, expired, revoked pkitest.Leaf) []provocation {
	t.Helper()
	sign, to := p.leaves[0][0], p.leaves[1][1].Certificate
	document := trial.NewMessage(t, trial.SubjectMessage, uuid.NewString(), 100, 200)
	signed := trial.Must1[[]byte](t)(cms.Sign(document, cms.Identity(sign)))
	envelope := func(signed []byte, to *x509.Certificate) []byte {
		return trial.Must1[[]byte](t)(cms.Envelope(signed, to))
	}
	seal := func(document []byte, by pkitest.Leaf) []byte {
		return trial.Must1[[]byte](t)(cms.Seal(document, cms.Identity(by), to))
	}
	return []provocation{
		p.foreign(message.InvalidCMS, []byte("no CMS at all"), nil),
		p.foreign(message.InvalidCertificate, envelope(signed, p.pki.Recipient().Certificate), nil),
		p.foreign(message.ExpiredCertificate, seal(document, expired), nil),
		p.foreign(message.RevokedCertificate, seal(document, revoked), nil),
		p.foreign(message.DecryptionFailed, envelope(signed, p.namesake(to)), nil),
		p.foreign(message.InvalidSignature, envelope(bytes.Replace(signed, []byte("Kan du"), []byte("Kan de"), 1), to), nil),
		p.foreign(message.InvalidFieldValue, seal(document, sign), func(s brokertest.Sections) { delete(s.Properties, "correlation-id") }),
		p.foreign(message.InvalidEncoding, seal(bytes.Replace(document, []byte("Kan"), []byte("Bl\xE5"), 1), sign), nil),
		p.foreign(message.SpoofingAttack, seal(trial.NewMessage(t, trial.SubjectMessage, uuid.NewString(), 77, 200), sign), nil),
		p.foreign(message.NotWellFormedXML, seal([]byte("hello"), sign), nil),
		p.foreign(message.UnsupportedMessage, seal(document, sign), func(s brokertest.Sections) {
			s.Properties["subject"] = brokertest.Text(trial.SubjectQuestion) // agreed for questions alone
		}),
	}
}

// otherReadings are the conditions that B answers with when an operator chose the other reading of INC-01 and INC-04.
func (p *parties) otherReadings(t *testing.T) []provocation {
	t.Helper()
	seal := func(document []byte) []byte {
		return trial.Must1[[]byte](t)(cms.Seal(document, cms.Identity(p.leaves[0][0]), p.leaves[1][1].Certificate))
	}
	document := trial.NewMessage(t, trial.SubjectMessage, uuid.NewString(), 100, 200)
	return []provocation{
		p.foreign(message.RequiredFieldMissing, seal(document), func(s brokertest.Sections) { delete(s.Properties, "correlation-id") }),
		p.foreign(message.NotInterpretableXML, seal([]byte("hello")), nil),
	}
}

// namesake is a certificate with the issuer and number of another, and another key.
func (p *parties) namesake(of *x509.Certificate) *x509.Certificate {
	for {
		leaf := p.pki.Recipient(func(c *x509.Certificate) { c.SerialNumber = of.SerialNumber })
		if key, ok := of.PublicKey.(*rsa.PublicKey); ok && !key.Equal(leaf.Certificate.PublicKey) {
			return leaf.Certificate
		}
	}
}

// foreign makes a message from 100 to 200 that is as it should be but for its body, and what change does.
func (p *parties) foreign(condition message.Condition, body []byte, change func(brokertest.Sections)) provocation {
	f := provocation{condition: condition, id: uuid.NewString()}
	f.sections = brokertest.Sections{
		Header: map[string]brokertest.Value{"durable": {Type: "boolean", Text: "true"}},
		Properties: map[string]brokertest.Value{
			"message-id": brokertest.Text(f.id), "to": brokertest.Text("200_async"), "subject": brokertest.Text(trial.SubjectMessage),
			"reply-to": brokertest.Text("100_async"), "correlation-id": brokertest.Text(uuid.NewString()),
			"content-type": {Type: "symbol", Text: message.ContentSignedAndEncrypted},
		},
		Application: map[string]brokertest.Value{
			message.FieldTimestamp: brokertest.Text(message.FormatTime(time.Now())),
			message.FieldFromHerID: brokertest.Text(strconv.Itoa(100)), message.FieldToHerID: brokertest.Text(strconv.Itoa(200)),
		},
		Body: []brokertest.Section{{Kind: "data", Value: brokertest.Value{Type: "binary", Text: hex.EncodeToString(body)}}},
	}
	if change != nil {
		change(f.sections)
	}
	return f
}

// others are the certificates of more leaves, with their chains.
func (p *parties) others(t *testing.T, leaves ...pkitest.Leaf) string {
	t.Helper()
	var id trial.AMQPIdentity
	for _, leaf := range leaves {
		id.Pairs = append(id.Pairs, p.pair(leaf))
	}
	text, _ := id.PEM(t)
	return text
}
