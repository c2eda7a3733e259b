package format_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"schakel/delivery/mutation/format"
	"schakel/store/needs"
)

// sample reads a schema or message that another party made.
func sample(t testing.TB, name string) []byte {
	t.Helper()
	return needs.File(t, "mutation", name)
}

// readAll gives the header and the groups that come before an error or the end.
func readAll(r io.Reader, limits format.Limits) (format.Header, []*format.Group, error) {
	in := format.NewReader("f.xml", r, limits)
	var groups []*format.Group
	for {
		g, err := in.Next()
		if errors.Is(err, io.EOF) {
			h, err := in.Header()
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return h, groups, err
		}
		if err != nil {
			h, _ := in.Header()
			return h, groups, err
		}
		groups = append(groups, g)
	}
}

// TestSamples reads the sample messages, the one that the schema refuses included.
//
// Rules: MUT-19, MUT-23, MUT-60, MUT-63
func TestSamples(t *testing.T) {
	t.Parallel()
	cases := []struct {
		file, version, root, dataset string
		kind                         format.DeliveryType
		groups, mutations, odd       int
		object, id                   string
	}{
		{"voorbeeld-bag-new.xml", format.Namespace1, "bagMutaties", "bag", "", 1, 1, 0, "Woonplaats", "00012018101000000000"},
		{"voorbeeld-bgt-new.xml", format.Namespace2, "bgtMutaties", "bgt", format.Initial, 1, 1, 0, "BuildingPart", "98c76f28-1ba5-11e7-abc8-a3d0097a97f2"},
		{"voorbeeld-bgt-new-change.xml", format.Namespace2, "bgtMutaties", "bgt", format.Delta, 2, 3, 0, "BuildingPart", "08276e16-6a0b-4647-99af-d643c735bb22"},
		{"voorbeeld-bgt-new-change-fix.xml", format.Namespace2, "bgtMutaties", "bgt", format.Delta, 3, 4, 1, "BuildingPart", "08276e16-6a0b-4647-99af-d643c735bb22"},
		{"voorbeeld-dkk-new.xml", format.Namespace1, "dkkMutaties", "kadastralekaartv3", "", 1, 1, 0, "Perceel", "fc5cba6f-f1cf-4618-9292-cf219c26775a"},
		{"voorbeeld-dkk-2.2.0-new.xml", format.Namespace1, "dkkMutaties", "kadastralekaartv4", "", 2, 2, 0, "KadastraleGrens", "d210cbac-83fb-11e7-bb31-be2e44b06b34"},
	}
	for _, c := range cases {
		doc := sample(t, c.file)
		h, groups, err := readAll(iotest.OneByteReader(bytes.NewReader(doc)), format.Limits{})
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		mutations := 0
		for _, g := range groups {
			mutations += len(g.Mutations)
			for _, m := range g.Mutations {
				if m.Wordt != nil && !bytes.Contains(doc, m.Wordt.XML) {
					t.Errorf("%s: a payload is not as it stood in the file", c.file)
				}
			}
		}
		first := groups[0].Mutations[0].Wordt
		if h.Version != c.version || h.Root.Local != c.root || h.Dataset != c.dataset || h.Type != c.kind || len(h.Deviations) != c.odd {
			t.Errorf("%s: header %+v", c.file, h)
		}
		if len(groups) != c.groups || mutations != c.mutations || first.Object != c.object || first.ID != c.id {
			t.Errorf("%s: %d groups, %d mutations, %s %s", c.file, len(groups), mutations, first.Object, first.ID)
		}
	}
}

const (
	head = `<d:doos xmlns:d="urn:d" xmlns:ml="` + format.Namespace2 + `"><ml:mutatieBericht><ml:dataset>d</ml:dataset>` +
		`<ml:inhoud><ml:mutatieType>delta</ml:mutatieType><ml:gebied/><ml:leveringsId>1</ml:leveringsId>` +
		`<ml:objectTypen><ml:objectType>T</ml:objectType></ml:objectTypen></ml:inhoud>`
	tail = `</ml:mutatieBericht></d:doos>`
	was  = `<ml:was id="1"><d:o><T>x</T></d:o></ml:was>`
	word = `<ml:wordt id="2"><d:o><T>y</T></d:o></ml:wordt>`
)

