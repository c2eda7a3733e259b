package ingest_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/ingest"
	"schakel/store"
	"schakel/store/needs"
	"schakel/templates/i18n"
)

// A group that readers of the delivery would refuse is not taken in: there, every WAS has its fields.
// Rules: MUT-30.
func TestGroupsFitInADelivery(t *testing.T) {
	needs.Unraced(t)
	each(t, func(t *testing.T, w *world) {
		text := strings.Repeat("x", 15<<20)
		var all []format.Mutation
		for i := range 5 {
			id := fmt.Sprint("s", i)
			w.publish("add "+id, group(add("1", id, text)))
			all = append(all, mut("1", &format.State{ID: id}, nil))
		}
		_, err := w.ingester.Publish(w.ctx, w.request("k", ingest.FromNDJSON("a", strings.NewReader(asJSON(t, group(all...))), format.Limits{})))
		if got := codes(err); got != "limit 1.0" {
			t.Fatalf("%v: %s", err, got)
		}
		if _, err = w.ingester.Publish(w.ctx, w.request("k", ingest.FromNDJSON("a", strings.NewReader(asJSON(t, group(all[:4]...))), format.Limits{}))); err != nil {
			t.Error(err)
		}
	})
}

// A state that readers of the delivery would refuse is not taken in, however it is published.
// Rules: MUT-30.
func TestStatesFitInADelivery(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sqlite(t))
	deep := func(n int) string { return strings.Repeat("<a>", n) + strings.Repeat("</a>", n) }
	asFile := func(xml string) ingest.Source {
		in := file(t, header(format.Delta), group(add("1", "x", "x")))
		return ingest.FromXML("a", strings.NewReader(regexp.MustCompile(`(?s)(<ml:wordt[^>]*>).*(</ml:wordt>)`).ReplaceAllString(string(in), "$1"+xml+"$2")), format.Limits{Depth: 110})
	}
	asJSON := func(xml string) ingest.Source {
		return ingest.FromJSON("a", strings.NewReader(`{"groups":[{"mutations":[{"objectType":"pand","objectId":"1","wordt":{"xml":"`+xml+`"}}]}]}`), format.Limits{})
	}
	for name, c := range map[string]struct {
		source ingest.Source
		want   string
	}{
		"file":        {asFile(deep(96)), "limit 1.1"},
		"json":        {asJSON(deep(96)), "limit 1.1"},
		"json deeper": {asJSON(deep(101)), "limit 1.1"},
		"sound file":  {asFile(deep(95)), "<nil>"},
		"sound json":  {asJSON(deep(95)), "<nil>"},
	} {
		_, err := w.ingester.Publish(w.ctx, w.request(name, c.source))
		if got := codes(err); got != c.want {
			t.Errorf("%s: %v: %s, want %s", name, err, got, c.want)
		}
	}
}

// The reason of a new lineage is short text, and nothing is replaced for one that is not.
func TestReasonOfReplacement(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sqlite(t))
	w.publish("before", group(add("1", "s1", "een")))
	for _, reason := range []string{strings.Repeat("r", 1001), "a\x00b", "a\nb"} {
		req := w.request("k", of(group(add("2", "s2", "twee"))))
		req.Kind, req.Replace = store.PublicationInitial, reason
		_, err := w.ingester.Publish(w.ctx, req)
		var refused *ingest.Refused
		if !errors.As(err, &refused) || refused.Problems[0].Code != ingest.CodeHeader || w.alive() != "1=een" {
			t.Errorf("%v: %s", err, w.alive())
		}
	}
}

// What cannot be taken in from its first group on replaces nothing.
//
// Rules: MUT-38.
func TestBrokenReplacement(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sqlite(t))
	w.publish("before", group(add("1", "s1", "een")))
	for name, body := range map[string]string{
		"cut":       `{"groups":[{"mutations":[`,
		"no JSON":   `{"groups":[}`,
		"no rule":   `{"groups":[{"mutations":[]}]}`,
		"a change":  `{"groups":[{"mutations":[{"was":{"id":"s1"}}]}]}`,
		"other XML": `{"groups":[{"mutations":[{"wordt":{"xml":"<a>"}}]}]}`,
	} {
		req := w.request("k "+name, ingest.FromJSON("a.json", strings.NewReader(body), format.Limits{}))
		req.Kind, req.Replace = store.PublicationInitial, "a better history"
		if _, err := w.ingester.Publish(w.ctx, req); err == nil || w.alive() != "1=een" {
			t.Errorf("%s: %v: %s", name, err, w.alive())
		}
	}
	if rows, _, err := w.db.Audits(w.ctx, store.AuditFilter{Page: store.Page{Size: 10}}); err != nil || len(rows) != 0 {
		t.Errorf("told of what was not: %v, %v", rows, err)
	}
	empty := w.request("empty", ingest.FromNDJSON("a", strings.NewReader("\n"), format.Limits{}))
	empty.Kind, empty.Replace = store.PublicationInitial, "a better history"
	if _, err := w.ingester.Publish(w.ctx, empty); codes(err) != "header 0.0" || w.alive() != "1=een" {
		t.Errorf("empty: %v: %s", err, w.alive())
	}
	req := w.request("k", of(group(add("2", "s2", "twee")), group(add("3", "s3", "drie"))))
	req.Kind, req.Replace = store.PublicationInitial, "a better history"
	r, err := w.ingester.Publish(w.ctx, req)
	if err != nil || r.Publication.Groups != 2 || w.alive() != "2=twee 3=drie" {
		t.Errorf("%v, %+v: %s", err, r.Publication, w.alive())
	}
}

