package amqp_test

import (
	"bytes"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	goamqp "github.com/Azure/go-amqp"
	"github.com/google/uuid"
	"schakel/delivery/amqp"
	"schakel/delivery/amqp/apprec"
	"schakel/delivery/amqp/brokertest"
	"schakel/delivery/amqp/certs"
	"schakel/delivery/amqp/cms"
	"schakel/delivery/amqp/message"
	"schakel/delivery/amqp/xsd"
	"schakel/store"
)

// fault is one way in which a message is broken under way, and the answer to its sender.
type fault struct {
	name   string
	change func(r *relay, m *goamqp.Message, document []byte)

	condition message.Condition // of the AMQP error, or
	data      string            // of it; a key of JSON that must be there when it begins with a brace
	codes     []string          // of the negative AppRec
	anonymous bool              // it names no sender, so no answer goes out
	unnamed   bool              // it has no messageId to refer to
}

func drop(field string) func(*relay, *goamqp.Message, []byte) {
	return func(_ *relay, m *goamqp.Message, _ []byte) {
		switch p := m.Properties; field {
		case message.FieldMessageID:
			p.MessageID = nil
		case message.FieldTo:
			p.To = nil
		case message.FieldSubject:
			p.Subject = nil
		case message.FieldReplyTo:
			p.ReplyTo = nil
		case message.FieldCorrelationID:
			p.CorrelationID = nil
		case message.FieldContentType:
			p.ContentType = nil
		case message.FieldApplicationData:
			m.Data = [][]byte{{}}
		default:
			delete(m.ApplicationProperties, field)
		}
	}
}

func set(field, value string) func(*relay, *goamqp.Message, []byte) {
	return func(_ *relay, m *goamqp.Message, _ []byte) {
		switch p := m.Properties; field {
		case message.FieldSubject:
			p.Subject = &value
		case message.FieldReplyTo:
			p.ReplyTo = &value
		case message.FieldContentType:
			p.ContentType = &value
		default:
			m.ApplicationProperties[field] = value
		}
	}
}

func body(make func(r *relay, document []byte) []byte) func(*relay, *goamqp.Message, []byte) {
	return func(r *relay, m *goamqp.Message, document []byte) { m.Data = [][]byte{make(r, document)} }
}

func document(old, with string) func(*relay, *goamqp.Message, []byte) {
	return body(func(r *relay, doc []byte) []byte { return r.seal(replace(doc, old, with)) })
}

func replace(doc []byte, old, with string) []byte {
	return bytes.Replace(doc, []byte(old), []byte(with), 1)
}

func (r *relay) seal(document []byte) []byte { return seal(r.a.t, document, r.a.me, r.b.me) }

func all(changes ...func(*relay, *goamqp.Message, []byte)) func(*relay, *goamqp.Message, []byte) {
	return func(r *relay, m *goamqp.Message, document []byte) {
		for _, change := range changes {
			change(r, m, document)
		}
	}
}

// fieldFaults lists the faults of AMQP-99.
func fieldFaults() []fault {
	var list []fault
	for _, f := range []string{message.FieldTo, message.FieldSubject, message.FieldReplyTo, message.FieldCorrelationID, message.FieldContentType, message.FieldTimestamp, message.FieldToHerID, message.FieldApplicationData} {
		list = append(list, fault{name: "no " + f, change: drop(f), condition: message.InvalidFieldValue, data: `["` + f + `"]`})
	}
	for _, c := range [][2]string{
		{message.FieldTimestamp, "yesterday"},
		{message.FieldTimestamp, "2026-03-01T12:00:00"},
		{message.FieldToHerID, "12"},
		{message.FieldToHerID, "all"},
		{message.FieldContentType, "text/xml"},
		{message.FieldContentType, message.ContentEncrypted},
		{message.FieldContentType, message.ContentSigned},
		{message.FieldContentType, message.ContentSOAP},
		{message.FieldSubject, "NO_SUCH_CODE"},
		{message.FieldReplyTo, "no_such_queue"},
	} {
		list = append(list, fault{name: c[0] + " " + c[1], change: set(c[0], c[1]), condition: message.InvalidFieldValue, data: `["` + c[0] + `"]`})
	}
	return append(list,
		fault{name: "two fields", change: all(drop(message.FieldTo), set(message.FieldTimestamp, "now")), condition: message.InvalidFieldValue, data: `["to","applicationTimeStamp"]`},
		fault{name: "no messageId", change: drop(message.FieldMessageID), condition: message.InvalidFieldValue, data: `["messageId"]`, unnamed: true},
		fault{name: "no fromHerId", change: drop(message.FieldFromHerID), condition: message.InvalidFieldValue, anonymous: true},
		fault{name: "fromHerId x", change: set(message.FieldFromHerID, "x"), condition: message.InvalidFieldValue, anonymous: true},
		fault{name: "unknown fromHerId", change: set(message.FieldFromHerID, "99999999"), condition: message.InvalidFieldValue, anonymous: true},
	)
}

