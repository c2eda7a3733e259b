package xsd_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
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

func schemas(t testing.TB) *xsd.Set {
	t.Helper()
	set, err := xsd.Load(needs.Shared(t, "amqp", "xsd-ks"))
	must(t, err)
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
	needs.Unraced(t)
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
		must(t, err)
		for name, variant := range variants(string(doc)) {
			t.Run(filepath.Base(file)+" "+name, func(t *testing.T) {
				t.Parallel()
				findings, err := set.Validate(t.Context(), []byte(variant))
				if errors.Is(err, xsd.ErrNoSchema) {
					return
				}
				must(t, err)
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
	// What goes back to the sender does not grow with what it sent.
	endless := strings.Replace(doc, "<MsgId>", "<"+strings.Repeat("x", 60_000)+"/><MsgId>", 1)
	if findings, err = set.Validate(t.Context(), []byte(endless)); err != nil || len(findings) == 0 || len(fmt.Sprint(findings)) > 20_000 {
		t.Errorf("got %.300v, %v", findings, err)
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

// enclosed is a document of a schema of our own with a text in it.
func enclosed(text string) []byte {
	return []byte(`<box xmlns="urn:test:box"><name>file</name><content>` + text + `</content></box>`)
}

const boxSchema = `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:test:box" elementFormDefault="qualified">
<xs:element name="box"><xs:complexType><xs:sequence>
<xs:element name="name" type="xs:string"/><xs:element name="content" type="xs:base64Binary"/>
</xs:sequence></xs:complexType></xs:element></xs:schema>`

// TestLargeText validates documents with one text beyond the limit that the validator has by itself.
//
// Rules: AMQP-111
func TestLargeText(t *testing.T) {
	needs.Unraced(t)
	set := loadBox(t)
	for _, size := range []int{1 << 20, 11 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			text := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, size/4*3))
			if findings, err := set.Validate(t.Context(), enclosed(text)); err != nil || len(findings) > 0 {
				t.Errorf("%v, %v", findings, err)
			}
			bad := []byte(text)
			bad[len(bad)/2] = '*'
			if findings, err := set.Validate(t.Context(), enclosed(string(bad))); err != nil || len(findings) == 0 {
				t.Errorf("a wrong character: %.100v, %v", findings, err)
			}
		})
	}
	if _, err := set.Validate(t.Context(), enclosed("<")); !errors.Is(err, xsd.ErrNotXML) {
		t.Error(err)
	}
}

func loadBox(t *testing.T) *xsd.Set {
	t.Helper()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "box.xsd"), []byte(boxSchema), 0o600))
	set, err := xsd.Load(dir)
	must(t, err)
	return set
}

const (
	open  = `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:a" xmlns="urn:a">`
	shut  = "\n</xs:schema>"
	plain = open + `<xs:element name="a" type="xs:int"/>` + shut
	other = `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:b" xmlns="urn:b">`
)

func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "schemas")
	for name, text := range files {
		name = filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(name), 0o700))
		must(t, os.WriteFile(name, []byte(text), 0o600))
	}
	return dir
}

// TestLoad compiles folders of several shapes.
func TestLoad(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files      map[string]string
		good, bad  string
		namespaces int
	}{
		"one":        {map[string]string{"a.xsd": plain, "readme.txt": "x"}, "<a xmlns='urn:a'>1</a>", "<a xmlns='urn:a'>x</a>", 1},
		"sub-folder": {map[string]string{"sub/a.xsd": plain}, "<a xmlns='urn:a'>1</a>", "<a xmlns='urn:a'>x</a>", 1},
		"included": {map[string]string{
			"a.xsd":       open + `<xs:include schemaLocation="parts/p.xsd"/><xs:element name="a" type="T"/>` + shut,
			"parts/p.xsd": `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:simpleType name="T"><xs:restriction base="xs:int"/></xs:simpleType></xs:schema>`,
		}, "<a xmlns='urn:a'>1</a>", "<a xmlns='urn:a'>x</a>", 1},
		"imported from a sub-folder": {map[string]string{
			"b.xsd":     other + `<xs:import namespace="urn:a" schemaLocation="sub/a.xsd"/><xs:element name="b"><xs:complexType><xs:sequence><xs:element ref="x:a" xmlns:x="urn:a"/></xs:sequence></xs:complexType></xs:element>` + shut,
			"sub/a.xsd": plain,
		}, "<b xmlns='urn:b'><a xmlns='urn:a'>1</a></b>", "<b xmlns='urn:b'><a xmlns='urn:a'>x</a></b>", 2},
		"a circle": {map[string]string{
			"a.xsd": open + `<xs:import namespace="urn:b" schemaLocation="b.xsd"/><xs:element name="a" type="xs:int"/>` + shut,
			"b.xsd": other + `<xs:import namespace="urn:a" schemaLocation="a.xsd"/><xs:element name="b"><xs:complexType><xs:sequence><xs:element ref="x:a" xmlns:x="urn:a"/></xs:sequence></xs:complexType></xs:element>` + shut,
		}, "<b xmlns='urn:b'><a xmlns='urn:a'>1</a></b>", "<b xmlns='urn:b'><a xmlns='urn:a'>x</a></b>", 2},
		"Latin-1 and a document type, as the schema of XML signatures has": {map[string]string{
			"a.xsd": "<?xml version='1.0' encoding='ISO-8859-1'?>\n<!DOCTYPE schema PUBLIC '-//W3C//DTD XMLSchema 200102//EN' 'http://www.w3.org/2001/XMLSchema.dtd' [\n" +
				"<!ATTLIST schema xmlns:ds CDATA #FIXED 'urn:x'><!ENTITY dsig 'urn:x'><!ENTITY % p ''>\n]>\n<!-- \xE5 -->" + plain,
		}, "<a xmlns='urn:a'>1</a>", "<a xmlns='urn:a'>x</a>", 1},
		"a type defined elsewhere": {map[string]string{
			"a.xsd": open + `<xs:import namespace="urn:b" schemaLocation="b.xsd"/><xs:element name="a" xmlns:o="urn:b" type="o:T"/>` + shut,
			"b.xsd": other + `<xs:simpleType name="T"><xs:restriction base="xs:int"/></xs:simpleType>` + shut,
		}, "<a xmlns='urn:a'>1</a>", "<a xmlns='urn:a'>x</a>", 2},
		"no namespace": {map[string]string{
			"n.xsd": `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="n" type="xs:int"/></xs:schema>`,
		}, "<n>1</n>", "<n>x</n>", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set, err := xsd.Load(folder(t, c.files))
			must(t, err)
			if got := set.Schemas(); len(got) != c.namespaces {
				t.Errorf("got %v", got)
			}
			if findings, err := set.Validate(t.Context(), []byte(c.good)); err != nil || len(findings) > 0 {
				t.Errorf("got %v, %v", findings, err)
			}
			if findings, err := set.Validate(t.Context(), []byte(c.bad)); err != nil || len(findings) == 0 {
				t.Errorf("got %v, %v", findings, err)
			}
		})
	}
}

