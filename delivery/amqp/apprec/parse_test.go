package apprec_test

import (
	"errors"
	"testing"

	"schakel/delivery/amqp/apprec"
)

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
