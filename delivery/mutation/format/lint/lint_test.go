package lint_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/format/lint"
	"schakel/store/needs"
)

// file is a delivery of namespace 2.0 in which a line is a group: "+1" adds state 1, "1>2" changes 1 into 2, "-2"
// deletes 2. A letter behind an id gives the content of the state, and one before the line its object.
func file(kind string, lines ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<d:d xmlns:d=\"urn:d\" xmlns:ml=%q>\n<ml:mutatieBericht><ml:dataset>d</ml:dataset><ml:inhoud><ml:mutatieType>%s</ml:mutatieType>"+
		"<ml:gebied/><ml:leveringsId>1</ml:leveringsId><ml:objectTypen><ml:objectType>t</ml:objectType></ml:objectTypen></ml:inhoud>\n", format.Namespace2, kind)
	for _, line := range lines {
		fmt.Fprintf(&b, "<ml:mutatieGroep>%s</ml:mutatieGroep>\n", mutation(line))
	}
	return b.String() + "</ml:mutatieBericht></d:d>"
}

func mutation(line string) string {
	was, wordt, _ := strings.Cut(line, ">")
	if rest, add := strings.CutPrefix(line, "+"); add {
		was, wordt = "", rest
	}
	was = strings.TrimPrefix(was, "-")
	side := func(name, state string) string {
		if state == "" {
			return ""
		}
		id, text, _ := strings.Cut(state, ":")
		return fmt.Sprintf(`<ml:%s id=%q><d:o><T>%s</T></d:o></ml:%s>`, name, id, text, name)
	}
	if line == "" {
		return ""
	}
	return `<ml:mutatie objectType="t" objectId="a">` + side("was", was) + side("wordt", wordt) + "</ml:mutatie>"
}

func check(t testing.TB, o lint.Options, docs ...string) lint.Report {
	t.Helper()
	l := lint.New(o)
	for i, doc := range docs {
		must(t, l.File(fmt.Sprintf("f%d", i+1), strings.NewReader(doc)))
	}
	report, err := l.Report()
	must(t, err)
	return report
}

func rules(r lint.Report) string {
	var out []string
	for _, f := range r.Findings {
		out = append(out, fmt.Sprintf("%s@%s:%d/%d", f.Rule, f.File, f.Line, f.Group))
	}
	return strings.Join(out, " ")
}

// TestRules has a delivery for each rule, one that keeps it and one that breaks it.
//
// Rules: MUT-10, MUT-11, MUT-12, MUT-13, MUT-17, MUT-22, MUT-26, MUT-31, MUT-64
func TestRules(t *testing.T) {
	t.Parallel()
	uuid := "0a1b2c3d-0000-4000-8000-00000000000"
	long := strings.Repeat("lang-", 20)
	cases := []struct {
		name, want string
		docs       []string
	}{
		{"sound", "", []string{file("initial", "+1:a", "+2"), file("delta", "1:a>3:b", "3:b>4:a", "-4:a", "2>5")}},
		{"a delta alone", "", []string{file("delta", "1>2", "-2", "-7")}},
		{"undone under a new id", "", []string{file("initial", "+1:a"), file("delta", "1:a>2:b", "2:b>3:a")}},
		{"id twice", "id-twice@f2:4/2", []string{file("initial", "+1"), file("delta", "+2", "+2")}},
		{"id of the dead again", "id-twice@f1:5/3", []string{file("delta", "+1", "-1", "+1")}},
		{"was twice", "was-twice@f2:4/2", []string{file("initial", "+1"), file("delta", "1>2", "1>3")}},
		{"was twice in a delta alone", "was-twice@f1:4/2", []string{file("delta", "1>2", "-1")}},
		{"forward", "forward@f1:3/1", []string{file("delta", "1>2", "+1")}},
		{"forward over files", "forward@f1:3/1", []string{file("delta", "-"+uuid+"1"), file("delta", "+"+uuid+"1")}},
		{"unknown", "was-unknown@f2:3/1", []string{file("initial", "+1"), file("delta", "2>3")}},
		{"one id", "same-id@f2:3/1", []string{file("initial", "+1"), file("delta", "1>1")}},
		{"fields", "was-differs@f2:3/1", []string{file("initial", "+1:a"), file("delta", "1:b>2:b")}},
		{"object", "object-differs@f2:3/1", []string{file("initial", "+1"), strings.Replace(file("delta", "1>2"), `objectId="a"`, `objectId="b"`, 1)}},
		{"initial", "initial-was@f1:4/2", []string{file("initial", "+1", "-1")}},
		{"empty group", "empty-group@f1:3/1", []string{file("delta", "")}},
		{"no id", "no-id@f1:3/1", []string{strings.Replace(file("delta", "+1"), ` id="1"`, "", 1)}},
		{"type", "unknown-type@f1:3/1", []string{strings.Replace(file("delta", "+1"), `objectType="t"`, `objectType="u"`, 1)}},
		{"old", "old-namespace@f1:0/0", []string{strings.Replace(strings.Replace(file("delta", "+1"), "/2.0", "/1.0", 1), "<ml:mutatieType>delta</ml:mutatieType>", "", 1)}},
		{"unreadable", "unreadable@f1:3/1", []string{file("delta", "+1")[:400]}},
		{"long ids", "was-twice@f1:5/3", []string{file("delta", "+"+long+"1", "-"+long+"1", "-"+long+"1")}},
		{"after what cannot be read", "unreadable@f2:1/0", []string{file("initial", "+1"), "<a/>", file("delta", "2>3")}},
	}
	for _, c := range cases {
		for _, o := range []lint.Options{{}, {Memory: 1}} {
			r := check(t, o, c.docs...)
			if got := rules(r); got != c.want || r.Errors+r.Warnings != int64(len(r.Findings)) {
				t.Errorf("%s: %s\nwant %s", c.name, got, c.want)
			}
		}
	}
	if r := check(t, lint.Options{Complete: true}, file("delta", "-1")); rules(r) != "was-unknown@f1:3/1" {
		t.Errorf("a complete history: %v", r.Findings)
	}
	r := check(t, lint.Options{}, file("delta", "+"+uuid+"1", "+"+uuid+"1"))
	if want := "f1:4: error: group 2: a wordt has an id that was given before (id " + uuid + "1) [id-twice]"; r.Findings[0].String() != want {
		t.Errorf("%s", r.Findings[0])
	}
}

