package xsd_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"schakel/delivery/amqp/xsd"
	"schakel/store/needs"
)

const (
	nsMsgHead  = "http://www.kith.no/xmlstds/msghead/2006-05-24"
	nsAppRec10 = "http://www.kith.no/xmlstds/apprec/2004-11-21"
	nsAppRec11 = "http://www.kith.no/xmlstds/apprec/2012-02-15"
)

// schemas loads the schemas of the exchange.
func schemas(t testing.TB) *xsd.Set {
	t.Helper()
	set, err := xsd.Load(needs.Shared(t, "amqp", "xsd-ks"))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func sample(t testing.TB, name string) []byte {
	t.Helper()
	return needs.File(t, "amqp", "samples", name)
}

// TestAgreesWithXmllint validates every sample, and broken variants of each, with libxml2 too.
//
// Rules: AMQP-111
func TestAgreesWithXmllint(t *testing.T) {
	t.Parallel()
	set := schemas(t)
	needs.Program(t, "xmllint")
	samples := needs.Shared(t, "amqp", "samples")
	files, err := filepath.Glob(filepath.Join(samples, "*", "*.xml"))
	deeper, err2 := filepath.Glob(filepath.Join(samples, "*", "*", "*.xml"))
	if err != nil || err2 != nil || len(files)+len(deeper) < 20 {
		t.Fatal(err, err2, len(files))
	}
	for _, file := range append(files, deeper...) {
		if filepath.Base(file) == "SoapFault.xml" {
			continue // the schema of the envelope is one of our own
		}
		doc, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for name, variant := range variants(string(doc)) {
			t.Run(filepath.Base(file)+" "+name, func(t *testing.T) {
				t.Parallel()
				findings, err := set.Validate(t.Context(), []byte(variant))
				if errors.Is(err, xsd.ErrNoSchema) {
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				valid, said := lint(t, []byte(variant))
				if valid != (len(findings) == 0) {
					t.Errorf("xmllint says %v, we find %v\n%s", valid, findings, said)
				}
			})
		}
	}
}

// variants breaks a document in ways that a schema sees.
func variants(doc string) map[string]string {
	return map[string]string{
		"as it is":         doc,
		"without an id":    strings.Replace(strings.Replace(doc, "<MsgId>", "<NoId>", 1), "</MsgId>", "</NoId>", 1),
		"wrong version":    strings.Replace(doc, "v1.2 2006-05-24", "v1.1 2006-05-24", 1),
		"no time":          strings.Replace(doc, "<GenDate>2", "<GenDate>x2", 1),
		"further element":  strings.Replace(doc, "</MsgInfo>", "<More/></MsgInfo>", 1),
		"without a status": strings.Replace(doc, "<Status ", "<State ", 1),
		"wrong list":       strings.Replace(doc, `S="2.16`, `S="x.16`, 1),
	}
}

// lint asks libxml2.
func lint(t *testing.T, doc []byte) (bool, string) {
	t.Helper()
	schema := "all-msghead.xsd"
	cmd := exec.CommandContext(t.Context(), "xmllint", "--nonet", "--noout", "--schema", needs.Shared(t, "amqp", "xsd-ks", schema), "-")
	cmd.Stdin = bytes.NewReader(doc)
	out, err := cmd.CombinedOutput()
	return err == nil, string(out)
}

// TestFindings looks at the findings of a broken message.
//
// Rules: AMQP-111
func TestFindings(t *testing.T) {
	t.Parallel()
	set := schemas(t)
	doc := string(sample(t, "helsenorge/DIALOG_INNBYGGER_EKONTAKT.xml"))
	broken := strings.Replace(doc, "<GenDate>2022-10-22T14:15:00.0Z</GenDate>", "<GenDate>soon</GenDate>", 1)
	findings, err := set.Validate(t.Context(), []byte(broken))
	if err != nil || len(findings) == 0 {
		t.Fatalf("got %v, %v", findings, err)
	}
	if f := findings[0]; f.Line != 7 || !strings.Contains(f.Path, "GenDate") || f.Text == "" || !strings.Contains(f.String(), "line 7") {
		t.Errorf("got %+v", f)
	}
}

// TestEnvelope validates the message within a SOAP envelope, in UTF-16 too.
func TestEnvelope(t *testing.T) {
	t.Parallel()
	set := schemas(t)
	doc := string(sample(t, "helsenorge/DIALOG_INNBYGGER_EKONTAKT.xml"))
	_, message, _ := strings.Cut(doc, "?>")
	envelope := "<e:Envelope xmlns:e='http://www.w3.org/2003/05/soap-envelope'><e:Body>" + message + "</e:Body></e:Envelope>"
	for name, c := range map[string]struct {
		doc   string
		valid bool
	}{
		"valid":        {envelope, true},
		"not valid":    {strings.Replace(envelope, "<MsgId>", "<MsgId/><MsgId>", 1), false},
		"utf-16":       {"\xFE\xFF" + wide("<?xml version='1.0' encoding='utf-16'?>"+envelope), true},
		"no envelope":  {strings.Replace(envelope, "e:Body", "e:Bode", 2), false},
		"old envelope": {strings.Replace(envelope, "http://www.w3.org/2003/05/soap-envelope", "http://schemas.xmlsoap.org/soap/envelope/", 1), true},
	} {
		findings, err := set.Validate(t.Context(), []byte(c.doc))
		if err != nil || c.valid != (len(findings) == 0) {
			t.Errorf("%s: got %v, %v", name, findings, err)
		}
	}
}

// wide writes text as UTF-16, big end first.
func wide(text string) string {
	var b strings.Builder
	for _, r := range text {
		b.WriteByte(byte(r >> 8))
		b.WriteByte(byte(r))
	}
	return b.String()
}

// TestNoSchema tells apart what is not valid from what there is no schema for.
func TestNoSchema(t *testing.T) {
	t.Parallel()
	set := schemas(t)
	if !set.Has(nsMsgHead) || !set.Has(nsAppRec10) || !set.Has(nsAppRec11) || set.Has("urn:other") || len(set.Schemas()) < 6 {
		t.Errorf("got %v", set.Schemas())
	}
	var none *xsd.Set
	if _, err := none.Validate(t.Context(), []byte("<a/>")); !errors.Is(err, xsd.ErrNoSchema) || none.Has("") || none.Schemas() != nil {
		t.Errorf("no set: %v", err)
	}
	for name, doc := range map[string][]byte{
		"root":    []byte("<a xmlns='urn:other'/>"),
		"body":    []byte("<e:Envelope xmlns:e='http://www.w3.org/2003/05/soap-envelope'><e:Body><a xmlns='u'/></e:Body></e:Envelope>"),
		"content": sample(t, "helsenorge/DIALOG_INNBYGGER_RESEPTFORNYELSE.xml"),
	} {
		findings, err := set.Validate(t.Context(), doc)
		if !errors.Is(err, xsd.ErrNoSchema) || findings != nil {
			t.Errorf("%s: got %v, %v", name, findings, err)
		}
	}
}

// TestNotXML refuses what is no XML, or dangerous XML, without quoting it.
func TestNotXML(t *testing.T) {
	t.Parallel()
	set := schemas(t)
	for name, doc := range map[string]string{
		"empty": "", "cut off": "<secret>", "latin-1": "<a>\xE5</a>", "deep": strings.Repeat("<a>", 200) + strings.Repeat("</a>", 200),
		"document type": "<!DOCTYPE a><a xmlns='" + nsMsgHead + "'/>",
		"laughs":        "<!DOCTYPE a [<!ENTITY a 'secret'><!ENTITY b '&a;&a;&a;'>]><a>&b;</a>",
		"file":          "<!DOCTYPE a [<!ENTITY a SYSTEM 'file:///etc/hostname'>]><a>&a;</a>",
	} {
		if _, err := set.Validate(t.Context(), []byte(doc)); !errors.Is(err, xsd.ErrNotXML) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := set.Validate(ended, sample(t, "helsenorge/DIALOG_INNBYGGER_EKONTAKT.xml")); !errors.Is(err, context.Canceled) {
		t.Errorf("ended: got %v", err)
	}
}

// TestConcurrent validates valid and broken messages side by side.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	set := schemas(t)
	good := sample(t, "helsenorge/DIALOG_INNBYGGER_EKONTAKT.xml")
	bad := bytes.Replace(good, []byte("<MsgId>"), []byte("<MsgId/><MsgId>"), 1)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if findings, err := set.Validate(t.Context(), good); err != nil || len(findings) != 0 {
				t.Errorf("good: %v, %v", findings, err)
			}
			if findings, err := set.Validate(t.Context(), bad); err != nil || len(findings) == 0 {
				t.Errorf("bad: %v, %v", findings, err)
			}
		})
	}
	all.Wait()
}

