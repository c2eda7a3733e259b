package xmlscan_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf16"

	"schakel/registry/xmlscan"
)

// TestParse reads a document into a tree and finds its parts.
func TestParse(t *testing.T) {
	t.Parallel()
	root, err := xmlscan.Parse([]byte("<a xmlns='u' x='1'>\n <b> two &amp; three </b><c xmlns='v'/><b>4</b>\n</a>\n<!-- end -->"))
	if err != nil {
		t.Fatal(err)
	}
	if got := root.Find("b").Text(); got != "two & three" {
		t.Errorf("text %q", got)
	}
	if got := len(root.All("b")); got != 2 || root.Find("c") != nil || root.Attribute("x") != "1" {
		t.Errorf("%d elements b, c %v, x %q", got, root.Find("c"), root.Attribute("x"))
	}
	if root.Find("b").Line != 2 || root.Find("no", "where").Text() != "" {
		t.Error("line or absent element")
	}
}

// TestNamespaces finds elements in any namespace, and no attribute of another one.
func TestNamespaces(t *testing.T) {
	t.Parallel()
	root, err := xmlscan.Parse([]byte("<a xmlns='u' xmlns:v='v' v:x='1'><v:b v:x='2' v:y='3' y='4'/><b/></a>"))
	if err != nil {
		t.Fatal(err)
	}
	if all := root.AllLocal("b"); len(all) != 2 || len(root.All("b")) != 1 || root.FindLocal("b") != all[0] || root.Find("b") != all[1] {
		t.Errorf("%d in any namespace, %d in that of the root", len(all), len(root.All("b")))
	}
	if b := root.FindLocal("b"); root.Attribute("x") != "" || b.Attribute("x") != "2" || b.Attribute("y") != "3" || root.FindLocal("c", "d").Attribute("x") != "" {
		t.Errorf("x %q, %q, y %q", root.Attribute("x"), b.Attribute("x"), b.Attribute("y"))
	}
}

// TestLimits reads a document up to the limits of a caller.
func TestLimits(t *testing.T) {
	t.Parallel()
	doc := []byte("<a><b/><b><c/></b></a>")
	if _, err := xmlscan.ParseWithin(doc, xmlscan.Limits{Depth: 3, Elements: 4}); err != nil {
		t.Error(err)
	}
	for _, limits := range []xmlscan.Limits{{Depth: 2, Elements: 4}, {Depth: 3, Elements: 3}} {
		if _, err := xmlscan.ParseWithin(doc, limits); !errors.Is(err, xmlscan.ErrTooLarge) {
			t.Errorf("%+v: %v", limits, err)
		}
	}
}

