package cpa_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"schakel/registry/amqp/cpa"
	"schakel/store/needs"
)

// document reads a document of another register.
func document(t testing.TB, name string) []byte {
	t.Helper()
	return needs.File(t, "amqp", "cpa", name)
}

func parse(t testing.TB, name string) cpa.Document {
	t.Helper()
	doc, err := cpa.Parse(document(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// TestAgreement reads both parties of an agreement with their queues, certificates and processes.
//
// Rules: AMQP-09, AMQP-27, AMQP-28, AMQP-31, AMQP-33
func TestAgreement(t *testing.T) {
	t.Parallel()
	doc := parse(t, "CPA_93252.xml")
	if doc.Kind != cpa.Agreement || doc.Status != "proposed" || len(doc.Parties) != 2 || len(doc.Findings) != 0 {
		t.Fatalf("got %s, %s, %d parties, %v", doc.Kind, doc.Status, len(doc.Parties), doc.Findings)
	}
	party, ok := doc.Party(93252)
	if !ok || party.Name != "Testlege Testlege" || party.CPAID != "9333f3de-e85c-4c26-9066-6800055b1b8e" || party.CPPID != "" {
		t.Errorf("got %+v", party)
	}
	want := cpa.Queues{Async: "sb.test.nhn.no/DigitalDialog/93252_async", Sync: "sb.test.nhn.no/DigitalDialog/93252_sync"}
	if party.Queues != want {
		t.Errorf("got %+v", party.Queues)
	}
	if len(party.Certificates.Sign) != 1 || len(party.Certificates.Encrypt) != 1 || party.Certificates.Sign[0].Equal(party.Certificates.Encrypt[0]) {
		t.Errorf("got %d and %d certificates", len(party.Certificates.Sign), len(party.Certificates.Encrypt))
	}
	if !party.ValidAt(time.Date(2016, 12, 1, 0, 0, 0, 0, time.UTC)) || party.ValidAt(time.Date(2017, 2, 6, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("got %v to %v", party.ValidFrom, party.ValidUntil)
	}
	process, action, ok := party.Supports("DIALOG_INNBYGGER_EKONTAKT", "", true)
	if !ok || process.Service != "S-DIALOG_INNBYGGER_EKONTAKT" || process.Role != "DIALOG_INNBYGGER_EKONTAKTreceiver" || process.Version != "1.1" {
		t.Errorf("got %+v", process)
	}
	if action.Name != "DIALOG_INNBYGGER_EKONTAKT" || action.Mode != cpa.Async || action.Queue != want.Async || !action.Sends || !action.Receipt {
		t.Errorf("got %+v", action)
	}
	if !process.SendsAppRec || !process.TakesAppRec || process.AppRecVersion != "1.1" || !slices.Contains(action.Namespaces, "http://www.kith.no/xmlstds/dialog/2013-01-23") {
		t.Errorf("got %+v, %+v", process, action.Namespaces)
	}
	process, action, ok = party.Supports("dialog_innbygger_test", "", true)
	if !ok || action.Mode != cpa.Sync || action.Queue != want.Sync || process.SendsAppRec {
		t.Errorf("got %+v, %+v", process, action)
	}
	if _, _, ok := party.Supports("DIALOG_INNBYGGER_OPPGAVE", "", true); ok {
		t.Error("a process that was not agreed on is supported")
	}
}

// TestNewAgreement reads one of the other form, whose actions have names of their own and which holds a process of both modes.
//
// Rules: AMQP-09, AMQP-28
func TestNewAgreement(t *testing.T) {
	t.Parallel()
	doc := parse(t, "CPA_v2_51795e2c-9d39-44e0-9168-5bee38f20819.xml")
	party, ok := doc.Party(8093240)
	if !ok || party.CPAID != "51795e2c-9d39-44e0-9168-5bee38f20819" || party.Queues.Sync != "sb.test.nhn.no/NHNTESTServiceBus/8093240_sync" {
		t.Fatalf("got %+v", party)
	}
	modes := map[string]cpa.Mode{}
	for _, p := range party.Processes {
		for _, a := range p.Actions {
			if p.Subject == "DIALOG_INNBYGGER_TIMERESERVASJON" {
				modes[a.Name] = a.Mode
			}
		}
	}
	if modes["HentLedigeTimer"] != cpa.Sync || modes["ReserverAvtale"] != cpa.Async {
		t.Errorf("got %v", modes)
	}
	if process, _, ok := party.Supports("DIALOG_INNBYGGER_TIMERESERVASJON", "avbestillavtale", false); !ok || process.AppRecVersion == "" {
		t.Errorf("got %+v", process)
	}
}

// TestProfiles reads a profile of each of the two parties.
//
// Rules: AMQP-09, AMQP-27
func TestProfiles(t *testing.T) {
	t.Parallel()
	for name, her := range map[string]int{"CPP_93238.xml": 93238, "CPP_93252.xml": 93252} {
		doc := parse(t, name)
		party, ok := doc.Party(her)
		if !ok || doc.Kind != cpa.Profile || party.CPPID != "db5342ce-2e56-47b6-b4dc-054969f96f6f" || party.CPAID != "" {
			t.Errorf("%s: got %+v", name, party)
		}
		if len(party.Processes) < 14 || len(party.Certificates.Encrypt) != 1 || !party.ValidAt(time.Time{}.AddDate(3000, 0, 0)) {
			t.Errorf("%s: got %d processes", name, len(party.Processes))
		}
	}
}

// TestCommunication reads the details of the address registry in both forms.
func TestCommunication(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file       string
		her        int
		parent     int
		name       string
		parentName string
		queues     cpa.Queues
	}{
		{"CommunicationDetails_93238.xml", 93238, 93237, "Alexander Dahl", "DD fastlege UTV MUG", cpa.Queues{
			Async: "sb.test.nhn.no/DigitalDialog/93238_async", Sync: "sb.test.nhn.no/DigitalDialog/93238_sync",
			Error: "sb.test.nhn.no/DigitalDialog/93238_error",
		}},
		{"CommunicationDetailsRest_8141705.json", 8141705, 8141703, "Allmennlege", "TestsenteretHN", cpa.Queues{
			Async: "tb.test.nhn.no/NHNTESTServiceBus/8141703_async", Sync: "tb.test.nhn.no/NHNTESTServiceBus/8141703_sync",
			SyncReply: "tb.test.nhn.no/NHNTESTServiceBus/8141703_syncreply", Error: "tb.test.nhn.no/NHNTESTServiceBus/8141703_error",
		}},
	} {
		doc := parse(t, c.file)
		if doc.Kind != cpa.Communication || len(doc.Parties) != 1 || len(doc.Findings) != 0 {
			t.Fatalf("%s: got %+v", c.file, doc)
		}
		got := doc.Parties[0]
		if got.HerID != c.her || got.ParentHerID != c.parent || got.Name != c.name || got.ParentName != c.parentName || got.Queues != c.queues {
			t.Errorf("%s: got %+v", c.file, got)
		}
		if !got.Active || !got.ValidUntil.IsZero() || got.ValidFrom.Year() < 2015 || !strings.HasPrefix(got.CertificateURL, "ldap://") {
			t.Errorf("%s: got %v from %v to %v, %s", c.file, got.Active, got.ValidFrom, got.ValidUntil, got.CertificateURL)
		}
	}
}

// TestParseRefuses goes through documents that are no use.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	const ns = " xmlns='http://www.oasis-open.org/committees/ebxml-cppa/schema/cpp-cpa-2_0.xsd'"
	const party = "<PartyInfo partyName='x'><PartyId type='HER'>1</PartyId></PartyInfo>"
	for name, c := range map[string]struct {
		doc  string
		want error
	}{
		"empty":         {"", cpa.ErrNotXML},
		"text":          {"hello", cpa.ErrNotXML},
		"cut off":       {"<a>", cpa.ErrNotXML},
		"two roots":     {"<a/><b/>", cpa.ErrNotXML},
		"not utf-8":     {"<a>\xFF</a>", cpa.ErrNotXML},
		"document type": {"<!DOCTYPE a SYSTEM 'file:///etc/hostname'><a/>", cpa.ErrNotXML},
		"entity":        {"<a>&x;</a>", cpa.ErrNotXML},
		"deep":          {strings.Repeat("<a>", 100), cpa.ErrNotXML},
		"too large":     {strings.Repeat(" ", 4<<20+1), cpa.ErrNotXML},
		"json":          {"{", cpa.ErrNotXML},
		"other json":    {"{}", cpa.ErrNotProfile},
		"other XML":     {"<CollaborationProtocolProfile/>", cpa.ErrNotProfile},
		"other details": {"<CommunicationParty xmlns='http://register.nhn.no/x'/>", cpa.ErrNotProfile},
		"no party":      {"<CollaborationProtocolProfile" + ns + "/>", cpa.ErrNoHerID},
		"no HER-id":     {"<CollaborationProtocolProfile" + ns + ">" + strings.Replace(party, ">1<", ">one<", 1) + "</CollaborationProtocolProfile>", cpa.ErrNoHerID},
		"other id":      {"<CollaborationProtocolProfile" + ns + ">" + strings.Replace(party, "HER", "ENH", 1) + "</CollaborationProtocolProfile>", cpa.ErrNoHerID},
		"no channel":    {"<CollaborationProtocolProfile" + ns + ">" + party + "</CollaborationProtocolProfile>", cpa.ErrNoChannel},
		"json HER-id":   {`{"HerId":-1,"ElectronicAddresses":[]}`, cpa.ErrNoHerID},
		"json channel":  {`{"HerId":1,"ElectronicAddresses":[]}`, cpa.ErrNoChannel},
	} {
		if _, err := cpa.Parse([]byte(c.doc)); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestFindings spoils a profile in one place at a time, and looks for the finding and its line.
func TestFindings(t *testing.T) {
	t.Parallel()
	good := string(document(t, "CPP_93238.xml"))
	for name, c := range map[string]struct{ old, with, want string }{
		"no cppid":          {"tns:cppid=", "tns:other=", "no cppid"},
		"certificate":       {"<ds:X509Certificate>MII", "<ds:X509Certificate>MI", "cannot be read"},
		"no certificates":   {"KeyInfo", "KeyInf", "no certificate to encrypt"},
		"channel":           {`tns:transportId="transport_0_2" tns:docExchangeId`, `tns:transportId="none" tns:docExchangeId`, "transport that is not there"},
		"other protocol":    {">AMQP<", ">HTTP<", "does not go over AMQP"},
		"no queue":          {`tns:uri="sb.test.nhn.no/DigitalDialog/93238_sync"`, ``, "has no queue"},
		"no role":           {`<tns:Role tns:name=`, `<tns:Role tns:title=`, "a process has no role"},
		"no service":        {`S-DIALOG_INNBYGGER_EKONTAKT`, ``, "a process has no service"},
		"no action":         {`tns:action=`, `tns:act=`, "has no action"},
		"action no channel": {`<tns:ChannelId>`, `<tns:ChannelId>x`, "has no channel over AMQP"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(good, c.old) {
				t.Fatal("the document has changed")
			}
			doc, err := cpa.Parse([]byte(strings.ReplaceAll(good, c.old, c.with)))
			if err != nil && !errors.Is(err, cpa.ErrNoChannel) {
				t.Fatal(err)
			}
			at := slices.IndexFunc(doc.Findings, func(f cpa.Finding) bool { return strings.Contains(f.String(), c.want) })
			if at < 0 || doc.Findings[at].Line == 0 {
				t.Errorf("got %v", doc.Findings)
			}
		})
	}
}

// TestSubjects checks that every process of the documents has a subject that is known.
//
// Rules: AMQP-21
func TestSubjects(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"CPA_93252.xml", "CPA_v2_51795e2c-9d39-44e0-9168-5bee38f20819.xml"} {
		for _, party := range parse(t, name).Parties {
			for _, process := range party.Processes {
				if _, known := cpa.Subjects()[process.Subject]; !known {
					t.Errorf("%s is not known", process.Subject)
				}
			}
		}
	}
	if !slices.IsSorted(cpa.SubjectCodes()) {
		t.Error("the subjects are in no order")
	}
}

// FuzzParse looks for documents that make the parser panic.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"communicationParty":{"HerId":1,"ElectronicAddresses":[{"Address":"a","TypeCodeValue":"E_SB_ASYNC"}]}}`))
	f.Add([]byte(`<t:CollaborationProtocolAgreement xmlns:t="http://www.oasis-open.org/committees/ebxml-cppa/schema/cpp-cpa-2_0.xsd" t:cpaid="1"><t:PartyInfo><t:PartyId t:type="HER">1</t:PartyId><t:Certificate t:certId="enc"/><t:DeliveryChannel t:channelId="c" t:transportId="t"/><t:Transport t:transportId="t"><t:TransportReceiver><t:TransportProtocol>AMQP</t:TransportProtocol><t:Endpoint t:uri="q"/></t:TransportReceiver></t:Transport><t:CollaborationRole><t:ServiceBinding><t:CanSend><t:ThisPartyActionBinding t:action="a"><t:ChannelId>c</t:ChannelId></t:ThisPartyActionBinding></t:CanSend></t:ServiceBinding></t:CollaborationRole></t:PartyInfo></t:CollaborationProtocolAgreement>`))
	f.Add([]byte(`<p xmlns="http://register.nhn.no/CommunicationParty"><HerId>1</HerId></p>`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		got, err := cpa.Parse(doc)
		if err != nil {
			return
		}
		for _, party := range got.Parties {
			if party.HerID <= 0 {
				t.Errorf("got HER-id %d", party.HerID)
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	doc := document(b, "CPA_93252.xml")
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := cpa.Parse(doc); err != nil {
			b.Fatal(err)
		}
	}
}
