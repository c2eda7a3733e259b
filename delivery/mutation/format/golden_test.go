package format_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"schakel/delivery/mutation/format"
)

// register is a history model that looks like one of the three registers, with the names its fields have there.
type register struct {
	name, object, id string
	header           format.Header
	payload          func(v version) string
}

type version struct {
	begin, end, name, status string
	inactive                 bool
}

func header(prefix, space, root, dataset, object string, more ...format.Namespace) format.Header {
	return format.Header{
		Root: format.Name{Prefix: prefix, Space: space, Local: root}, Dataset: dataset, Type: format.Delta, DeliveryID: "levering-1",
		Area: "POLYGON((0 300000,280000 300000,280000 625000,0 625000,0 300000))", ObjectTypes: []string{object}, Namespaces: more,
	}
}

// registers are the three of the worked examples.
var registers = []register{
	{
		"bag", "pand", "0003100000117485", header("mlm", "urn:voorbeeld:bag", "bagMutaties", "bag", "pand", format.Namespace{Prefix: "o", URI: "urn:voorbeeld:bag-objecten"}),
		func(v version) string {
			return fmt.Sprintf("<mlm:bagObject><o:Pand><o:identificatie>0003100000117485</o:identificatie><o:status>%s</o:status>%s<o:inactief>%s</o:inactief>"+
				"<o:begindatumTijdvakGeldigheid>%s</o:begindatumTijdvakGeldigheid>%s</o:Pand></mlm:bagObject>",
				v.status, element("o:naam", v.name), map[bool]string{true: "ja", false: "nee"}[v.inactive], v.begin, element("o:einddatumTijdvakGeldigheid", v.end))
		},
	},
	{
		"bgt", "pand", "G0307.a", header("mlb", "http://www.kadaster.nl/schemas/mutatielevering-bgt/1.0", "bgtMutaties", "bgt", "pand",
			format.Namespace{URI: "http://www.opengis.net/citygml/2.0"}, format.Namespace{Prefix: "imgeo", URI: "http://www.geostandaarden.nl/imgeo/2.1"}),
		func(v version) string {
			return fmt.Sprintf("<mlb:bgtObject><cityObjectMember><BuildingPart xmlns=\"http://www.opengis.net/citygml/building/2.0\">"+
				"<imgeo:tijdstipRegistratie>%sT00:00:00.000</imgeo:tijdstipRegistratie>%s%s</BuildingPart></cityObjectMember></mlb:bgtObject>",
				v.begin, element("imgeo:eindRegistratie", v.end), element("imgeo:naam", v.name))
		},
	},
	{
		"brk", "Perceel", "NL.IMKAD.KadastraalObject.1", header("mld", "urn:voorbeeld:brk", "dkkMutaties", "kadastralekaart", "Perceel"),
		func(v version) string {
			return fmt.Sprintf("<mld:dkkObject><p:Perceel xmlns:p=\"urn:voorbeeld:perceel\"><p:logischTijdstipOntstaan>%s</p:logischTijdstipOntstaan>%s%s</p:Perceel></mld:dkkObject>",
				v.begin, element("p:logischTijdstipVervallen", v.end), element("p:naam", v.name))
		},
	},
}

func element(name, value string) string {
	if value == "" {
		return ""
	}
	return "<" + name + ">" + value + "</" + name + ">"
}

// history builds mutations and gives every state an id of its own.
type history struct {
	t   *testing.T
	reg register
	ids int
}

func (h *history) state(v version) *format.State {
	h.t.Helper()
	if h.ids++; v.status == "" {
		v.status = "in gebruik"
	}
	ns := append([]format.Namespace{{Prefix: h.reg.header.Root.Prefix, URI: h.reg.header.Root.Space}}, h.reg.header.Namespaces...)
	s, err := format.ParseState(fmt.Sprintf("00000000-0000-4000-8000-%012d", h.ids), []byte(h.reg.payload(v)), ns...)
	must(h.t, err)
	return s
}

func (h *history) mutation(was, wordt *format.State) format.Mutation {
	return format.Mutation{ObjectType: h.reg.object, ObjectID: h.reg.id, Was: was, Wordt: wordt}
}

