package apprec_test

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"schakel/delivery/amqp/apprec"
	"schakel/delivery/amqp/msghead"
	"schakel/store/needs"
)

// sample reads a message that another party made.
func sample(t *testing.T, name string) []byte {
	t.Helper()
	return needs.File(t, "amqp", "samples", name)
}

// answer is one to a message of party 100, person 110, to party 200, department 210.
func answer(version apprec.Version, errs ...apprec.Error) apprec.Answer {
	her := func(id string) []msghead.Ident {
		return []msghead.Ident{
			{ID: "987654321", Type: msghead.Code{V: "ENH"}}, {ID: id, Type: msghead.Code{V: "HER", DN: "HER-id"}},
		}
	}
	return apprec.Answer{
		Version: version, ID: "a-1", At: time.Date(2026, 3, 1, 13, 0, 0, 5, time.FixedZone("", 3600)),
		Info: msghead.Info{
			Type: msghead.Code{V: "DIALOG_HELSEFAGLIG", DN: "Helsefaglig dialog"}, MsgID: "m-1", GenDate: "2026-03-01T11:59:00",
			Sender: msghead.Party{
				Organisation: msghead.Unit{Name: "Legekontoret", Idents: her("100")},
				Person:       &msghead.Unit{Name: "Rita Lin", Idents: her("110")},
			},
			Receiver: msghead.Party{
				Organisation: msghead.Unit{Name: "Sykehuset <HF>", Idents: her("200")},
				Unit:         &msghead.Unit{Name: "Kirurgi", Idents: her("210")},
			},
		},
		Errors: errs,
	}
}

// TestBuild writes each kind of acknowledgement in each version, has a foreign validator check it against the schema,
// and reads it back.
//
// Rules: AMQP-14, AMQP-109, AMQP-110, AMQP-111, AMQP-112
func TestBuild(t *testing.T) {
	t.Parallel()
	for _, version := range []apprec.Version{apprec.V10, apprec.V11} {
		for name, c := range map[string]struct {
			errs   []apprec.Error
			status apprec.Status
		}{
			"positive":   {nil, apprec.OK},
			"wrong":      {[]apprec.Error{apprec.E10("toHerId 200, Receiver 201")}, apprec.Rejected},
			"unreadable": {[]apprec.Error{apprec.T01("line 3")}, apprec.Rejected},
			"invalid":    {[]apprec.Error{apprec.T02("line 4: 'æ' & <b>"), apprec.T02("line 9")}, apprec.Rejected},
		} {
			t.Run(version.String()+" "+name, func(t *testing.T) {
				t.Parallel()
				doc, err := apprec.Build(answer(version, c.errs...))
				if err != nil {
					t.Fatal(err)
				}
				got, err := apprec.Parse(doc)
				if err != nil || got.Status != c.status || got.Version != version || len(got.Errors) != len(c.errs) {
					t.Fatalf("got %+v, %v", got, err)
				}
				for i, e := range got.Errors {
					if e != c.errs[i] {
						t.Errorf("got %+v, want %+v", e, c.errs[i])
					}
				}
				if got.ID != "a-1" || got.GenDate != "2026-03-01T12:00:00Z" || got.Sender != 210 || got.Receiver != 110 {
					t.Errorf("got %+v", got)
				}
				want := apprec.Original{
					Type: msghead.Code{V: "DIALOG_HELSEFAGLIG", DN: "Helsefaglig dialog"}, IssueDate: "2026-03-01T11:59:00", ID: "m-1",
				}
				if got.Original != want {
					t.Errorf("got %+v", got.Original)
				}
				lint(t, version, doc)
			})
		}
	}
}

func lint(t *testing.T, version apprec.Version, doc []byte) {
	t.Helper()
	schema := needs.Shared(t, "amqp", "xsd-ks", "apprec-v"+version.String()+".xsd")
	lint := exec.CommandContext(t.Context(), needs.Program(t, "xmllint"), "--nonet", "--noout", "--schema", schema, "-")
	lint.Stdin = bytes.NewReader(doc)
	if out, err := lint.CombinedOutput(); err != nil {
		t.Errorf("xmllint: %v\n%s\n%s", err, out, doc)
	}
}

// TestBuildIsDeterministic builds one answer twice.
//
// Rules: AMQP-139
func TestBuildIsDeterministic(t *testing.T) {
	t.Parallel()
	one, err1 := apprec.Build(answer(apprec.V11, apprec.T02("x")))
	two, err2 := apprec.Build(answer(apprec.V11, apprec.T02("x")))
	if err1 != nil || err2 != nil || !bytes.Equal(one, two) {
		t.Errorf("%v, %v\n%s\n%s", err1, err2, one, two)
	}
}

// TestBuildLiberal writes an acknowledgement for a message that lacks what can be done without.
func TestBuildLiberal(t *testing.T) {
	t.Parallel()
	poor := answer(apprec.V10, apprec.T02(strings.Repeat("å", 2000)))
	poor.Info.GenDate, poor.Info.Type, poor.Info.Receiver = "yesterday", msghead.Code{}, msghead.Party{}
	doc, err := apprec.Build(poor)
	if err != nil {
		t.Fatal(err)
	}
	got, err := apprec.Parse(doc)
	if err != nil || got.Original.IssueDate != got.GenDate || len(got.Errors[0].Detail) > 1010 {
		t.Errorf("got %+v, %v", got, err)
	}
	lint(t, apprec.V10, doc)
}