// TestGeometry publishes geometry that cannot be read: it is refused where subscribers bound the dataset by polygons, and
// taken in where nobody asks where an object lies. A publication from before that was looked at is found again.
//
// Rules: MUT-42.
func TestGeometry(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		at := func(id, pos string) format.Mutation {
			xml := fmt.Sprintf(`<p:Pand xmlns:p="urn:p" xmlns:gml="http://www.opengis.net/gml/3.2"><gml:Point><gml:pos>%s</gml:pos></gml:Point></p:Pand>`, pos)
			return mut("1", nil, &format.State{ID: id, XML: []byte(xml)})
		}
		before := group(at("a", "here 463000"))
		w.publish("before", before)
		must(t, w.db.Write(w.ctx, func(tx *store.Tx) error {
			d, err := tx.Dataset(w.ctx, "panden")
			if err != nil {
				return err
			}
			d.AreaKind, d.CRS = store.AreaGeometry, 28992
			return tx.UpdateDataset(w.ctx, &d)
		}))
		r, err := w.ingester.Publish(w.ctx, w.request("before", of(before)))
		if err != nil || !r.Replayed {
			t.Errorf("what is in already is judged: %+v, %v", r, err)
		}
		_, err = w.ingester.Publish(w.ctx, w.request("after", of(group(at("b", "155000 463000")), group(at("c", "155000 463000"), at("d", "there 463000")), group(at("e", "1 2")))))
		if got := codes(err); got != "geometry 2.2" {
			t.Fatalf("%v: %s", err, got)
		}
		if !strings.Contains(err.Error(), "element pos") {
			t.Errorf("what is wrong is not told: %v", err)
		}
		r, err = w.ingester.Publish(w.ctx, w.request("after", of(group(at("b", "155000 463000")), group(add("3", "f", "no geometry at all")), group(mut("1", st("a", ""), nil)))))
		if got := codes(err); got != "other-was 3.1" || r.Publication.Groups != 0 {
			t.Errorf("mended: %v", err)
		}
		if _, err = w.ingester.Publish(w.ctx, w.request("gone", of(group(format.Mutation{ObjectType: "Pand", ObjectID: "1", Was: &format.State{ID: "a"}})))); err != nil {
			t.Errorf("an object from before cannot be removed: %v", err)
		}
	})
}

