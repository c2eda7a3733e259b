package format_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"schakel/delivery/mutation/format"
	"schakel/store/needs"
)

// xmllint asks the foreign validator about a file.
func xmllint(t *testing.T, schema, file string) error {
	t.Helper()
	out, err := exec.Command(needs.Program(t, "xmllint"), "--noout", "--nonet", "--schema", schema, file).CombinedOutput()
	if err != nil {
		return errors.New(string(out))
	}
	return nil
}

// schemas puts the schema of a register, the generic one, and a stub of CityGML in a folder.
func schemas(t *testing.T, reg register) string {
	t.Helper()
	dir := t.TempDir()
	put := func(name string, text []byte) {
		must(t, os.WriteFile(filepath.Join(dir, name), text, 0o644))
	}
	put("mutatielevering-generiek-2.0.xsd", sample(t, "mutatielevering-generiek-2.0.xsd"))
	own := filepath.Join(dir, "own.xsd")
	if reg.name == "bgt" {
		text := string(sample(t, "mutatielevering-bgt-1.0.xsd"))
		put("own.xsd", []byte(strings.ReplaceAll(text, "http://schemas.opengis.net/citygml/2.0/cityGMLBase.xsd", "city.xsd")))
		put("city.xsd", []byte(`<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="http://www.opengis.net/citygml/2.0">`+
			`<xs:element name="cityObjectMember"/></xs:schema>`))
		return own
	}
	var text bytes.Buffer
	object := map[string]string{"bag": "bagObject", "brk": "dkkObject"}[reg.name]
	must(t, format.WriteSchema(&text, reg.header.Root, object, "mutatielevering-generiek-2.0.xsd"))
	put("own.xsd", text.Bytes())
	return own
}

// TestSchema has a foreign validator judge what we write against the schemas of the format, and judge the samples as we
// do: the one with a second mutatieType is not valid.
//
// Rules: MUT-22, MUT-24, MUT-60, MUT-62, MUT-63
func TestSchema(t *testing.T) {
	t.Parallel()
	for _, reg := range registers {
		schema := schemas(t, reg)
		none := reg.header
		none.Type, none.Area, none.Dataset = format.Initial, "", "a <b> & \"c\" \t "
		for _, groups := range [][]*format.Group{examples(t, reg), nil} {
			file := filepath.Join(t.TempDir(), "f.xml")
			h := reg.header
			if groups == nil {
				h = none
			}
			must(t, os.WriteFile(file, write(t, h, groups), 0o644))
			if err := xmllint(t, schema, file); err != nil {
				t.Errorf("%s: %v", reg.name, err)
			}
		}
		if reg.name != "bgt" {
			continue
		}
		for name, valid := range map[string]bool{"voorbeeld-bgt-new.xml": true, "voorbeeld-bgt-new-change.xml": true, "voorbeeld-bgt-new-change-fix.xml": false} {
			err := xmllint(t, schema, needs.Shared(t, "mutation", name))
			h, _, ours := readAll(bytes.NewReader(sample(t, name)), format.Limits{})
			if ours != nil || (err == nil) != valid || (len(h.Deviations) == 0) != valid {
				t.Errorf("%s: the validator says %v, we say %v", name, err, h.Deviations)
			}
		}
	}
}

// TestRoundTrip reads each sample, writes it, and reads it again: every payload keeps its bytes and its meaning. Then it
// writes each payload alone, and puts it in a file without any of the namespaces it came from.
//
// Rules: MUT-25, MUT-43
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"voorbeeld-bag-new.xml", "voorbeeld-bgt-new-change-fix.xml", "voorbeeld-dkk-new.xml", "voorbeeld-dkk-2.2.0-new.xml"} {
		h, groups, err := readAll(bytes.NewReader(sample(t, name)), format.Limits{})
		must(t, err)
		if h.Type == "" {
			h.Type = format.Delta
		}
		bare := h
		bare.Namespaces, bare.Root = []format.Namespace{{URI: "urn:other"}, {Prefix: "gml", URI: "urn:other"}}, format.Name{}
		for i, h := range []format.Header{h, bare} {
			written := write(t, h, groups)
			_, again, err := readAll(bytes.NewReader(written), format.Limits{})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			compare(t, name, groups, again, i == 0)
		}
	}
}

func compare(t *testing.T, name string, groups, again []*format.Group, exact bool) {
	t.Helper()
	if len(groups) != len(again) {
		t.Fatalf("%s: %d groups became %d", name, len(groups), len(again))
	}
	for i, g := range groups {
		for j, m := range g.Mutations {
			n := again[i].Mutations[j]
			if m.ObjectID != n.ObjectID || m.ObjectType != n.ObjectType || m.Kind() != n.Kind() {
				t.Errorf("%s: %+v became %+v", name, m, n)
			}
			for _, pair := range [][2]*format.State{{m.Was, n.Was}, {m.Wordt, n.Wordt}} {
				if pair[0] != nil {
					same(t, name, pair[0], pair[1], exact)
				}
			}
		}
	}
}

