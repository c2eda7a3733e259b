package msghead_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"schakel/delivery/amqp/msghead"
	"schakel/registry/xmlscan"
)

// TestClasses breaks a good message in one place at a time and looks at how that is classified.
//
// Rules: AMQP-106, AMQP-110, AMQP-112, AMQP-135
func TestClasses(t *testing.T) {
	t.Parallel()
	good := string(compose(t, draft()))
	for name, c := range map[string]struct {
		old, with string
		want      error
		field     string
	}{
		"not broken":              {"", "", nil, ""},
		"latin-1 declared":        {`encoding="UTF-8"`, `encoding="ISO-8859-1"`, msghead.ErrEncoding, ""},
		"latin-1":                 {"Blåbær", "Bl\xE5b\xE6r", msghead.ErrEncoding, ""},
		"header not well-formed":  {"<MsgId>m-1</MsgId>", "<MsgId>m-1", msghead.ErrHeader, ""},
		"entity in header":        {"m-1", "&who;", msghead.ErrHeader, ""},
		"document type":           {"<MsgHead", "<!DOCTYPE MsgHead SYSTEM 'http://x/'><MsgHead", msghead.ErrHeader, ""},
		"other root":              {msghead.Namespace, "urn:other", msghead.ErrHeader, ""},
		"other version":           {"v1.2 2006-05-24", "v1.1 2006-02-15", msghead.ErrHeader, "MsgInfo/MIGversion"},
		"no id":                   {"<MsgId>m-1</MsgId>", "<MsgId> </MsgId>", msghead.ErrHeader, "MsgInfo/MsgId"},
		"no sender":               {"<Id>100</Id>", "<Id>one hundred</Id>", msghead.ErrHeader, "MsgInfo/Sender/Organisation/Ident (HER)"},
		"header not first":        {"<MsgInfo>", "<Other/><MsgInfo>", msghead.ErrHeader, ""},
		"body not well-formed":    {"</Sporsmal>", "", msghead.ErrBody, ""},
		"entity in body":          {"Blåbær &amp;", "Blåbær &who;", msghead.ErrBody, ""},
		"prefix in body":          {"<Sporsmal>", "<q:x/><Sporsmal>", msghead.ErrBody, ""},
		"cut off":                 {"</MsgHead>", "", msghead.ErrBody, ""},
		"something after":         {"</MsgHead>", "</MsgHead><MsgHead/>", msghead.ErrBody, ""},
		"no function":             {`V="DIALOG_INNBYGGER_EKONTAKT"`, `V=""`, msghead.ErrValues, "MsgInfo/Type/@V"},
		"no time":                 {"2026-03-01T12:00:00Z", "yesterday", msghead.ErrValues, "MsgInfo/GenDate"},
		"no receiver":             {"<Id>200</Id>", "<Id></Id>", msghead.ErrValues, "MsgInfo/Receiver/Organisation/Ident (HER)"},
		"no document":             {good[strings.Index(good, "<Document>"):strings.Index(good, "</MsgHead>")], "", msghead.ErrValues, "Document"},
		"broken body over values": {"<Id>200</Id>", "<Id></Id>", msghead.ErrBody, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			broken := strings.Replace(good, c.old, c.with, 1)
			if name == "broken body over values" {
				broken = strings.Replace(broken, "</MsgHead>", "", 1)
			}
			doc, err := msghead.Parse([]byte(broken))
			if !errors.Is(err, c.want) || (c.want == nil && err != nil) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			var detail *msghead.Error
			if c.field != "" && (!errors.As(err, &detail) || !slices.Contains(detail.Fields, c.field)) {
				t.Errorf("got %v, want field %s", err, c.field)
			}
			if !errors.Is(err, msghead.ErrEncoding) && !errors.Is(err, msghead.ErrHeader) && doc.Info.Sender.HerID() != 100 {
				t.Errorf("the header is lost: %+v", doc.Info)
			}
		})
	}
}

// TestForeignRoots refuses documents that are no business messages, samples of other parties among them.
//
// Rules: AMQP-106
func TestForeignRoots(t *testing.T) {
	t.Parallel()
	for name, doc := range map[string][]byte{
		"empty":           nil,
		"text":            []byte("hello"),
		"json":            []byte(`{"a":1}`),
		"empty message":   []byte("<MsgHead xmlns='" + msghead.Namespace + "'/>"),
		"empty body":      []byte(envelope(msghead.NamespaceSOAP12, "", "")),
		"no body":         []byte("<e:Envelope xmlns:e='" + msghead.NamespaceSOAP12 + "'/>"),
		"deep body":       []byte(envelope(msghead.NamespaceSOAP12, "", "<a><b><c><d/></c></b></a>")),
		"too large":       bytes.Repeat([]byte(" "), xmlscan.MaxBytes+1),
		"sample":          sample(t, "helsenorge/SampleMessage.xml"),
		"sample version":  sample(t, "ks/bad/invalid-version.xml"),
		"sample throwing": sample(t, "helsenorge/ThrowException.xml"),
	} {
		if doc, err := msghead.Parse(doc); !errors.Is(err, msghead.ErrHeader) || err.Error() == "" {
			t.Errorf("%s: got %s, %v", name, doc.Kind, err)
		}
	}
}

// TestErrorsHoldNoContent keeps what patients write out of errors, which are logged.
func TestErrorsHoldNoContent(t *testing.T) {
	t.Parallel()
	good := string(compose(t, draft()))
	for _, broken := range []string{
		strings.Replace(good, "</Sporsmal>", "", 1),
		strings.Replace(good, "Blåbær", "Bl\xE5bær", 1),
		strings.Replace(good, "Blåbær", "Blåbær ]]>", 1),
	} {
		if _, err := msghead.Parse([]byte(broken)); err == nil || strings.Contains(err.Error(), "bær") {
			t.Errorf("got %v", err)
		}
	}
}

// FuzzParse looks for documents that make the parser panic or give a class that is none.
func FuzzParse(f *testing.F) {
	good, err := msghead.Compose(draft())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(envelope(msghead.NamespaceSOAP12, "<e:Header/>", "<e:Fault><e:Code><e:Value>a</e:Value></e:Code></e:Fault>")))
	f.Add([]byte(envelope(msghead.NamespaceSOAP11, "", string(good[39:]))))
	f.Add([]byte("<AppRec xmlns='" + msghead.NamespaceAppRec11 + "'><Id>1</Id></AppRec>"))
	f.Fuzz(func(t *testing.T, doc []byte) {
		got, err := msghead.Parse(doc)
		if err == nil && got.Kind == msghead.Unknown {
			t.Error("read without a kind")
		}
		usable := err == nil || errors.Is(err, msghead.ErrBody) || errors.Is(err, msghead.ErrValues)
		if message := got.Kind == msghead.MsgHead || got.Kind == msghead.SOAP; message && usable && got.Info.Sender.HerID() == 0 {
			t.Error("a header without a sender")
		}
		if !usable && !errors.Is(err, msghead.ErrHeader) && !errors.Is(err, msghead.ErrEncoding) {
			t.Errorf("no class: %v", err)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	for name, size := range map[string]int{"4KB": 1 << 10, "1MB": 750 << 10} {
		d := draft()
		d.Attachment = bytes.Repeat([]byte("0123456789"), size/10)
		doc := compose(b, d)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := msghead.Parse(doc); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
