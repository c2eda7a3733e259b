package msghead_test

import (
	"slices"
	"testing"
	"time"

	"schakel/delivery/amqp/msghead"
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