// TestBuildRefuses leaves out what an acknowledgement cannot do without.
func TestBuildRefuses(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*apprec.Answer){
		"version": func(a *apprec.Answer) { a.Version = 0 },
		"id":      func(a *apprec.Answer) { a.ID = "" },
		"message": func(a *apprec.Answer) { a.Info.MsgID = "" },
		"sender":  func(a *apprec.Answer) { a.Info.Sender = msghead.Party{} },
	} {
		a := answer(apprec.V11)
		spoil(&a)
		if _, err := apprec.Build(a); !errors.Is(err, apprec.ErrAnswer) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func BenchmarkBuild(b *testing.B) {
	a := answer(apprec.V11, apprec.T02("line 4"))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := apprec.Build(a); err != nil {
			b.Fatal(err)
		}
	}
}

// TestParseSamples reads acknowledgements that other systems made, with every status of the code list and unknown ones.
//
// Rules: AMQP-14, AMQP-88
func TestParseSamples(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file             string
		version          apprec.Version
		status           apprec.Status
		known, accepted  bool
		errs             []string
		original         string
		sender, receiver int
	}{
		{"helsenorge/MetadataTests_Apprec10.xml", apprec.V10, apprec.OK, true, true, nil, "de1a95c0-4d0c-11e7-9598-0800200c9a66", 90998, 258521},
		{"helsenorge/MetadataTests_Apprec11.xml", apprec.V11, apprec.OK, true, true, nil, "de1a95c0-4d0c-11e7-9598-0800200c9a66", 258521, 90998},
		{"ks/apprec10/all-data.xml", apprec.V10, apprec.OK, true, true, nil, "36bbe907-5c2a-4ca9-be92-c7e9c5f2e4d6", 8143060, 555111},
		{"ks/apprec10/example-avvist.xml", apprec.V10, apprec.Rejected, true, false, []string{"E21"}, "a6967e6a-8c0a-4be4-a647-c921d3086423", 258521, 91126},
		{"ks/apprec10/example-ok-feil-i-delmelding.xml", apprec.V10, apprec.Partly, true, true, []string{"07", "16"}, "37de51e0-33a9-11de-a4cb-0002a5d5c51b", 0, 0},
		{"ks/apprec10/example-ok.xml", apprec.V10, apprec.OK, true, true, nil, "a6967e6a-8c0a-4be4-a647-c921d3086423", 258521, 91126},
		{"ks/apprec10/unknown-status.xml", apprec.V10, "73", false, false, nil, "36bbe907-5c2a-4ca9-be92-c7e9c5f2e4d6", 8142987, 998877},
		{"ks/apprec11/all-data.xml", apprec.V11, apprec.OK, true, true, nil, "5d79bd68-a58c-4599-a4e7-9db28ea20099", 8143060, 555111},
		{"ks/apprec11/example-avvist.xml", apprec.V11, apprec.Rejected, true, false, []string{"E21"}, "e0e21a90-5ec8-11e1-b86c-0800200c9a66", 258521, 89583},
		{"ks/apprec11/example-ok.xml", apprec.V11, apprec.OK, true, true, nil, "4c793d90-c41b-11e0-962b-0800200c9a66", 369767, 89583},
		{"ks/apprec11/unknown-status.xml", apprec.V11, "123", false, false, nil, "5d79bd68-a58c-4599-a4e7-9db28ea20099", 8142987, 998877},
	} {
		t.Run(c.file, func(t *testing.T) {
			t.Parallel()
			got, err := apprec.Parse(sample(t, c.file))
			if err != nil {
				t.Fatal(err)
			}
			if got.Version != c.version || got.Status != c.status || got.Status.Known() != c.known || got.Status.Accepted() != c.accepted {
				t.Errorf("got version %s, status %s %q", got.Version, got.Status, got.StatusText)
			}
			if got.Original.ID != c.original || got.Sender != c.sender || got.Receiver != c.receiver || got.ID == "" {
				t.Errorf("got %+v", got)
			}
			if len(got.Errors) != len(c.errs) {
				t.Fatalf("got errors %+v", got.Errors)
			}
			for i, e := range got.Errors {
				if e.Code != c.errs[i] || e.Text == "" || e.List == "" {
					t.Errorf("got %+v", e)
				}
			}
		})
	}
}

// TestParseRefuses goes through documents that are no use as an acknowledgement.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		doc  string
		want error
	}{
		"empty":      {"", apprec.ErrNotAppRec},
		"no XML":     {"<AppRec", apprec.ErrNotAppRec},
		"encoding":   {"<?xml version='1.0' encoding='latin1'?><AppRec/>", apprec.ErrNotAppRec},
		"other root": {"<MsgHead xmlns='http://www.kith.no/xmlstds/apprec/2012-02-15'/>", apprec.ErrNotAppRec},
		"namespace":  {"<AppRec xmlns='http://www.kith.no/xmlstds/apprec/2030-01-01'/>", apprec.ErrNotAppRec},
		"no status":  {"<AppRec xmlns='http://www.kith.no/xmlstds/apprec/2012-02-15'><OriginalMsgId><Id>1</Id></OriginalMsgId></AppRec>", apprec.ErrIncomplete},
		"no message": {"<AppRec xmlns='http://www.kith.no/xmlstds/apprec/2012-02-15'><Status V='1'/></AppRec>", apprec.ErrIncomplete},
		"sample":     {string(sample(t, "ks/bad/missing-migversion.xml")), apprec.ErrIncomplete},
	} {
		if _, err := apprec.Parse([]byte(c.doc)); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// FuzzParse looks for documents that make the parser panic.
func FuzzParse(f *testing.F) {
	for _, version := range []apprec.Version{apprec.V10, apprec.V11} {
		doc, err := apprec.Build(answer(version, apprec.E10("x")))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(doc)
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		if got, err := apprec.Parse(doc); err == nil && (got.Status == "" || got.Original.ID == "") {
			t.Errorf("got %+v", got)
		}
	})
}