// TestLoadRefuses looks at the errors of folders that cannot be used: the file, the line and the cause.
func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		file  string
		line  int
		text  string
	}{
		"no schemas":     {map[string]string{"a.txt": ""}, "", 0, "no .xsd file"},
		"no XML":         {map[string]string{"a.xsd": open + "\n<xs:element\n"}, "a.xsd", 3, ""},
		"no schema":      {map[string]string{"a.xsd": "<a/>"}, "a.xsd", 1, "is no XML schema"},
		"fetched":        {map[string]string{"a.xsd": open + "\n" + `<xs:import namespace="urn:b" schemaLocation="http://x.test/b.xsd"/>` + shut}, "a.xsd", 2, "is not fetched"},
		"file address":   {map[string]string{"a.xsd": open + "\n" + `<xs:include schemaLocation="file:///etc/hostname"/>` + shut}, "a.xsd", 2, "is not fetched"},
		"absolute":       {map[string]string{"a.xsd": open + "\n\n" + `<xs:include schemaLocation="/etc/hostname"/>` + shut}, "a.xsd", 3, "out of its folder"},
		"outside":        {map[string]string{"a.xsd": open + "\n" + `<xs:include schemaLocation="x/../../b.xsd"/>` + shut, "../b.xsd": plain}, "a.xsd", 2, "out of its folder"},
		"absent":         {map[string]string{"a.xsd": open + "\n" + `<xs:include schemaLocation="b.xsd"/>` + shut}, "a.xsd", 2, "is not in the folder"},
		"unknown type":   {map[string]string{"a.xsd": open + "\n" + `<xs:element name="a" type="T"/>` + shut}, "a.xsd", 2, "T"},
		"grammar":        {map[string]string{"a.xsd": open + "\n" + `<xs:element/>` + shut}, "a.xsd", 2, "name"},
		"part is broken": {map[string]string{"a.xsd": open + "\n" + `<xs:include schemaLocation="b.xsd"/>` + shut, "b.xsd": open + "\n\n" + `<xs:element name="a" type="T"/>` + shut}, "b.xsd", 3, "T"},
		"unknown part":   {map[string]string{"a.xsd": open + "\n" + `<xs:complexType name="C"><xs:sequence>` + "\n" + `<xs:element ref="gone"/></xs:sequence></xs:complexType>` + shut}, "a.xsd", 3, "gone"},
		"redefine":       {map[string]string{"a.xsd": open + "\n" + `<xs:redefine schemaLocation="b.xsd"/>` + shut, "b.xsd": plain}, "a.xsd", 2, "redefine"},
		"unicode block":  {map[string]string{"a.xsd": open + `<xs:simpleType name="T"><xs:restriction base="xs:string">` + "\n" + `<xs:pattern value="\p{IsBasicLatin}*"/></xs:restriction></xs:simpleType>` + shut}, "a.xsd", 2, "IsBasicLatin"},
		"defined twice":  {map[string]string{"a.xsd": plain, "b.xsd": plain}, "b.xsd", 0, "keep one of them"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set, err := xsd.Load(folder(t, c.files))
			if set != nil || !errors.Is(err, xsd.ErrFolder) || !strings.Contains(err.Error(), c.text) {
				t.Fatalf("got %v", err)
			}
			detail, ok := errors.AsType[*xsd.LoadError](err)
			if c.file != "" && (!ok || detail.File != c.file || detail.Line != c.line) {
				t.Errorf("got %v, want %s:%d", err, c.file, c.line)
			}
		})
	}
	if _, err := xsd.Load(filepath.Join(t.TempDir(), "none")); !errors.Is(err, xsd.ErrFolder) {
		t.Errorf("got %v", err)
	}
}

// TestLoadSymlink does not follow a link out of the folder.
func TestLoadSymlink(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"a.xsd": open + `<xs:include schemaLocation="b.xsd"/>` + shut, "../c.xsd": plain})
	must(t, os.Symlink("../c.xsd", filepath.Join(dir, "b.xsd")))
	if _, err := xsd.Load(dir); !errors.Is(err, xsd.ErrFolder) {
		t.Errorf("got %v", err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
