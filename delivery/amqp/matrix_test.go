package amqp_test

import (
	"bytes"
	"crypto/rsa"
	"crypto/x509"
	"fmt"
	"strings"

	goamqp "github.com/Azure/go-amqp"

	"schakel/delivery/amqp/cms"
	"schakel/delivery/amqp/message"
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

// drop takes a field away.
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

// set gives a field another value.
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

// body replaces what is encrypted.
func body(make func(r *relay, document []byte) []byte) func(*relay, *goamqp.Message, []byte) {
	return func(r *relay, m *goamqp.Message, document []byte) { m.Data = [][]byte{make(r, document)} }
}

// document replaces text in the business message, which is signed and encrypted again.
func document(old, with string) func(*relay, *goamqp.Message, []byte) {
	return body(func(r *relay, doc []byte) []byte { return r.seal(replace(doc, old, with)) })
}

func replace(doc []byte, old, with string) []byte {
	return bytes.Replace(doc, []byte(old), []byte(with), 1)
}

// seal signs and encrypts as a does for b.
func (r *relay) seal(document []byte) []byte { return seal(r.a.t, document, r.a.me, r.b.me) }

// all breaks a message in several ways.
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

// forged changes what was signed.
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