func group(in string) string { return head + "<ml:mutatieGroep>" + in + "</ml:mutatieGroep>" + tail }

// TestKinds reads each kind of mutation under each name it may have.
//
// Rules: MUT-05, MUT-22, MUT-23
func TestKinds(t *testing.T) {
	t.Parallel()
	cases := []struct {
		in   string
		want format.Kind
	}{
		{"<ml:toevoeging>" + word + "</ml:toevoeging>", format.Add},
		{"<ml:wijziging>" + was + word + "</ml:wijziging>", format.Change},
		{"<ml:verwijdering>" + was + "</ml:verwijdering>", format.Delete},
		{"<ml:mutatie>" + word + "</ml:mutatie>", format.Add},
		{"<ml:mutatie>" + was + word + "</ml:mutatie>", format.Change},
		{"<ml:mutatie>" + was + "</ml:mutatie>", format.Delete},
	}
	for _, c := range cases {
		_, groups, err := readAll(strings.NewReader(group(c.in)), format.Limits{})
		if err != nil || len(groups) != 1 || groups[0].Mutations[0].Kind() != c.want || groups[0].Mutations[0].Type() != "T" {
			t.Errorf("%s: %v, %v", c.in, groups, err)
		}
	}
	for _, empty := range []string{head + tail, head + "<ml:mutatieGroep/>" + tail} {
		if _, groups, err := readAll(strings.NewReader(empty), format.Limits{}); err != nil || len(groups) > 1 {
			t.Errorf("%v, %v", groups, err)
		}
	}
}

// TestIllegal reads files that are no mutation delivery, and looks at the place each error tells.
//
// Rules: MUT-05, MUT-30
func TestIllegal(t *testing.T) {
	t.Parallel()
	add := "<ml:toevoeging>" + word + "</ml:toevoeging>"
	deep := strings.Repeat("<d:o>", 200) + strings.Repeat("</d:o>", 200)
	cases := []struct {
		name, doc string
		want      error
		group     int
	}{
		{"sound", group(add), nil, 0},
		{"no state", group("<ml:wijziging/>"), format.ErrFormat, 1},
		{"two wordt", group("<ml:toevoeging>" + word + word + "</ml:toevoeging>"), format.ErrFormat, 1},
		{"two was", group("<ml:verwijdering>" + was + was + "</ml:verwijdering>"), format.ErrFormat, 1},
		{"was behind wordt", group("<ml:wijziging>" + word + was + "</ml:wijziging>"), format.ErrFormat, 1},
		{"an add with a was", group("<ml:toevoeging>" + was + word + "</ml:toevoeging>"), format.ErrFormat, 1},
		{"a change without a was", group("<ml:wijziging>" + word + "</ml:wijziging>"), format.ErrFormat, 1},
		{"a delete with a wordt", group("<ml:verwijdering>" + was + word + "</ml:verwijdering>"), format.ErrFormat, 1},
		{"no object", group(`<ml:toevoeging><ml:wordt id="1"/></ml:toevoeging>`), format.ErrFormat, 1},
		{"two objects", group(`<ml:toevoeging><ml:wordt id="1"><d:o/><d:o/></ml:wordt></ml:toevoeging>`), format.ErrFormat, 1},
		{"text", group(`<ml:toevoeging><ml:wordt id="1">x</ml:wordt></ml:toevoeging>`), format.ErrFormat, 1},
		{"stranger in a group", group(`<d:o/>`), format.ErrFormat, 1},
		{"stranger in a mutation", group(`<ml:toevoeging><d:o/></ml:toevoeging>`), format.ErrFormat, 1},
		{"other type", strings.Replace(head, ">delta<", ">alles<", 1) + tail, format.ErrFormat, 0},
		{"two types", strings.Replace(head, "<ml:gebied/>", "<ml:mutatieType>initial</ml:mutatieType>", 1) + tail, format.ErrFormat, 0},
		{"two messages", strings.Replace(head+tail, "</d:doos>", "<ml:mutatieBericht/></d:doos>", 1), format.ErrFormat, 0},
		{"no message", "<a/>", format.ErrFormat, 0},
		{"other namespace", strings.Replace(head+tail, "generiek/2.0", "generiek/3.0", 1), format.ErrFormat, 0},
		{"deep", group(`<ml:toevoeging><ml:wordt id="1">` + deep + `</ml:wordt></ml:toevoeging>`), format.ErrLimit, 1},
		{"big", group(`<ml:toevoeging><ml:wordt id="1"><d:o>` + strings.Repeat("x ", 1000) + `</d:o></ml:wordt></ml:toevoeging>`), format.ErrLimit, 1},
		{"many", group(strings.Repeat(add, 4)), format.ErrLimit, 1},
		{"cut", group(add)[:len(head)+40], format.ErrTruncated, 1},
		{"no end", head, format.ErrTruncated, 0},
	}
	for _, c := range cases {
		_, groups, err := readAll(strings.NewReader(c.doc), format.Limits{State: 1000, Mutations: 3})
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
		var place *format.Error
		if c.want != nil && (!errors.As(err, &place) || place.File != "f.xml" || place.Line != 1 || place.Column < 2 && c.name != "no message" || place.Group != c.group || len(groups) > 0) {
			t.Errorf("%s: %d groups, place %+v", c.name, len(groups), place)
		}
	}
}