// examples are the five worked examples of the format for one register, each continuing from the ones before.
func examples(t *testing.T, reg register) []*format.Group {
	h := &history{t: t, reg: reg}
	v1 := version{begin: "2026-04-01", name: "fuot"}
	v2 := version{begin: "2026-05-01", name: "goed"}
	first := h.state(v1)
	groups := []*format.Group{{Mutations: []format.Mutation{h.mutation(nil, first)}}}

	v1.end = "2026-05-01"
	ended, second := h.state(v1), h.state(v2)
	groups = append(groups, &format.Group{Mutations: []format.Mutation{h.mutation(first, ended), h.mutation(nil, second)}})

	v2.end = "2026-06-01"
	over := &format.Group{Mutations: []format.Mutation{h.mutation(second, h.state(v2))}}
	third := version{begin: "2026-06-01", name: "goed", status: "beëindigd"}
	if reg.name == "bag" {
		over.Mutations = append(over.Mutations, h.mutation(nil, h.state(third)))
	}
	groups = append(groups, over)

	v1.name = "fout"
	groups = append(groups, &format.Group{Mutations: []format.Mutation{h.mutation(ended, h.state(v1))}})

	wrong := version{begin: "2026-07-01", name: "ten onrechte"}
	state := h.state(wrong)
	groups = append(groups, &format.Group{Mutations: []format.Mutation{h.mutation(nil, state)}})
	undo := h.mutation(state, nil)
	if reg.name == "bag" {
		wrong.inactive = true
		undo = h.mutation(state, h.state(wrong))
	}
	return append(groups, &format.Group{Mutations: []format.Mutation{undo}})
}

func write(t testing.TB, h format.Header, groups []*format.Group) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := format.NewWriter(&out, h)
	must(t, err)
	for _, g := range groups {
		must(t, w.WriteGroup(g))
	}
	must(t, w.Close())
	return out.Bytes()
}

// TestWorkedExamples writes the worked examples for three registers, compares them with what was written before, and
// reads them back. SCHAKEL_GOLDEN=write writes them again.
//
// Rules: MUT-04, MUT-05, MUT-06, MUT-07, MUT-11, MUT-12
func TestWorkedExamples(t *testing.T) {
	t.Parallel()
	for _, reg := range registers {
		groups := examples(t, reg)
		got := write(t, reg.header, groups)
		file := filepath.Join("testdata", reg.name+".xml")
		if os.Getenv("SCHAKEL_GOLDEN") == "write" {
			must(t, os.WriteFile(file, got, 0o644))
		}
		want, err := os.ReadFile(file)
		must(t, err)
		if !bytes.Equal(got, want) {
			t.Errorf("%s: got\n%s", reg.name, got)
		}
		h, again, err := readAll(bytes.NewReader(got), format.Limits{})
		if err != nil || len(h.Deviations) > 0 || len(again) != 6 {
			t.Fatalf("%s: %d groups, %+v, %v", reg.name, len(again), h, err)
		}
		if twice := write(t, h, again); !bytes.Equal(twice, got) {
			t.Errorf("%s: read and written again it is\n%s", reg.name, twice)
		}
		last := again[5].Mutations[0]
		if want := map[string]format.Kind{"bag": format.Change, "bgt": format.Delete, "brk": format.Delete}[reg.name]; last.Kind() != want {
			t.Errorf("%s: the wrong version goes by a %v", reg.name, last.Kind())
		}
		if ended := again[2].Mutations; (len(ended) == 2) != (reg.name == "bag") || strings.Contains(string(ended[0].Was.XML), "2026-06-01") {
			t.Errorf("%s: the end is %d mutations", reg.name, len(ended))
		}
	}
}

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
		must(t, err)
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
	must(t, err)
	text := write(t, h, []*format.Group{{Mutations: []format.Mutation{{Wordt: s}}}})
	for _, inside := range []string{"", "<a/><b/>", "text<a/>", strings.Repeat("<?schakel-wrapped?><a>", 200)} {
		broken := bytes.Replace(text, []byte("<Ding/>"), []byte(inside), 1)
		if _, groups, err := readAll(bytes.NewReader(broken), format.Limits{}); err == nil || len(groups) != 0 {
			t.Errorf("%q is read", inside)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