func same(t *testing.T, name string, a, b *format.State, exact bool) {
	t.Helper()
	if exact && (!bytes.Equal(a.XML, b.XML) || !reflect.DeepEqual(a.Namespaces, b.Namespaces)) {
		t.Errorf("%s: the payload changed: %v, %v", name, a.Namespaces, b.Namespaces)
	}
	alone, err := format.ParseState(a.ID, a.Standalone())
	if err != nil {
		t.Fatalf("%s: %v in %.300s", name, err, a.Standalone())
	}
	da, errA := a.Digest()
	db, errB := b.Digest()
	dc, errC := alone.Digest()
	if errA != nil || errB != nil || errC != nil || da != db || da != dc || a.ID != b.ID || a.Object != alone.Object {
		t.Errorf("%s: the meaning of %s changed (%v, %v, %v)", name, a.ID, errA, errB, errC)
	}
}

// TestCannotBeWritten asks for files that would break a rule of the format.
//
// Rules: MUT-13, MUT-22
func TestCannotBeWritten(t *testing.T) {
	t.Parallel()
	state := func(id, xml string) *format.State { return &format.State{ID: id, XML: []byte(xml)} }
	cases := map[string][]format.Mutation{
		"no mutation":       {},
		"no state":          {{}},
		"one id":            {{Was: state("1", "<a/>"), Wordt: state("1", "<a/>")}},
		"no id":             {{Wordt: state("", "<a/>")}},
		"no element":        {{Wordt: state("1", "")}},
		"two elements":      {{Wordt: state("1", "<a/><a/>")}},
		"half":              {{Wordt: state("1", "<a>")}},
		"breaking out":      {{Wordt: state("1", "<a></a></x><y>")}},
		"unknown prefix":    {{Wordt: state("1", "<p:a/>")}},
		"an entity":         {{Wordt: state("1", "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>")}},
		"of the format":     {{Wordt: state("1", `<a xmlns="`+format.Namespace2+`"/>`)}},
		"control character": {{ObjectID: "\x01", Wordt: state("1", "<a/>")}},
		"bad id":            {{Wordt: state("\xff", "<a/>")}},
	}
	h := registers[0].header
	for name, mutations := range cases {
		var out bytes.Buffer
		w, err := format.NewWriter(&out, h)
		must(t, err)
		if err := w.WriteGroup(&format.Group{Mutations: mutations}); !errors.Is(err, format.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
		if err := w.Close(); err != nil || strings.Contains(out.String(), "mutatieGroep") {
			t.Errorf("%s: a part of it was written: %v", name, err)
		}
	}
	for name, change := range map[string]func(*format.Header){
		"type": func(h *format.Header) { h.Type = "x" }, "dataset": func(h *format.Header) { h.Dataset = "" },
		"root": func(h *format.Header) { h.Root.Local = "a b" }, "types": func(h *format.Header) { h.ObjectTypes = nil },
		"text": func(h *format.Header) { h.Area = "\x00" }, "prefix": func(h *format.Header) { h.Root.Space = "" },
	} {
		bad := h
		change(&bad)
		if _, err := format.NewWriter(&bytes.Buffer{}, bad); err == nil {
			t.Errorf("a header with a wrong %s was written", name)
		}
	}
}

// TestRoom writes states that are as deep, and have as many attributes and namespaces, as are taken, into a file that needs the
// most around them: it can be read. With one more they are not taken, alone or in a file.
//
// Rules: MUT-30
func TestRoom(t *testing.T) {
	t.Parallel()
	attrs, spaces, inner := "", "", ""
	var around []format.Namespace
	for i := range 600 {
		attrs += fmt.Sprintf(" a%d=''", i)
		inner += fmt.Sprintf(" xmlns:i%d='u'", i)
		spaces += fmt.Sprintf(" xmlns:n%d='urn:%d'", i, i)
		if i < 100 {
			around = append(around, format.Namespace{Prefix: fmt.Sprint("n", i), URI: fmt.Sprint("urn:", i)})
		}
	}
	upTo := func(list string, n int) string { return strings.Join(strings.SplitAfter(list, "'")[:2*n], "") }
	nested := ""
	for i := range 3 {
		nested = "<x" + strings.ReplaceAll(upTo(inner, 133), ":i", fmt.Sprintf(":i%c", 'a'+i)) + ">" + nested + "</x>"
	}
	for name, c := range map[string]struct {
		xml    string
		spaces []format.Namespace
		fits   bool
	}{
		"deep":          {strings.Repeat("<x>", 95) + strings.Repeat("</x>", 95), nil, true},
		"deeper":        {strings.Repeat("<x>", 96) + strings.Repeat("</x>", 96), nil, false},
		"attributes":    {"<x" + upTo(attrs, 199) + "/>", nil, true},
		"one more":      {"<x" + upTo(attrs, 200) + "/>", nil, false},
		"declared":      {"<x" + upTo(attrs, 99) + ">" + mentioned(100) + "</x>", around, true},
		"too many":      {"<x" + upTo(attrs, 100) + ">" + mentioned(100) + "</x>", around, false},
		"namespaces":    {nested, nil, true},
		"one too many":  {strings.Replace(nested, "<x ", "<x xmlns:more='u' ", 1), nil, false},
		"in each other": {strings.Replace(nested, "<x ", "<x xmlns='u' ", 3), nil, false},
	} {
		alone, err := format.ParseState("1", []byte(c.xml), c.spaces...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		in := strings.Replace(group("<ml:toevoeging objectType='T'><ml:wordt id='2'>"+c.xml+"</ml:wordt></ml:toevoeging>"), "<ml:mutatieBericht>", "<ml:mutatieBericht"+upTo(spaces, len(c.spaces))+">", 1)
		_, groups, err := readAll(strings.NewReader(in), format.Limits{Depth: 110})
		if err != nil {
			t.Fatalf("%s in a file: %v", name, err)
		}
		for _, s := range []*format.State{alone, groups[0].Mutations[0].Wordt} {
			if err := s.Fits(); c.fits != (err == nil) || err != nil && !errors.Is(err, format.ErrLimit) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if !c.fits {
			continue
		}
		var out bytes.Buffer
		h := format.Header{Root: format.Name{Prefix: "r", Space: "urn:r", Local: "r"}, Type: format.Delta, Dataset: "d", DeliveryID: "1", ObjectTypes: []string{"T"}}
		h.Namespaces = []format.Namespace{{URI: "urn:default"}}
		for i := range 97 {
			h.Namespaces = append(h.Namespaces, format.Namespace{Prefix: fmt.Sprint("n", i), URI: "urn:other"})
		}
		w, err := format.NewWriter(&out, h)
		if err == nil {
			err = errors.Join(w.WriteGroup(groups[0]), w.Close())
		}
		if _, again, readErr := readAll(&out, format.Limits{}); err != nil || readErr != nil || len(again) != 1 {
			t.Errorf("%s written: %v, %v", name, err, readErr)
		}
	}
}

// mentioned is text with prefixes in it.
func mentioned(n int) string {
	text := ""
	for i := range n {
		text += fmt.Sprintf(" n%d:x", i)
	}
	return text
}

// TestTruthOfDigests compares states that differ in writing only, and in a field.
//
// Rules: MUT-15, MUT-17
func TestTruthOfDigests(t *testing.T) {
	t.Parallel()
	one := `<a:x xmlns:a="u" p="1" q="2"><a:y>t&amp;u</a:y><a:z/></a:x>`
	cases := []struct {
		xml  string
		same bool
	}{
		{one, true},
		{"<x xmlns='u' q='2' p='1'>\n <y>t&#38;u</y><!-- c --> <z></z>\n</x>", true},
		{"<x xmlns='u' q='2' p='1'><y><![CDATA[t&u]]></y><z/></x>", true},
		{strings.Replace(one, "t&amp;u", "t&amp;v", 1), false},
		{strings.Replace(one, `p="1"`, "p=\"1\n\"", 1), false},
		{strings.Replace(one, `p="1"`, `p="3"`, 1), false},
		{strings.Replace(one, `"u"`, `"v"`, 1), false},
		{strings.Replace(one, "<a:z/>", "", 1), false},
		{`<a:x xmlns:a="u" p="1" q="2"><a:y>t&amp;u<a:z/></a:y></a:x>`, false},
	}
	want := digest(t, one)
	for _, c := range cases {
		if got := digest(t, c.xml); (got == want) != c.same {
			t.Errorf("%s: the same is %v", c.xml, !c.same)
		}
	}
}

// TestDigestOfWhiteSpace compares line ends and white space in attributes as XML reads them.
//
// Rules: MUT-15
func TestDigestOfWhiteSpace(t *testing.T) {
	t.Parallel()
	want := digest(t, "<x p='a b'><y>c\nd</y></x>")
	for xml, same := range map[string]bool{
		"<x p='a\nb'><y>c\r\nd</y></x>":                true,
		"<x p='a\tb'><y>c\rd</y></x>":                  true,
		"<x p='a\r\nb'><y><![CDATA[c\rd]]></y></x>":    true,
		"<x p='a&#32;b'><y><![CDATA[c\r\nd]]></y></x>": true,
		"<x p='a&#10;b'><y>c\nd</y></x>":               false,
		"<x p='a b'><y>c&#13;&#10;d</y></x>":           false,
	} {
		if got := digest(t, xml); (got == want) != same {
			t.Errorf("%q: the same is %v", xml, !same)
		}
	}
}

func digest(t *testing.T, xml string) [32]byte {
	t.Helper()
	s, err := format.ParseState("1", []byte(xml))
	must(t, err)
	d, err := s.Digest()
	must(t, err)
	return d
}