// TestDates looks at periods as the registers write them.
//
// Rules: MUT-02, MUT-64
func TestDates(t *testing.T) {
	t.Parallel()
	cases := map[string]int{
		"<x:tijdstipRegistratie xmlns:x='u'>2026-05-01T10:00:00.000</x:tijdstipRegistratie><eindRegistratie>2026-05-01T09:00:00.000</eindRegistratie>":    1,
		"<tijdstipRegistratie>2026-05-01T10:00:00</tijdstipRegistratie><eindRegistratie a='b'>2026-05-02</eindRegistratie>":                               0,
		"<tijdstipRegistratie>2026-05-01</tijdstipRegistratie>":                                                                                           0,
		"<tijdstipRegistratie>2026-05-01</tijdstipRegistratie><eindRegistratie/>":                                                                         0,
		"<logischTijdstipOntstaan>20260501</logischTijdstipOntstaan><logischTijdstipVervallen>20260430</logischTijdstipVervallen>":                        1,
		"<begindatumTijdvakGeldigheid>2026</begindatumTijdvakGeldigheid><einddatumTijdvakGeldigheid>2026-01-01</einddatumTijdvakGeldigheid>":              1,
		"<a>tijdstipRegistratie</a><b eindRegistratie='>'>2020-01-01</b><mijneindRegistratie>2020-01-01</mijneindRegistratie>":                            0,
		"<begindatumTijdvakGeldigheid>2026-01-01</begindatumTijdvakGeldigheid><einddatumTijdvakGeldigheid>2026-01-01</einddatumTijdvakGeldigheid><eind/>": 0,
	}
	for xml, want := range cases {
		if r := check(t, lint.Options{}, strings.Replace(file("delta", "+1:X"), "X", xml, 1)); len(r.Findings) != want {
			t.Errorf("%s: %v", xml, r.Findings)
		}
	}
}