// bodyFaults lists the faults of AMQP-100 to AMQP-108.
func bodyFaults() []fault {
	garbage := body(func(*relay, []byte) []byte { return []byte("no CMS at all") })
	return []fault{
		{name: "process", change: set(message.FieldSubject, subjectQuestion), condition: message.UnsupportedMessage},
		{name: "garbage", change: garbage, condition: message.InvalidCMS},
		{name: "cut off", change: func(_ *relay, m *goamqp.Message, _ []byte) { m.Data[0] = m.Data[0][:len(m.Data[0])/2] }, condition: message.InvalidCMS},
		{name: "signed only", change: body(signedOnly), condition: message.InvalidCMS},
		{name: "for another", change: body(forAnother), condition: message.InvalidCertificate, data: "{thumbprint"},
		{name: "key", change: body(otherKey), condition: message.DecryptionFailed, data: "{thumbprint"},
		{name: "content changed", change: body(forged), condition: message.InvalidSignature, data: "{thumbprint"},
		{name: "other signer", change: body(otherSigner), condition: message.InvalidSignature, data: "{thumbprint"},
		{name: "header", change: document("</MsgId>", ""), condition: message.NotWellFormedXML},
		{name: "header without id", change: document("<MsgId>", "<MsgId></MsgId><No>"), condition: message.NotWellFormedXML},
		{name: "no XML", change: body(func(r *relay, _ []byte) []byte { return r.seal([]byte("hello")) }), condition: message.NotWellFormedXML},
		{name: "latin-1", change: document("Kan", "Bl\xE5"), condition: message.InvalidEncoding, data: "utf-8"},
		{name: "spoofing", change: func(r *relay, m *goamqp.Message, doc []byte) {
			document(fmt.Sprint("<Id>", r.a.me.HerID, "</Id>"), "<Id>77</Id>")(r, m, doc)
		}, condition: message.SpoofingAttack, data: `application:77`},
	}
}

func signedOnly(r *relay, doc []byte) []byte { return sign(r, doc) }

func sign(r *relay, doc []byte) []byte {
	signed, err := cms.Sign(doc, cms.Identity(r.a.me.sign))
	if err != nil {
		r.a.t.Fatal(err)
	}
	return signed
}

func envelope(r *relay, signed []byte, to *x509.Certificate) []byte {
	sealed, err := cms.Envelope(signed, to)
	if err != nil {
		r.a.t.Fatal(err)
	}
	return sealed
}

func forAnother(r *relay, doc []byte) []byte {
	return envelope(r, sign(r, doc), r.pki.Recipient().Certificate)
}

// otherKey encrypts for a certificate with the name of b's and another key.
func otherKey(r *relay, doc []byte) []byte {
	ours := r.b.me.encrypt.Certificate
	namesake := r.pki.Recipient(func(c *x509.Certificate) { c.SerialNumber = ours.SerialNumber })
	for ours.PublicKey.(*rsa.PublicKey).Equal(namesake.Certificate.PublicKey) {
		namesake = r.pki.Recipient(func(c *x509.Certificate) { c.SerialNumber = ours.SerialNumber })
	}
	return envelope(r, sign(r, doc), namesake.Certificate)
}

func forged(r *relay, doc []byte) []byte {
	return envelope(r, replace(sign(r, doc), "Kan du", "Kan de"), r.b.me.encrypt.Certificate)
}

func otherSigner(r *relay, doc []byte) []byte {
	sealed, err := cms.Seal(doc, cms.Identity(r.pki.Signer()), r.b.me.encrypt.Certificate)
	if err != nil {
		r.a.t.Fatal(err)
	}
	return sealed
}