func BenchmarkValidate(b *testing.B) {
	set := schemas(b)
	small := sample(b, "helsenorge/DIALOG_INNBYGGER_EKONTAKT.xml")
	attachment := "<Document><RefDoc><MsgType V='A'/><Content><Base64Container xmlns='http://www.kith.no/xmlstds/base64container'>" +
		strings.Repeat("QUJDREVG", 1<<17) + "</Base64Container></Content></RefDoc></Document></MsgHead>"
	large := bytes.Replace(small, []byte("</MsgHead>"), []byte(attachment), 1)
	for name, doc := range map[string][]byte{"4KB": small, "1MB": large} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			b.ReportAllocs()
			for b.Loop() {
				if findings, err := set.Validate(b.Context(), doc); err != nil || len(findings) != 0 {
					b.Fatal(findings, err)
				}
			}
		})
	}
}

// FuzzValidate looks for documents that make the validator panic, which it tells as an internal fault.
func FuzzValidate(f *testing.F) {
	set := schemas(f)
	f.Add(sample(f, "helsenorge/DIALOG_INNBYGGER_EKONTAKT.xml"))
	f.Add(sample(f, "helsenorge/MetadataTests_Apprec11.xml"))
	f.Add([]byte("<e:Envelope xmlns:e='http://www.w3.org/2003/05/soap-envelope'><e:Body/></e:Envelope>"))
	f.Fuzz(func(t *testing.T, doc []byte) {
		_, err := set.Validate(t.Context(), doc)
		if err != nil && !errors.Is(err, xsd.ErrNoSchema) && !errors.Is(err, xsd.ErrNotXML) {
			t.Error(err)
		}
	})
}
