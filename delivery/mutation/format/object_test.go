package format_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"schakel/delivery/mutation/format"
)

// TestObjectElement writes objects with and without an element of the dataset around them, and reads them as they were
// published.
//
// Rules: MUT-24, MUT-25.
func TestObjectElement(t *testing.T) {
	t.Parallel()
	h := format.Header{
		Root: format.Name{Prefix: "d", Space: "urn:d", Local: "mutaties"}, Dataset: "d", Type: format.Delta, DeliveryID: "1",
		ObjectTypes: []string{"ding", "Weg"}, Object: format.ObjectElement, Namespaces: []format.Namespace{{Prefix: "x", URI: "urn:x"}},
	}
	for xml, wraps := range map[string]bool{
		`<d:object><d:Ding/></d:object>`:                                 false,
		`<d:dingObject><x:Ding/></d:dingObject>`:                         false,
		`<d:registratieobject><x:ding/></d:registratieobject>`:           false,
		`<d:lid><d:Ding/></d:lid>`:                                       false,
		`<d:Ding><d:Naam>een</d:Naam></d:Ding>`:                          true,
		`<d:ding><d:Naam>een</d:Naam></d:ding>`:                          true,
		`<d:weg/>`:                                                       true,
		`<d:Gebouw><d:naam/></d:Gebouw>`:                                 true,
		`<x:Ding>een <x:b>twee</x:b></x:Ding>`:                           true,
		`<object xmlns="urn:x"><Ding/></object>`:                         true,
		`<Ding xmlns="urn:e"><d:naam xmlns:d="urn:x"/><!-- c --></Ding>`: true,
		`<Ding/>`: true,
	} {
		s, err := format.ParseState("s1", []byte(xml), format.Namespace{Prefix: "d", URI: "urn:d"}, format.Namespace{Prefix: "x", URI: "urn:x"})
		if err != nil {
			t.Fatal(err)
		}
		g := &format.Group{Mutations: []format.Mutation{{ObjectType: "ding", ObjectID: "1", Wordt: s}}}
		text := string(write(t, h, []*format.Group{g}))
		if got := strings.Contains(text, "<d:object>"+xml+"</d:object>"); got != wraps || strings.Contains(text, "schakel-wrapped") != wraps {
			t.Errorf("%s: want it wrapped: %t\n%s", xml, wraps, text)
		}
		_, groups, err := readAll(strings.NewReader(text), format.Limits{})
		if err != nil {
			t.Fatalf("%s: %v", xml, err)
		}
		back := groups[0].Mutations[0].Wordt
		one, err1 := s.Digest()
		two, err2 := back.Digest()
		if string(back.XML) != xml || err1 != nil || err2 != nil || one != two || back.Object != s.Object || len(back.Namespaces) != len(s.Namespaces) {
			t.Errorf("%s came back as %s, with %v", xml, back.XML, back.Namespaces)
		}
		again := strings.ReplaceAll(text, "<?schakel-wrapped?>", "")
		if _, groups, err = readAll(strings.NewReader(again), format.Limits{}); err != nil || wraps != strings.HasPrefix(string(groups[0].Mutations[0].Wordt.XML), "<d:object><") && wraps {
			t.Errorf("%s: an element that a publisher wrote is not read: %v", again, err)
		}
	}
	if _, err := format.NewWriter(io.Discard, format.Header{Dataset: "d", Type: format.Delta, DeliveryID: "1", ObjectTypes: []string{"t"}, Object: "object"}); err == nil {
		t.Error("an element of the dataset without its namespace")
	}
}

// TestObjectElementRefused reads files in which the element around an object does not hold one object.
//
// Rules: MUT-24, MUT-30.
func TestObjectElementRefused(t *testing.T) {
	t.Parallel()
	h := format.Header{Root: format.Name{Prefix: "d", Space: "urn:d", Local: "mutaties"}, Dataset: "d", Type: format.Delta, DeliveryID: "1", ObjectTypes: []string{"t"}, Object: "object"}
	s, err := format.ParseState("s1", []byte(`<Ding/>`))
	if err != nil {
		t.Fatal(err)
	}
	text := write(t, h, []*format.Group{{Mutations: []format.Mutation{{Wordt: s}}}})
	for _, inside := range []string{"", "<a/><b/>", "text<a/>", strings.Repeat("<?schakel-wrapped?><a>", 200)} {
		broken := bytes.Replace(text, []byte("<Ding/>"), []byte(inside), 1)
		if _, groups, err := readAll(bytes.NewReader(broken), format.Limits{}); err == nil || len(groups) != 0 {
			t.Errorf("%q is read", inside)
		}
	}
}
