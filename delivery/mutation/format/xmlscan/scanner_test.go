package xmlscan_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"schakel/delivery/mutation/format/xmlscan"
)

// drain reads a document and writes its tokens down.
func drain(r io.Reader, limits xmlscan.Limits) (string, error) {
	var out strings.Builder
	s := xmlscan.New(r, limits)
	text := ""
	flush := func() {
		if text != "" {
			fmt.Fprintf(&out, "%q ", text)
		}
		text = ""
	}
	for {
		tok, err := s.Next()
		if errors.Is(err, io.EOF) {
			return strings.TrimSpace(out.String()), nil
		}
		if err != nil {
			return strings.TrimSpace(out.String()), err
		}
		switch tok.Kind {
		case xmlscan.Start:
			flush()
			fmt.Fprintf(&out, "<{%s}%s", s.Namespace(), xmlscan.Local(tok.Name))
			for _, a := range tok.Attrs {
				if ns := s.AttrNamespace(a); ns != "http://www.w3.org/2000/xmlns/" {
					fmt.Fprintf(&out, " {%s}%s=%q", ns, xmlscan.Local(a.Name), xmlscan.Unescape(a.Value))
				}
			}
			out.WriteString("> ")
		case xmlscan.End:
			flush()
			fmt.Fprintf(&out, "</{%s}%s> ", s.Namespace(), xmlscan.Local(tok.Name))
		case xmlscan.Text:
			if s.Depth() > 0 {
				text += xmlscan.Unescape(tok.Text)
			}
		case xmlscan.CData:
			text += strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(tok.Text))
		}
	}
}

// standard does the same with the standard library.
func standard(doc []byte) (string, error) {
	var out strings.Builder
	text := ""
	flush := func() {
		if text != "" {
			fmt.Fprintf(&out, "%q ", text)
		}
		text = ""
	}
	d := xml.NewDecoder(bytes.NewReader(doc))
	depth := 0
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return strings.TrimSpace(out.String()), nil
		}
		if err != nil {
			return "", err
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			flush()
			depth++
			fmt.Fprintf(&out, "<{%s}%s", tok.Name.Space, tok.Name.Local)
			for _, a := range tok.Attr {
				if a.Name.Space != "xmlns" && a.Name.Local != "xmlns" {
					fmt.Fprintf(&out, " {%s}%s=%q", a.Name.Space, a.Name.Local, a.Value)
				}
			}
			out.WriteString("> ")
		case xml.EndElement:
			flush()
			depth--
			fmt.Fprintf(&out, "</{%s}%s> ", tok.Name.Space, tok.Name.Local)
		case xml.CharData:
			if depth > 0 {
				text += string(tok)
			}
		}
	}
}

// documents are sound ones; FuzzScanner starts from them as well.
var documents = []struct{ name, doc, want string }{
	{"plain", `<a><b>x</b></a>`, `<{}a> <{}b> "x" </{}b> </{}a>`},
	{"declared", "\xEF\xBB\xBF<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<a/>\n", `<{}a> </{}a>`},
	{"namespaces", `<p:a xmlns:p="u" xmlns="d"><b p:c="1" c='2'/></p:a>`, `<{u}a> <{d}b {u}c="1" {}c="2"> </{d}b> </{u}a>`},
	{"undone", `<a xmlns="d"><b xmlns=""/></a>`, `<{d}a> <{}b> </{}b> </{d}a>`},
	{"references", `<a b="&lt;&#65;">&amp;&#x20AC;&quot;&apos;</a>`, `<{}a {}b="<A"> "&€\"'" </{}a>`},
	{"sections", `<a><!-- <b> --><![CDATA[<&]]]]><?go on?>]]&gt;</a>`, `<{}a> "<&]]]]>" </{}a>`},
	{"line ends", "<a>x\r\ny\rz</a>", `<{}a> "x\ny\nz" </{}a>`},
	{"marks in values", `<a b="x > y ]]> ' /"/>`, `<{}a {}b="x > y ]]> ' /"> </{}a>`},
	{"not ascii", `<straße>é</straße>`, `<{}straße> "é" </{}straße>`},
	{"xml prefix", `<a xml:lang="nl"/>`, `<{}a {http://www.w3.org/XML/1998/namespace}lang="nl"> </{}a>`},
}

// TestTokens reads sound documents, whole and one byte at a time.
func TestTokens(t *testing.T) {
	t.Parallel()
	for _, c := range documents {
		for _, r := range []io.Reader{strings.NewReader(c.doc), iotest.OneByteReader(strings.NewReader(c.doc))} {
			if got, err := drain(r, xmlscan.Limits{}); err != nil || got != c.want {
				t.Errorf("%s: %v\n got %s\nwant %s", c.name, err, got, c.want)
			}
		}
	}
}

