package e2e

import (
	"bytes"
	"crypto/rsa"
	"crypto/x509"
	"encoding/hex"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"schakel/delivery/amqp/brokertest"
	"schakel/delivery/amqp/cms"
	"schakel/delivery/amqp/message"
	"schakel/delivery/amqp/pkitest"
	"schakel/server/demo"
	"schakel/server/trial"
	"schakel/store"
)

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