// TestCut cuts a file at every byte: whole groups come out, and then an error.
//
// Rules: MUT-29
func TestCut(t *testing.T) {
	t.Parallel()
	add := "<ml:mutatieGroep><ml:toevoeging>" + word + "</ml:toevoeging></ml:mutatieGroep>"
	doc := head + add + add + add + tail
	for n := range len(doc) {
		_, groups, err := readAll(strings.NewReader(doc[:n]), format.Limits{})
		whole := strings.Count(doc[:n], "</ml:mutatieGroep>")
		if !errors.Is(err, format.ErrTruncated) || len(groups) != whole {
			t.Fatalf("cut at %d: %d groups of %d, %v", n, len(groups), whole, err)
		}
	}
}

// TestLenient reads a header with elements the schema does not have.
//
// Rules: MUT-61
func TestLenient(t *testing.T) {
	t.Parallel()
	doc := strings.Replace(head+tail, "<ml:gebied/>", "<ml:gebied>NLD</ml:gebied><d:bagInfo><d:x>1</d:x></d:bagInfo>", 1)
	doc = strings.Replace(doc, "<ml:objectType>T</ml:objectType>", "", 1)
	h, _, err := readAll(strings.NewReader(doc), format.Limits{})
	if err != nil || h.Area != "NLD" || h.DeliveryID != "1" || len(h.Deviations) != 2 {
		t.Errorf("%+v, %v", h, err)
	}
	long := strings.Replace(head+tail, "<ml:gebied/>", strings.Repeat("<d:x/>", 500), 1)
	if _, _, err := readAll(strings.NewReader(long), format.Limits{Header: 100}); !errors.Is(err, format.ErrLimit) {
		t.Errorf("a header without end: %v", err)
	}
}