// TestRefused reads what must not be read.
//
// Rules: MUT-30
func TestRefused(t *testing.T) {
	t.Parallel()
	laughs := `<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]><l>&b;</l>`
	external := `<!DOCTYPE l [<!ENTITY x SYSTEM "file:///etc/passwd">]><l>&x;</l>`
	small := xmlscan.Limits{Depth: 3, Token: 100, Attributes: 4, Namespaces: 2}
	cases := []struct {
		name, doc string
		want      error
	}{
		{"billion laughs", laughs, xmlscan.ErrDoctype},
		{"external entity", external, xmlscan.ErrDoctype},
		{"an entity", `<a>&x;</a>`, xmlscan.ErrMalformed},
		{"deep", `<a><a><a><a/></a></a></a>`, xmlscan.ErrLimit},
		{"long text", "<a>" + strings.Repeat("x", 70000) + "</a>", xmlscan.ErrLimit},
		{"long tag", "<a b='" + strings.Repeat("x", 70000) + "'/>", xmlscan.ErrLimit},
		{"long comment", "<a><!--" + strings.Repeat("x", 70000) + "--></a>", xmlscan.ErrLimit},
		{"many attributes", `<a b="" c="" d="" e="" f=""/>`, xmlscan.ErrLimit},
		{"many namespaces", `<a xmlns:b="b" xmlns:c="c"><a xmlns:d="d"/></a>`, xmlscan.ErrLimit},
		{"nothing", ``, xmlscan.ErrTruncated},
		{"half", `<a><b>x`, xmlscan.ErrTruncated},
		{"half a tag", `<a b="`, xmlscan.ErrTruncated},
		{"half a section", `<a><![CDATA[x]]`, xmlscan.ErrTruncated},
		{"half a comment", `<a><!--`, xmlscan.ErrTruncated},
		{"two roots", `<a/><a/>`, xmlscan.ErrMalformed},
		{"text behind", `<a/>x`, xmlscan.ErrMalformed},
		{"crossed", `<a><b></a></b>`, xmlscan.ErrMalformed},
		{"no prefix", `<p:a/>`, xmlscan.ErrMalformed},
		{"no attribute prefix", `<a p:b=""/>`, xmlscan.ErrMalformed},
		{"twice", `<a b="" b=""/>`, xmlscan.ErrMalformed},
		{"twice by namespace", `<a xmlns:p="u" xmlns:q="u" p:b="" q:b=""/>`, xmlscan.ErrMalformed},
		{"xmlns undeclared", `<a xmlns:p=""/>`, xmlscan.ErrMalformed},
		{"control character", "<a>\x01</a>", xmlscan.ErrMalformed},
		{"reference to one", "<a>&#1;</a>", xmlscan.ErrMalformed},
		{"not UTF-8", "<a>\xff</a>", xmlscan.ErrMalformed},
		{"latin 1", `<?xml version="1.0" encoding="ISO-8859-1"?><a/>`, xmlscan.ErrMalformed},
		{"declared late", ` <?xml version="1.0"?><a/>`, xmlscan.ErrMalformed},
		{"section end", `<a>]]></a>`, xmlscan.ErrMalformed},
		{"bare", `<a b=c/>`, xmlscan.ErrMalformed},
	}
	for _, c := range cases {
		if got, err := drain(strings.NewReader(c.doc), small); !errors.Is(err, c.want) {
			t.Errorf("%s: %v after %s", c.name, err, got)
		}
	}
}

// TestRemedy looks for what to do about it in errors that a writer of files meets.
func TestRemedy(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]string{
		`<?xml version="1.0" encoding="ISO-8859-1"?><a/>`: `it says that it is in "ISO-8859-1"; only UTF-8 is read`,
		`<?xml version="1.1"?><a/>`:                       `the XML declaration says version="1.1"`,
		"\xFF\xFE<\x00a\x00/\x00>\x00":                    "only UTF-8 is read",
		"<a>&eacute;</a>":                                 "write the character itself, or a reference to it by number",
		"<a>&#0;</a>":                                     `"#0" is to no character that XML can have`,
	} {
		if _, err := drain(strings.NewReader(doc), xmlscan.Limits{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", doc, err, want)
		}
	}
}

// TestPlace looks at the line and column of an error.
func TestPlace(t *testing.T) {
	t.Parallel()
	_, err := drain(strings.NewReader("<a>\n  <b>\n</a>"), xmlscan.Limits{})
	var syntax *xmlscan.SyntaxError
	if !errors.As(err, &syntax) || syntax.Line != 3 || syntax.Column != 1 {
		t.Errorf("got %v", err)
	}
}

// TestBelow keeps an error of the reader below.
func TestBelow(t *testing.T) {
	t.Parallel()
	broken := errors.New("cut")
	r := io.MultiReader(strings.NewReader("<a><b>"), iotest.ErrReader(broken))
	if _, err := drain(r, xmlscan.Limits{}); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

// FuzzScanner holds the scanner against the standard library: what it takes, the other takes and reads the same way.
//
// Rules: MUT-30
func FuzzScanner(f *testing.F) {
	for _, c := range documents {
		f.Add([]byte(c.doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		got, err := drain(bytes.NewReader(doc), xmlscan.Limits{Depth: 50, Token: 1 << 16})
		if slow, again := drain(iotest.OneByteReader(bytes.NewReader(doc)), xmlscan.Limits{Depth: 50, Token: 1 << 16}); slow != got || (err == nil) != (again == nil) {
			t.Fatalf("in one read %s (%v), byte by byte %s (%v)", got, err, slow, again)
		}
		if err != nil || bytes.Contains(doc, []byte("ascii")) || bytes.Contains(doc, []byte("ASCII")) {
			return
		}
		want, err := standard(bytes.TrimPrefix(doc, []byte("\xEF\xBB\xBF")))
		if err != nil {
			// encoding/xml has the tables of names of an older edition.
			if ascii(doc) {
				t.Fatalf("taken, but: %v", err)
			}
			return
		}
		if got != want {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
	})
}

func ascii(doc []byte) bool {
	return bytes.IndexFunc(doc, func(r rune) bool { return r > 126 }) < 0
}