// documentFaults lists the faults of AMQP-109 to AMQP-112.
func documentFaults() []fault {
	receiver := func(r *relay, m *goamqp.Message, doc []byte) {
		document(fmt.Sprint("<Id>", r.b.me.HerID, "</Id>"), "<Id>78</Id>")(r, m, doc)
	}
	return []fault{
		{name: "receiver", change: receiver, codes: []string{"E10"}},
		{name: "no receiver", change: func(r *relay, m *goamqp.Message, doc []byte) {
			document(fmt.Sprint("<Id>", r.b.me.HerID, "</Id>"), "<Id>none</Id>")(r, m, doc)
		}, codes: []string{"E10"}},
		{name: "body", change: document("</Sporsmal>", ""), codes: []string{"T01"}},
		{name: "cut off XML", change: document("</MsgHead>", ""), codes: []string{"T01"}},
		{name: "schema", change: document("<Sporsmal>", "<Uventet/><Sporsmal>"), codes: []string{"T02"}},
		{name: "no time", change: document("<GenDate>", "<GenDate>about "), codes: []string{"T02"}},
	}
}

// orderFaults are broken in several ways; the first check that fails wins.
func orderFaults() []fault {
	garbage := body(func(*relay, []byte) []byte { return []byte("no CMS at all") })
	wrong := func(changes ...string) func(r *relay, doc []byte) []byte {
		return func(r *relay, doc []byte) []byte {
			for i := 0; i < len(changes); i += 2 {
				old := strings.NewReplacer("A", fmt.Sprint("<Id>", r.a.me.HerID, "</Id>"), "B", fmt.Sprint("<Id>", r.b.me.HerID, "</Id>")).Replace(changes[i])
				doc = replace(doc, old, changes[i+1])
			}
			return r.seal(doc)
		}
	}
	return []fault{
		{name: "fields before process", change: all(drop(message.FieldTimestamp), set(message.FieldSubject, subjectQuestion), garbage), condition: message.InvalidFieldValue, data: `["applicationTimeStamp"]`},
		{name: "replyTo before process", change: all(set(message.FieldReplyTo, "no_such_queue"), set(message.FieldSubject, subjectQuestion), garbage), condition: message.InvalidFieldValue, data: `["replyTo"]`},
		{name: "process before decryption", change: all(set(message.FieldSubject, subjectQuestion), garbage), condition: message.UnsupportedMessage},
		{name: "decryption before signature", change: body(func(r *relay, doc []byte) []byte {
			return envelope(r, replace(sign(r, doc), "Kan", "kan"), r.pki.Recipient().Certificate)
		}), condition: message.InvalidCertificate, data: "{thumbprint"},
		{name: "signature before header", change: body(func(r *relay, doc []byte) []byte {
			return envelope(r, replace(sign(r, doc), "<MsgId>", "<MsgIx>"), r.b.me.encrypt.Certificate)
		}), condition: message.InvalidSignature, data: "{thumbprint"},
		{name: "header before sender", change: body(wrong("</MsgId>", "", "A", "<Id>77</Id>")), condition: message.NotWellFormedXML},
		{name: "sender before receiver", change: body(wrong("A", "<Id>77</Id>", "B", "<Id>78</Id>", "</MsgHead>", "")), condition: message.SpoofingAttack, data: "application:77"},
		{name: "receiver before XML", change: body(wrong("B", "<Id>78</Id>", "</MsgHead>", "")), codes: []string{"E10"}},
		{name: "XML before schema", change: body(wrong("<Sporsmal>", "<Uventet/><Sporsmal>", "</MsgHead>", "")), codes: []string{"T01"}},
		{name: "schema before values", change: body(wrong("<Sporsmal>", "<Uventet/><Sporsmal>", "<GenDate>", "<GenDate>about ")), codes: []string{"T02"}},
	}
}

// TestFaults breaks messages of a under way, has foreign peers write them to b's queue, and looks at what b answers, on the
// wire and at both sides: the checks of section G in their order, the errors of section H.
//
// Rules: AMQP-12, AMQP-14, AMQP-35, AMQP-36, AMQP-37, AMQP-38, AMQP-39, AMQP-44, AMQP-47, AMQP-49, AMQP-72, AMQP-73, AMQP-74, AMQP-79, AMQP-80, AMQP-81, AMQP-83, AMQP-87
// Rules: AMQP-99, AMQP-100, AMQP-101, AMQP-104, AMQP-106, AMQP-107, AMQP-108, AMQP-109, AMQP-110, AMQP-111, AMQP-112
// Rules: AMQP-125, AMQP-126, AMQP-127, AMQP-128, AMQP-131, AMQP-132, AMQP-134, AMQP-135, AMQP-136, AMQP-137, AMQP-30, AMQP-32, AMQP-05, AMQP-18, INC-03, INC-05, INC-09, INC-16, INC-18, INC-19
func TestFaults(t *testing.T) {
	t.Parallel()
	checkFaults(t, loadSchemas(t, ownSchemas), func([]byte) {})
}

