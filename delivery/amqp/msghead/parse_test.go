package msghead_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"schakel/delivery/amqp/msghead"
	"schakel/registry/xmlscan"
	"schakel/store/needs"
)

const (
	dialog10 = "http://www.kith.no/xmlstds/dialog/2006-10-11"
	dialog11 = "http://www.kith.no/xmlstds/dialog/2013-01-23"
	box      = "http://www.kith.no/xmlstds/base64container"
	resept   = "http://www.kith.no/xmlstds/eresept/m1/2010-05-01"
)

// TestSamples reads the headers of messages that other systems made.
//
// Rules: AMQP-108, AMQP-109
func TestSamples(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file, kind, function, id string
		sender, receiver         int
		parent                   int
		payloads                 []string
	}{
		{
			"helsenorge/DIALOG_INNBYGGER_EKONTAKT.xml", "MsgHead", "DIALOG_INNBYGGER_EKONTAKT",
			"0d77d041-f010-4ec8-9105-f3dda92fc320", 8141333, 8093244, 115851,
			[]string{dialog11},
		},
		{
			"helsenorge/DIALOG_INNBYGGER_RESEPTFORNYELSE.xml", "MsgHead", "DIALOG_INNBYGGER_RESEPTFORNYELSE",
			"7c2620d7-2b8e-49d2-bcc8-5bc616c7f22a", 8141333, 8093244, 115851,
			[]string{dialog11, resept, resept},
		},
		{
			"helsenorge/Dialogtjeneste12_Kommunikasjonstest_Request.xml", "MsgHead", "DIALOG_INNBYGGER_TEST",
			"8325fcc2-89a9-11e3-baa8-0800200c9a66", 93238, 93246, 987654,
			[]string{dialog11},
		},
		{
			"helsenorge/Helsenorge_Message.xml", "MsgHead", "DIALOG_INNBYGGER_EKONTAKT",
			"8325fcba-89a9-11e3-baa8-0800200c9a66", 109989, 91095, 0,
			[]string{dialog11},
		},
		{
			"helsenorge/MetadataTestsDialogmelding11.xml", "MsgHead", "DIALOG_HELSEFAGLIG",
			"de1a95c0-4d0c-11e7-9598-0800200c9a66", 258521, 90998, 56704,
			[]string{dialog11, box, box},
		},
		{
			"ks/dialog10/dialog-svar-webmed-test.xml", "MsgHead", "DIALOG_SVAR",
			"a748bb20-4e0f-4922-9b06-ec2c101eb9c1", 8143025, 8143060, 8142952,
			[]string{dialog10},
		},
		{"helsenorge/MetadataTests_Apprec10.xml", "AppRec 1.0", "", "", 0, 0, 0, nil},
		{"helsenorge/MetadataTests_Apprec11.xml", "AppRec 1.1", "", "", 0, 0, 0, nil},
	} {
		t.Run(c.file, func(t *testing.T) {
			t.Parallel()
			doc, err := msghead.Parse(sample(t, c.file))
			if err != nil {
				t.Fatal(err)
			}
			info := doc.Info
			if doc.Kind.String() != c.kind || info.Type.V != c.function || info.MsgID != c.id {
				t.Errorf("got %s, function %s, id %s", doc.Kind, info.Type.V, info.MsgID)
			}
			if info.Sender.HerID() != c.sender || info.Receiver.HerID() != c.receiver || info.Sender.ParentHerID() != c.parent {
				t.Errorf("got sender %d of %d, receiver %d", info.Sender.HerID(), info.Sender.ParentHerID(), info.Receiver.HerID())
			}
			if !slices.Equal(doc.Payloads, c.payloads) {
				t.Errorf("got payloads %q", doc.Payloads)
			}
		})
	}
}

// TestConversation reads what a message refers to, its wish for an acknowledgement and its names.
func TestConversation(t *testing.T) {
	t.Parallel()
	doc, err := msghead.Parse(sample(t, "helsenorge/MetadataTestsDialogmelding11.xml"))
	if err != nil {
		t.Fatal(err)
	}
	info := doc.Info
	want := msghead.Conversation{
		RefToParent: "d14ea2f3-d796-4d7b-8271-a4480d2b4035", RefToConversation: "a14ea2f3-d796-4d7b-8271-a4480d2b4037",
	}
	if info.Conversation != want {
		t.Errorf("got %+v", info.Conversation)
	}
	if info.Sender.Name() != "Rita Lin" || info.Receiver.Name() != "Ortopedisk kirurgi" || !info.AckWanted() {
		t.Errorf("got %q, %q, %v", info.Sender.Name(), info.Receiver.Name(), info.AckWanted())
	}
	if at, ok := info.Generated(time.UTC); !ok || !at.Equal(time.Date(2017, 6, 12, 9, 35, 22, 0, time.UTC)) {
		t.Errorf("got %v, %v", at, ok)
	}
	if doc.Documents != 4 {
		t.Errorf("got %d documents", doc.Documents)
	}
}