// TestParseRefuses goes through what is refused, and that the cause and the place are told.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	many := strings.Builder{}
	for i := range 65 {
		many.WriteString(" a" + string(rune('a'+i%26)) + string(rune('a'+i/26)) + "='1'")
	}
	for name, c := range map[string]struct {
		doc  string
		want string
		is   error
	}{
		"empty":             {"", "EOF", io.ErrUnexpectedEOF},
		"cut off":           {"<a><b>", "EOF", nil},
		"two roots":         {"<a/><b/>", "more than one root", nil},
		"text after":        {"<a/>x", "text outside", nil},
		"text before":       {"x<a/>", "text outside", nil},
		"document type":     {"<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>", "not allowed", xmlscan.ErrDocumentType},
		"undeclared entity": {"<a>&x;</a>", "entity", nil},
		"wrong end":         {"<a></b>", "closed by", nil},
		"undeclared prefix": {"<x:a/>", "prefix x is not declared", nil},
		"undeclared on attribute": {
			"<a y:b='1'/>", "prefix y is not declared", nil,
		},
		"attribute twice": {"<a b='1' b='2'/>", "given twice", nil},
		"many attributes": {"<a" + many.String() + "/>", "bounds", xmlscan.ErrTooLarge},
		"deep":            {strings.Repeat("<a>", 101), "bounds", xmlscan.ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := xmlscan.Parse([]byte(c.doc))
			var syntax *xmlscan.SyntaxError
			if err == nil || !errors.As(err, &syntax) || syntax.Line < 1 {
				t.Fatalf("got %v", err)
			}
			if !strings.Contains(err.Error(), c.want) || (c.is != nil && !errors.Is(err, c.is)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestDecode goes through the encodings that are taken and refused.
//
// Rules: AMQP-135
func TestDecode(t *testing.T) {
	t.Parallel()
	const body = "<a>Blåbær 😀</a>"
	for name, c := range map[string]struct {
		doc  []byte
		fits bool
	}{
		"utf-8":                       {[]byte(body), true},
		"utf-8 with a mark":           {[]byte("\xEF\xBB\xBF" + body), true},
		"utf-8 declared":              {[]byte(`<?xml version="1.0" encoding="UTF-8"?>` + body), true},
		"ascii declared":              {[]byte(`<?xml version="1.0" encoding="us-ascii"?><a/>`), true},
		"utf-16 big":                  {wide(body, binary.BigEndian, true), true},
		"utf-16 little":               {wide(`<?xml version='1.0' encoding='utf-16'?>`+body, binary.LittleEndian, true), true},
		"utf-16 without a mark":       {wide(body, binary.LittleEndian, false), true},
		"latin-1 declared":            {[]byte(`<?xml version="1.0" encoding="ISO-8859-1"?><a/>`), false},
		"latin-1":                     {[]byte("<a>Bl\xE5b\xE6r</a>"), false},
		"utf-8 declared, latin-1":     {[]byte("<?xml version='1.0' encoding='utf-8'?><a>Bl\xE5</a>"), false},
		"utf-16 declared, is utf-8":   {[]byte(`<?xml version="1.0" encoding="utf-16"?><a/>`), false},
		"utf-8 declared, is utf-16":   {wide(`<?xml version="1.0" encoding="utf-8"?><a/>`, binary.BigEndian, true), false},
		"utf-16 odd":                  {[]byte("\xFE\xFF\x00"), false},
		"utf-16 half a pair":          {[]byte("\xFE\xFF\xD8\x00\x00a"), false},
		"utf-16 ends in half a pair":  {[]byte("\xFE\xFF\xD8\x00"), false},
		"overlong utf-8 is not utf-8": {[]byte("<a>\xC0\xAF</a>"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := xmlscan.Decode(c.doc)
			if c.fits != (err == nil) || (err != nil && !errors.Is(err, xmlscan.ErrEncoding)) {
				t.Fatalf("got %v", err)
			}
			if c.fits {
				if _, err := xmlscan.Parse(text); err != nil {
					t.Errorf("decoded to %q: %v", text, err)
				}
			}
		})
	}
	if _, err := xmlscan.Decode(make([]byte, xmlscan.MaxBytes+1)); !errors.Is(err, xmlscan.ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
}

func wide(text string, order binary.AppendByteOrder, mark bool) []byte {
	var out []byte
	if mark {
		out = order.AppendUint16(out, 0xFEFF)
	}
	for _, unit := range utf16.Encode([]rune(text)) {
		out = order.AppendUint16(out, unit)
	}
	return out
}

// TestSkim leaves out attachments and nothing else, and still knows the line.
func TestSkim(t *testing.T) {
	t.Parallel()
	base64 := strings.Repeat("QUJDRA==\n", 1000)
	for name, c := range map[string]struct {
		doc  string
		line int
	}{
		"text":            {"<a>" + base64 + "</a>", 0},
		"spaced":          {"<a>\n  " + base64 + "<b/>" + base64 + "</a>", 0},
		"ends in it":      {"<a>" + base64, 1001},
		"broken after":    {"<a>" + base64 + "</b>", 1001},
		"broken between":  {"<a>" + base64 + "&x;" + base64 + "</a>", 1001},
		"long names":      {"<" + strings.Repeat("a", 2000) + "b></" + strings.Repeat("a", 2000) + "c>", 1},
		"long wrong name": {"<a>" + "</" + strings.Repeat("a", 2000) + ">", 1},
	} {
		r := xmlscan.NewReader([]byte(c.doc))
		r.Skim()
		err := r.Rest()
		var syntax *xmlscan.SyntaxError
		if (err == nil) != (c.line == 0) || (errors.As(err, &syntax) && syntax.Line != c.line) {
			t.Errorf("%s: got %.200v", name, err)
		}
	}
}

// FuzzParse looks for documents that make the reader panic, or that it reads in one go and not in the other.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"<a/>", "<a b='c'>&#65;<![CDATA[x]]></a>", "\xFE\xFF\x00<\x00a\x00/\x00>", "<?xml version='1.0'?><x:a xmlns:x='u'/>", "<a b='>@'>@<!-->@--><![CDATA[>@]]><c>@</c>@</a>"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		text, err := xmlscan.Decode(doc)
		if err != nil {
			return
		}
		_, whole := xmlscan.Parse(text)
		if streamed := xmlscan.NewReader(text).Rest(); (whole == nil) != (streamed == nil) {
			t.Errorf("tree %v, stream %v", whole, streamed)
		}
		long := bytes.ReplaceAll(text, []byte("@"), bytes.Repeat([]byte("Zm9v\n"), 500))
		r := xmlscan.NewReader(long)
		r.Skim()
		if _, whole := xmlscan.Parse(long); (whole == nil) != (r.Rest() == nil) {
			t.Errorf("tree %v, skimmed %v", whole, r.Rest())
		}
	})
}