// TestFaultsBySchemasOfTheExchange is TestFaults with the schemas of the standard, by which a foreign validator holds each
// negative AppRec too.
//
// Rules: AMQP-83, AMQP-109, AMQP-111
func TestFaultsBySchemasOfTheExchange(t *testing.T) {
	t.Parallel()
	checkFaults(t, loadSchemas(t, schemas(t)), func(receipt []byte) { lint(t, "apprec-v1.1.xsd", receipt) })
}

func checkFaults(t *testing.T, set *xsd.Set, judge func(receipt []byte)) {
	t.Helper()
	r := newRelay(t, func(c *amqp.Config) { c.Schemas = set })
	faults := append(append(fieldFaults(), bodyFaults()...), append(documentFaults(), orderFaults()...)...)
	cases := r.breakAll(t, faults)
	answers := take(t, r.wire, r.b.other.Error, countFaults(faults, func(f fault) bool { return f.condition != "" && !f.anonymous }))
	receipts := take(t, r.wire, r.b.other.Async, countFaults(faults, func(f fault) bool { return f.codes != nil }))
	for _, m := range answers {
		send(t, r.wire, r.a.me.Error, m)
	}
	for _, m := range receipts {
		judge(r.checkAppRec(t, m))
		send(t, r.wire, r.a.me.Async, m)
	}
	byID := map[string]*goamqp.Message{}
	for _, m := range answers {
		byID[fmt.Sprint(m.ApplicationProperties["originalMessageId"])] = m
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { c.check(t, r, byID) })
	}
	if n := r.b.outgoing(store.AMQPError, store.AMQPAppRec); n != len(answers)+len(receipts) {
		t.Errorf("b wrote %d answers, want %d", n, len(answers)+len(receipts))
	}
	r.broker.AwaitDepth(t, r.b.me.Async, 0)
	r.broker.AwaitDepth(t, r.b.me.DeadLetter, 0)
	if n := len(r.b.inbox.events(typeIn)); n != 0 {
		t.Errorf("%d events were made of broken messages", n)
	}
}

func countFaults(faults []fault, of func(fault) bool) int {
	n := 0
	for _, f := range faults {
		if of(f) {
			n++
		}
	}
	return n
}

type broken struct {
	fault

	sent store.AMQPMessage // as a knows it
}

// breakAll publishes a message for each fault at a, takes them from the way, and has two foreign peers write them broken.
func (r *relay) breakAll(t *testing.T, faults []fault) []broken {
	t.Helper()
	documents := map[string][]byte{}
	var ids []string
	for range faults {
		id := uuid.NewString()
		ids = append(ids, id)
		documents[id] = dialogue(t, r.a.me, r.b.me, id)
		r.a.publish(typeOut, documents[id])
	}
	byID := map[string]*goamqp.Message{}
	for _, m := range take(t, r.wire, r.a.other.Async, len(faults)) {
		byID[fmt.Sprint(m.Properties.MessageID)] = m
	}
	var cases []broken
	batches := map[brokertest.Peer][]brokertest.Sections{}
	for i, f := range faults {
		sent := r.a.message(store.AMQPOut, store.AMQPBusiness, ids[i], store.AMQPOpenMessage)
		m := byID[sent.MessageID]
		f.change(r, m, documents[ids[i]])
		peer := brokertest.Peers()[i%2]
		batches[peer] = append(batches[peer], sections(m))
		cases = append(cases, broken{f, sent})
	}
	for peer, batch := range batches {
		for _, outcome := range peer.Send(t, r.broker.URL, "/queues/"+r.b.me.Async, batch...) {
			if outcome != "accepted" {
				t.Fatalf("%s: %s", peer, outcome)
			}
		}
	}
	return cases
}

// check looks at one broken message: the answer on the wire, the row at b, and the row and delivery at a.
func (c broken) check(t *testing.T, r *relay, errors map[string]*goamqp.Message) {
	t.Helper()
	if c.codes != nil {
		row := r.b.message(store.AMQPIn, store.AMQPBusiness, c.sent.MessageID, store.AMQPRejected)
		if row.Codes[0] != c.codes[0] || row.Reason != c.codes[0] || row.EventID != "" {
			t.Errorf("row %+v", row)
		}
		at := r.a.message(store.AMQPOut, store.AMQPBusiness, c.sent.MessageID, store.AMQPRejected)
		r.heldAt(t, at, c.codes[0])
		return
	}
	if c.anonymous || c.unnamed {
		c.checkAlone(t, r)
		return
	}
	row := r.b.message(store.AMQPIn, store.AMQPBusiness, c.sent.MessageID, store.AMQPRefused)
	if row.Reason != string(c.condition) {
		t.Errorf("row %+v", row)
	}
	m := errors[c.sent.MessageID]
	if m == nil {
		t.Fatalf("nothing on the error queue about %s", c.sent.MessageID)
	}
	checkError(t, r, m, c)
	at := r.a.message(store.AMQPOut, store.AMQPBusiness, c.sent.MessageID, store.AMQPFailed)
	if len(c.data) > 0 && (len(at.Codes) == 0 || at.Codes[0] != fmt.Sprint(m.ApplicationProperties["errorConditionData"])) {
		t.Errorf("at the sender %+v", at)
	}
	r.heldAt(t, at, string(c.condition))
}