// TestSamples judges the sample messages: the one that is not valid is reported so, and that its second WAS lacks a field of
// the state it refers to; another one writes a type otherwise than its header, and one has geometry that a tool made up.
//
// Rules: MUT-60, MUT-63, MUT-64
func TestSamples(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"voorbeeld-bgt-new.xml": "", "voorbeeld-bgt-new-change.xml": "", "voorbeeld-bgt-new-change-fix.xml": "schema:18 was-differs:266",
		"voorbeeld-bag-new.xml": "old-namespace:0 geometry:44", "voorbeeld-dkk-new.xml": "old-namespace:0", "voorbeeld-dkk-2.2.0-new.xml": "old-namespace:0 unknown-type:72",
	} {
		doc := needs.File(t, "mutation", name)
		var got []string
		for _, f := range check(t, lint.Options{}, string(doc)).Findings {
			got = append(got, fmt.Sprintf("%s:%d", f.Rule, f.Line))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestZip looks at zips: sound, of two deliveries, in the wrong order, and cut off.
//
// Rules: MUT-21, MUT-27, MUT-29
func TestZip(t *testing.T) {
	t.Parallel()
	one, two := file("delta", "+1"), strings.Replace(file("delta", "1>2"), "<ml:leveringsId>1", "<ml:leveringsId>2", 1)
	cases := map[string]struct {
		names []string
		docs  []string
		cut   int
		want  string
	}{
		"sound": {[]string{"1.xml", "2.xml"}, []string{one, file("delta", "1>2")}, 0, ""},
		"mixed": {[]string{"1.xml", "2.xml"}, []string{one, two}, 0, "mixed@z.zip/2.xml:0/0"},
		"twice": {[]string{"1.xml", "1.xml"}, []string{one, one}, 0, "unreadable@z.zip:0/0"},
		"none":  {nil, nil, 0, "unreadable@z.zip:0/0"},
		"order": {[]string{"2.xml", "1.xml"}, []string{one, one}, 0, "unreadable@z.zip:0/0"},
		"cut":   {[]string{"1.xml", "2.xml"}, []string{one, one}, 300, "unreadable@z.zip/2.xml"},
		"end":   {[]string{"1.xml"}, []string{one}, 10, "unreadable@z.zip:0/0"},
	}
	for name, c := range cases {
		var out bytes.Buffer
		z := zip.NewWriter(&out)
		for i, n := range c.names {
			w, err := z.Create(n)
			must(t, err)
			if _, err := io.WriteString(w, c.docs[i]); err != nil {
				t.Fatal(err)
			}
		}
		must(t, z.Close())
		l := lint.New(lint.Options{})
		must(t, l.Zip("z.zip", bytes.NewReader(out.Bytes()[:out.Len()-c.cut])))
		if r, err := l.Report(); err != nil || len(r.Findings) > 1 || !strings.HasPrefix(rules(r), c.want) || c.want == "" && len(r.Findings) > 0 {
			t.Errorf("%s: %s, %v", name, rules(r), err)
		}
	}
}

// TestMany has more uses of ids than fit in the memory given, and more findings than it stores.
//
// Rules: MUT-64
func TestMany(t *testing.T) {
	t.Parallel()
	var lines []string
	for n := range 5000 {
		lines = append(lines, fmt.Sprintf("+%d", n), fmt.Sprintf("%d>%d", n, n+10000))
	}
	lines = append(lines, "-17", "-4999", "-10017")
	slices.Reverse(lines[:2])
	dir := t.TempDir()
	r := check(t, lint.Options{Memory: 1, Dir: dir}, file("initial"), file("delta", lines...))
	if got := rules(r); got != "forward@f2:3/1 was-twice@f2:10003/10001 was-twice@f2:10004/10002" {
		t.Errorf("%s", got)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
	r = check(t, lint.Options{Most: 2}, file("initial", "-1", "-2", "-3"))
	if len(r.Findings) != 2 || r.Errors != 6 || r.Groups != 3 || r.Mutations != 3 {
		t.Errorf("%+v", r)
	}
}

// What has the name of a zip and is none is reported as that, and not as invalid XML; what begins as a zip is one whatever
// its name.
func TestNoZip(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"": "it is empty", "he": "it is no zip", "hello": "it is no zip", file("delta", "+1"): "it is no zip", "P": "ends in the middle",
		"PK\x03": "ends in the middle", "PK\x03\x04": "ends in the middle",
	} {
		l := lint.New(lint.Options{})
		must(t, l.Any("a.Zip", strings.NewReader(content)))
		if r, err := l.Report(); err != nil || len(r.Findings) != 1 || !strings.Contains(r.Findings[0].What, want) || r.Findings[0].File != "a.Zip" {
			t.Errorf("%.9q: %+v, %v", content, r, err)
		}
	}
	l := lint.New(lint.Options{})
	must(t, l.Any("a.xml", strings.NewReader("PK\x03\x04")))
	if r, err := l.Report(); err != nil || len(r.Findings) != 1 || !strings.Contains(r.Findings[0].What, "zip ends") {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestGeometry tells of geometry that no system can read, and of none other.
//
// Rules: MUT-42, MUT-64
func TestGeometry(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"155000 463000": "", "5.1 52.1": "", "155000 x": "geometry@f1:3/1", "155000": "geometry@f1:3/1"} {
		doc := file("delta", `+1:<gml:Point xmlns:gml="http://www.opengis.net/gml/3.2"><gml:pos>`+text+`</gml:pos></gml:Point>`)
		if r := check(t, lint.Options{}, doc); rules(r) != want || r.Errors != 0 {
			t.Errorf("%s: %v", text, r.Findings)
		}
	}
}

// TestNoGeometry tells of a state without geometry where others of its object type have one, and of GML that is not known;
// an object type of which none has geometry is one of no place.
//
// Rules: MUT-42, MUT-64
func TestNoGeometry(t *testing.T) {
	t.Parallel()
	point := func(id string) string {
		return "+" + id + `:<gml:Point xmlns:gml="http://www.opengis.net/gml/3.2"><gml:pos>155000 463000</gml:pos></gml:Point>`
	}
	gml := func(id, object string) string {
		return "+" + id + `:<gml:` + object + ` xmlns:gml="http://www.opengis.net/gml/3.2"/>`
	}
	for _, c := range []struct{ name, want, doc string }{
		{"no place", "", file("delta", "+1", "+2")},
		{"some without", "no-geometry@f1:4/2", file("delta", point("1"), "+2", "+3")},
		{"deleted", "", file("delta", point("1"), "-2")},
		{"of another type", "", strings.Replace(file("delta", point("1"), "+2"), `objectType="t" objectId="a"><ml:wordt id="2"`, `objectId="b"><ml:wordt id="2"`, 1)},
		{"not known", "no-geometry@f1:3/1 no-geometry@f1:4/2", file("delta", gml("1", "Blob"), gml("2", "Grid"))},
		{"a time", "", file("delta", gml("1", "TimeInstant"))},
	} {
		if r := check(t, lint.Options{}, c.doc); rules(r) != c.want || r.Errors != 0 || r.Warnings != int64(len(r.Findings)) {
			t.Errorf("%s: %v, want %s", c.name, r.Findings, c.want)
		}
	}
	r := check(t, lint.Options{}, file("delta", point("1"), "+2", "+3"))
	if !strings.Contains(r.Findings[0].What, "first of 2 of object type t, of which 1 have one") {
		t.Error(r.Findings[0])
	}
}

// TestBAG2 judges a delivery as BAG 2.0 has them: of namespace 1.0, with bagInfo before the message, without object types, and
// without ids on states. That is normal and no finding; a problem inside one is still a finding.
//
// Rules: MUT-19, MUT-61, MUT-64.
func TestBAG2(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/bag2.xml")
	must(t, err)
	for name, c := range map[string]struct{ old, new, want string }{
		"as it is":                 {"", "", ""},
		"the year after":           {"/v20200601\" xmlns:Hist", "/v20210601\" xmlns:Hist", ""},
		"ends before it begins":    {"<Historie:eindGeldigheid>2022", "<Historie:eindGeldigheid>2020", "dates"},
		"unreadable geometry":      {"1010 2010 0 1000 2010 0", "x", "geometry"},
		"empty group":              {"<ml:mutatieGroep>", "<ml:mutatieGroep/><ml:mutatieGroep>", "empty-group"},
		"another element":          {"bagInfo", "bagNieuws", "schema"},
		"no leveringsId":           {"<ml:leveringsId>0000000001</ml:leveringsId>", "", "schema"},
		"no BAG 2.0":               {"schemas/lvbag/extract-deelbestand-mutaties-lvc", "schemas/x", "old-namespace schema schema no-id no-id"},
		"a was without an object ": {"<ml:was><mlm:bagObject>", "<ml:was/><ml:was><mlm:bagObject>", "unreadable"},
	} {
		var got []string
		for _, f := range check(t, lint.Options{}, strings.ReplaceAll(string(raw), orNever(c.old), c.new)).Findings {
			got = append(got, string(f.Rule))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}

// orNever is text to replace, none of which is in any file when it is empty.
func orNever(text string) string {
	if text == "" {
		return "\x00"
	}
	return text
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