// TestOddButSound reads what few write and XML allows: a byte order mark, sections, comments and instructions anywhere, line
// ends of Windows, and white space in attributes, which is spaces unless it is written as a reference.
//
// Rules: MUT-23, MUT-25
func TestOddButSound(t *testing.T) {
	t.Parallel()
	payload := "<d:o><!-- c --><T><?p?><![CDATA[<x> & y]]></T>\r\n</d:o>"
	doc := "\xEF\xBB\xBF<?xml version=\"1.0\" encoding=\"UTF-8\"?>\r\n<!-- x --><?x y?>" +
		group("<!-- a --><?b?><ml:toevoeging objectType=\"T\" objectId='a\tb\r\nc&#9;d\n&lt;'><!-- --><ml:wordt id=\"i\nj\"><?p?>"+payload+"<!-- --></ml:wordt></ml:toevoeging>") +
		"<?end?>\r\n<!-- -->"
	h, groups, err := readAll(iotest.OneByteReader(strings.NewReader(doc)), format.Limits{})
	if err != nil || len(groups) != 1 || h.Dataset != "d" {
		t.Fatalf("%+v %v, %v", h, groups, err)
	}
	m := groups[0].Mutations[0]
	if m.ObjectID != "a b c\td <" || m.Wordt.ID != "i j" || string(m.Wordt.XML) != payload || m.Wordt.Object != "T" {
		t.Errorf("%q %q %q %q", m.ObjectID, m.Wordt.ID, m.Wordt.XML, m.Wordt.Object)
	}
}

// TestOtherEncoding reads what is not in UTF-8: it is refused, and why is said.
func TestOtherEncoding(t *testing.T) {
	t.Parallel()
	for _, utf16 := range []string{"\xFE\xFF\x00<\x00a", "\xFF\xFE<\x00a\x00", "<\x00?\x00x\x00", "\x00<\x00?\x00x"} {
		_, _, err := readAll(strings.NewReader(utf16), format.Limits{})
		if err == nil || !strings.Contains(err.Error(), "UTF-16") {
			t.Errorf("%q: %v", utf16, err)
		}
	}
}

// FuzzReader reads anything. What could be read can be written, unless it lacks an id, and means the same then.
//
// Rules: MUT-25, MUT-30
func FuzzReader(f *testing.F) {
	for _, reg := range registers {
		doc, err := os.ReadFile(filepath.Join("testdata", reg.name+".xml"))
		must(f, err)
		f.Add(doc)
	}
	f.Add([]byte(group("<ml:mutatie>" + was + word + "</ml:mutatie>")))
	f.Fuzz(func(t *testing.T, doc []byte) {
		h, groups, err := readAll(bytes.NewReader(doc), format.Limits{Depth: 30, State: 1 << 16})
		if err != nil {
			return
		}
		h.Type, h.Dataset, h.DeliveryID, h.ObjectTypes = format.Delta, "d", "1", []string{"t"}
		var out bytes.Buffer
		w, err := format.NewWriter(&out, h)
		if err != nil {
			h.Root = format.Name{}
			if w, err = format.NewWriter(&out, h); err != nil {
				t.Fatal(err)
			}
		}
		var written []*format.Group
		for _, g := range groups {
			if w.WriteGroup(g) == nil {
				written = append(written, g)
			}
		}
		must(t, w.Close())
		_, again, err := readAll(&out, format.Limits{})
		if err != nil {
			t.Fatalf("what we wrote: %v", err)
		}
		compare(t, "fuzz", written, again, false)
	})
}

// BenchmarkReader reads a file of 32 MB made of the groups of a sample message.
func BenchmarkReader(b *testing.B) {
	doc := string(sample(b, "voorbeeld-bgt-new-change.xml"))
	from, to := strings.Index(doc, "<ml:mutatieGroep>"), strings.LastIndex(doc, "</ml:mutatieGroep>")+len("</ml:mutatieGroep>")
	groups := doc[from:to]
	big := []byte(doc[:from] + strings.Repeat(groups, 32<<20/len(groups)) + doc[to:])
	b.SetBytes(int64(len(big)))
	count := 0
	for b.Loop() {
		r := format.NewReader("f.xml", bytes.NewReader(big), format.Limits{})
		for {
			if _, err := r.Next(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				b.Fatal(err)
			}
			count++
		}
	}
	b.ReportMetric(float64(count)/b.Elapsed().Seconds(), "groups/s")
}