// TestSOAP reads a fault of another party, and a message in an envelope of either version.
//
// Rules: AMQP-22
func TestSOAP(t *testing.T) {
	t.Parallel()
	message := string(compose(t, draft()))[len("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"):]
	head := "<e:Header><x xmlns='u'>" + message + "</x></e:Header>"
	for name, c := range map[string]struct {
		doc        string
		kind       msghead.Kind
		soap, from string
	}{
		"1.1":     {envelope(msghead.NamespaceSOAP11, head, message), msghead.SOAP, "1.1", ""},
		"1.2":     {envelope(msghead.NamespaceSOAP12, "", "<w xmlns='w'>"+message+"</w>"), msghead.SOAP, "1.2", ""},
		"fault":   {envelope(msghead.NamespaceSOAP11, "", "<e:Fault><faultcode>e:Client</faultcode><faultstring>no</faultstring></e:Fault>"), msghead.SOAPFault, "1.1", "e:Client no"},
		"a fault": {string(sample(t, "helsenorge/SoapFault.xml")), msghead.SOAPFault, "1.2", "ns0:Sender Signaturen lot seg ikke verifiseres"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, err := msghead.Parse([]byte(c.doc))
			if err != nil || doc.Kind != c.kind || doc.SOAP != c.soap {
				t.Fatalf("got %s, SOAP %s: %v", doc.Kind, doc.SOAP, err)
			}
			if c.kind == msghead.SOAP && (doc.Info.MsgID != "m-1" || doc.Documents != 1 || !slices.Equal(doc.Payloads, []string{dialog11})) {
				t.Errorf("got %+v", doc)
			}
			if c.kind == msghead.SOAPFault && doc.Fault.Code+" "+doc.Fault.Reason != c.from {
				t.Errorf("got %+v", doc.Fault)
			}
		})
	}
}

func envelope(space, head, body string) string {
	return "<e:Envelope xmlns:e='" + space + "'>" + head + "<e:Body>" + body + "</e:Body></e:Envelope>"
}

// TestPartyLevels finds the communication party at every level where it can stand.
//
// Rules: AMQP-108
func TestPartyLevels(t *testing.T) {
	t.Parallel()
	id := func(her string) []msghead.Ident { return party("", her).Organisation.Idents }
	for name, c := range map[string]struct {
		party        msghead.Party
		want, parent int
	}{
		"organisation":      {party("a", "1"), 1, 0},
		"unit":              {msghead.Party{Organisation: msghead.Unit{Idents: id("1")}, Unit: &msghead.Unit{Idents: id("2")}}, 2, 1},
		"person":            {msghead.Party{Organisation: msghead.Unit{Idents: id("1")}, Person: &msghead.Unit{Idents: id("3")}}, 3, 1},
		"unit over person":  {msghead.Party{Unit: &msghead.Unit{Idents: id("2")}, Person: &msghead.Unit{Idents: id("3")}}, 2, 0},
		"unit without":      {msghead.Party{Organisation: msghead.Unit{Idents: id("1")}, Unit: &msghead.Unit{Name: "b"}}, 1, 0},
		"no number":         {party("a", "12a"), 0, 0},
		"too long a number": {party("a", "1234567890"), 0, 0},
		"zero":              {party("a", "0"), 0, 0},
	} {
		if got := c.party.HerID(); got != c.want || c.party.ParentHerID() != c.parent {
			t.Errorf("%s: got %d of %d", name, got, c.party.ParentHerID())
		}
	}
}

func sample(t testing.TB, name string) []byte {
	t.Helper()
	return needs.File(t, "amqp", "samples", name)
}

func party(name, her string) msghead.Party {
	return msghead.Party{Organisation: msghead.Unit{Name: name, Idents: []msghead.Ident{
		{ID: her, Type: msghead.Code{V: "HER", S: "2.16.578.1.12.4.1.1.9051", DN: "HER-id"}},
	}}}
}

// draft is a question of party 100 to party 200.
func draft() msghead.Draft {
	return msghead.Draft{
		Type: msghead.Code{V: "DIALOG_INNBYGGER_EKONTAKT", DN: "Dialog med innbygger - eKontakt"}, MsgID: "m-1",
		Generated: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		Sender:    party("Legekontoret", "100"), Receiver: party("Sykehuset", "200"),
		Topic: msghead.Code{V: "BA", S: "2.16.578.1.12.4.1.1.7601", DN: "Bestille attest"}, Question: "Blåbær & < 5?",
	}
}

func compose(t testing.TB, d msghead.Draft) []byte {
	t.Helper()
	doc, err := msghead.Compose(d)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

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