// checkAlone looks at a message that says too little for its sender to be found.
func (c broken) checkAlone(t *testing.T, r *relay) {
	t.Helper()
	if c.anonymous {
		r.b.message(store.AMQPIn, store.AMQPBusiness, c.sent.MessageID, store.AMQPQuarantined)
	} else {
		r.b.message(store.AMQPIn, store.AMQPBusiness, c.sent.CorrelationID, store.AMQPRefused)
	}
	if m, err := r.a.db.AMQPMessage(t.Context(), c.sent.ID); err != nil || m.Status != store.AMQPOpenMessage {
		t.Errorf("at the sender %+v, %v", m, err)
	}
}

// heldAt looks at the delivery of a message that was refused: it is in the error queue, with the reason.
func (r *relay) heldAt(t *testing.T, m store.AMQPMessage, reason string) {
	t.Helper()
	r.a.eventually("the delivery is held", func() (bool, string) {
		d, err := r.a.db.Delivery(t.Context(), m.DeliveryID)
		return err == nil && d.Status == store.DeliveryHeld && d.Reason == reason && d.Detail != "", fmt.Sprintf("%+v, %v", d, err)
	})
	if m.Reason != reason || m.Detail == "" {
		t.Errorf("at the sender %+v", m)
	}
}

func checkError(t *testing.T, r *relay, m *goamqp.Message, c broken) {
	t.Helper()
	p := m.ApplicationProperties
	refusal := message.Refusal{Condition: c.condition}
	if strings.HasPrefix(c.data, `["`) {
		var fields []string
		must(t, json.Unmarshal([]byte(c.data), &fields))
		refusal.Field = fields[0]
	}
	if p["errorCondition"] != string(c.condition) || p["errorDescription"] != refusal.Description() {
		t.Errorf("condition %v, description %v", p["errorCondition"], p["errorDescription"])
	}
	data, there := p["errorConditionData"].(string)
	if there != (c.data != "") || !strings.Contains(data, strings.Trim(c.data, "{")) {
		t.Errorf("data %v, want %s", p["errorConditionData"], c.data)
	}
	if _, ok := message.ParseTime(fmt.Sprint(p["receiverTimeStamp"])); !ok {
		t.Errorf("receiverTimeStamp %v", p["receiverTimeStamp"])
	}
	if m.Properties.MessageID == c.sent.MessageID || !message.IsUUID(fmt.Sprint(m.Properties.MessageID)) || *m.Properties.To != r.b.other.Error || m.Properties.ContentType != nil {
		t.Errorf("properties %+v", m.Properties)
	}
	if len(m.Data) != 1 || len(m.Data[0]) != 0 || m.Value != nil || m.Sequence != nil {
		t.Errorf("an error message has a body: %q", m.Data)
	}
	if m.Properties.ReplyTo == nil || *m.Properties.ReplyTo != r.b.me.Error || m.Properties.CorrelationID == nil {
		t.Errorf("properties %+v", m.Properties)
	}
	if p["fromHerId"] == nil && c.name != "no toHerId" && c.name != "toHerId all" {
		t.Errorf("application properties %v", p)
	}
}

func (r *relay) checkAppRec(t *testing.T, m *goamqp.Message) []byte {
	t.Helper()
	opened, err := cms.Unseal(m.Data[0], []cms.Identity{cms.Identity(r.a.me.encrypt)}, []*x509.Certificate{r.b.me.sign.Certificate})
	must(t, err)
	got, err := apprec.Parse(opened.Content)
	if err != nil || got.Status != apprec.Rejected || len(got.Errors) == 0 || got.Version != apprec.V11 {
		t.Fatalf("%+v, %v", got, err)
	}
	if *m.Properties.Subject != "APPREC" || *m.Properties.To != r.b.other.Async || certs.Thumbprint(opened.Signer) == "" {
		t.Errorf("%+v", m.Properties)
	}
	return opened.Content
}