// TestUnlocated publishes objects that say nowhere where they lie: they are taken in, counted, and the first is named, with
// why no subscriber of an area gets it. A request that goes on after a mistake counts each once.
//
// Rules: MUT-42.
func TestUnlocated(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		set := func(change func(d *store.Dataset)) {
			t.Helper()
			must(t, w.db.Write(w.ctx, func(tx *store.Tx) error {
				d, err := tx.Dataset(w.ctx, "panden")
				if err != nil {
					return err
				}
				change(&d)
				return tx.UpdateDataset(w.ctx, &d)
			}))
		}
		told := func(key string, groups ...*format.Group) string {
			t.Helper()
			r, err := w.ingester.Publish(w.ctx, w.request(key, of(groups...)))
			must(t, err)
			return fmt.Sprintf("%d %s", r.Publication.Unlocated, i18n.Message(r.Publication.UnlocatedFirst))
		}
		gml := func(object, id, in string) format.Mutation {
			return mut(object, nil, &format.State{ID: id, XML: []byte(`<p:Pand xmlns:p="urn:p" xmlns:gml="http://www.opengis.net/gml/3.2"><p:plek>` + in + `</p:plek></p:Pand>`)})
		}
		if got := told("nobody asks", group(add("0", "none", "x"))); got != "0 " {
			t.Errorf("in a dataset without areas: %s", got)
		}
		set(func(d *store.Dataset) { d.AreaKind, d.CRS = store.AreaGeometry, 28992 })
		point := `<gml:Point><gml:pos>155000 463000</gml:pos></gml:Point>`
		first := group(gml("1", "a", point), gml("2", "b", `<gml:Blob>1 2</gml:Blob>`))
		broken := group(gml("3", "c", `<gml:Point><gml:pos>here</gml:pos></gml:Point>`))
		rest := group(gml("4", "d", "nothing"))
		_, err := w.ingester.Publish(w.ctx, w.request("go on", of(first, broken)))
		if codes(err) != "geometry 2.1" {
			t.Fatal(err)
		}
		want := "2 test, group 1, mutation 2, object 2: no geometry that is known (gml:Blob is not)"
		if got := told("go on", first, rest); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if got := told("go on", first, rest); got != want {
			t.Errorf("told again: %s, want %s", got, want)
		}
		set(func(d *store.Dataset) { d.GeometryElements = store.Strings{"vlak"} })
		if got, want := told("elsewhere", group(gml("5", "e", point))), "1 test, group 1, mutation 1, object 5: no geometry in an element vlak"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		set(func(d *store.Dataset) { d.AreaKind, d.KeyElements = store.AreaKeys, store.Strings{"gemeente"} })
		if got, want := told("no key", group(gml("6", "f", "<p:gemeente>0344</p:gemeente>"), gml("7", "g", "<p:gemeente/>"))),
			"1 test, group 1, mutation 2, object 7: no key in an element gemeente"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

// asReader makes the test binary read a document of groups, and tell the most memory that took.
const asReader = "LEDGER_READER"

// repeated is a text, another again and again for so many bytes, and a last one.
type repeated struct {
	head, body, tail string
	bytes            int
}

func (r repeated) reader() io.Reader {
	return io.MultiReader(strings.NewReader(r.head), io.LimitReader(&again{text: r.body}, int64(r.bytes/len(r.body)*len(r.body))), strings.NewReader(r.tail))
}

type again struct {
	text string
	at   int
}

// Read implements io.Reader.
func (a *again) Read(p []byte) (int, error) {
	n := copy(p, a.text[a.at:])
	a.at = (a.at + n) % len(a.text)
	return n, nil
}

func groupTexts() map[string]repeated {
	const one = `{"mutations":[{"objectType":"Pand","objectId":"1","wordt":{"xml":"`
	fill := strings.Repeat("<a>text</a>", 1000)
	most := format.DefaultLimits().Group
	return map[string]repeated{
		"no end":       {`{"groups":[` + one, fill, "", 8 * most},
		"no end, list": {`{"groups":[{"mutations":[`, strings.Repeat(`{"objectType":"Pand"},`, 1000), "", 8 * most},
		"no end, line": {one, fill, "", 8 * most},
		"large":        {`{"groups":[` + one, fill, `"}}]}]}`, most - 1<<20},
		"large, line":  {one, fill, `"}}]}` + "\n", most - 1<<20},
	}
}

// TestFlatMemory reads groups in JSON that are as large as may be, or that never end, each in a process of its own: a group is
// bounded as it is in XML, and takes no more than a few times that.
//
// Rules: MUT-28.
func TestFlatMemory(t *testing.T) {
	if name := os.Getenv(asReader); name != "" {
		readOutcome(name)
	}
	needs.Full(t, "ten seconds of a processor")
	needs.Unraced(t)
	needs.ProcessStatus(t)
	for name := range groupTexts() {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFlatMemory$")
		cmd.Env = append(os.Environ(), asReader+"="+name)
		out, err := cmd.Output()
		var kb int64
		var outcome string
		if _, bad := fmt.Sscanf(string(out), "%d %s", &kb, &outcome); bad != nil {
			t.Fatalf("%s: %v: %q", name, err, out)
		}
		want, most := "limit", 4*int64(format.DefaultLimits().Group)
		if strings.HasPrefix(name, "large") {
			want, most = "sound", 6*int64(format.DefaultLimits().Group)
		}
		t.Logf("%s: %s, at most %d MB", name, outcome, kb>>10)
		if outcome != want || kb<<10 > most {
			t.Errorf("%s: %s with %d MB, want %s within %d MB", name, outcome, kb>>10, want, most>>20)
		}
	}
}

// readOutcome is the work of such a process.
func readOutcome(name string) {
	text := groupTexts()[name]
	source := ingest.FromJSON("a.json", text.reader(), format.Limits{})
	if strings.HasSuffix(name, "line") {
		source = ingest.FromNDJSON("a.ndjson", text.reader(), format.Limits{})
	}
	outcome := "other"
	g, _, err := source.Next()
	switch {
	case err == nil && len(g.Mutations) == 1:
		outcome = "sound"
	case errors.Is(err, format.ErrLimit):
		outcome = "limit"
	}
	status, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	fmt.Println(strings.Fields(rest)[0], outcome)
	os.Exit(0)
}
