package ingest_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/ingest"
	"schakel/store"
	"schakel/store/needs"
)

// A group with something wrong in it is refused whole; those before it are in, those after it are not.
// Rules: MUT-05, MUT-10, MUT-12, MUT-13, MUT-16, MUT-22, MUT-23, MUT-26, MUT-31.
func TestRefusals(t *testing.T) {
	good := func() *format.Group { return group(add("9", "good", "goed")) }
	for name, c := range map[string]struct {
		group *format.Group
		want  string
	}{
		"unknown":             {group(add("5", "a", "a"), mut("1", st("none", "x"), nil)), "unknown-was 2.2"},
		"unknown uuid":        {group(mut("1", st("00000000-0000-4000-8000-000000000000", "x"), nil)), "unknown-was 2.1"},
		"unknown fields":      {group(mut("1", st("", "x"), nil)), "unknown-was 2.1"},
		"dead":                {group(mut("1", st("dead", "oud"), st("a", "b"))), "dead-was 2.1"},
		"dead by its fields":  {group(mut("1", st("", "oud"), st("a", "b"))), "unknown-was 2.1"},
		"twice":               {group(mut("1", st("s1", "een"), st("a", "b")), mut("1", st("s1", "een"), nil)), "twice-was 2.2"},
		"forward":             {group(mut("1", st("a", "b"), nil), add("1", "a", "b")), "forward-was 2.1"},
		"itself":              {group(mut("1", st("a", "b"), st("a", "b"))), "forward-was 2.1"},
		"same id":             {group(mut("1", st("s1", "een"), st("s1", "een"))), "id-used 2.1"},
		"id of a dead one":    {group(add("1", "dead", "oud")), "id-used 2.1"},
		"id twice in a group": {group(add("1", "a", "b"), add("1", "a", "b")), "id-used 2.2"},
		"other object":        {group(mut("2", st("s1", "een"), nil)), "object-differs 2.1"},
		"other type":          {group(format.Mutation{ObjectType: "weg", ObjectID: "1", Was: st("s1", "een")}), "object-differs 2.1"},
		"other fields":        {group(mut("1", st("s1", "drie"), nil)), "other-was 2.1"},
		"ambiguous":           {group(mut("3", st("", "drie"), nil)), "ambiguous-was 2.1"},
		"control character":   {group(add("5\x01", "a", "a")), "text 2.1"},
		"zero in an id":       {group(add("5", "a\x00", "a")), "text 2.1"},
		"zero in a WAS":       {group(mut("1", st("a\x00", "x"), nil)), "text 2.1"},
		"no character":        {group(add("\uffff", "a", "a")), "text 2.1"},
		"long object":         {group(add(strings.Repeat("5", 501), "a", "a")), "text 2.1"},
		"long id":             {group(add("5", strings.Repeat("a", 501), "a")), "text 2.1"},
		"type":                {group(format.Mutation{ObjectType: "huis", Wordt: st("a", "b")}), "object-type 2.1"},
		"no mutations":        {group(), "group-empty 2.0"},
		"neither":             {group(mut("1", nil, nil)), "kind 2.1"},
		"wordt without XML":   {group(mut("1", nil, &format.State{ID: "a"})), "state-missing 2.1"},
		"was without anything": {
			group(mut("1", &format.State{}, nil)), "state-missing 2.1",
		},
		"two elements":     {group(mut("1", nil, &format.State{XML: []byte("<a/><b/>")})), "payload 2.1"},
		"not well-formed":  {group(mut("1", nil, &format.State{XML: []byte("<a>")})), "payload 2.1"},
		"prefix":           {group(mut("1", nil, &format.State{XML: []byte("<x:a/>")})), "payload 2.1"},
		"entity":           {group(mut("1", nil, &format.State{XML: []byte("<!DOCTYPE a []><a/>")})), "payload 2.1"},
		"more than one":    {group(mut("1", st("none", "x"), nil), mut("2", st("s1", "een"), nil)), "unknown-was 2.1, object-differs 2.2"},
		"undone behind it": {group(mut("1", st("s1", "een"), st("a", "b")), mut("1", st("a", "b"), st("c", "d")), mut("1", st("a", "b"), nil)), "twice-was 2.3"},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				w.publish("before", group(add("1", "s1", "een"), add("1", "dead", "oud"), add("3", "s3", "drie"), add("3", "t3", "drie")),
					group(mut("1", st("dead", "oud"), nil)))
				_, err := w.ingester.Publish(w.ctx, w.request("k", of(good(), c.group, group(add("9", "after", "later")))))
				if got := codes(err); got != c.want {
					t.Fatalf("%v: %s, want %s", err, got, c.want)
				}
				if got := w.alive(); got != "1=een 3=drie 3=drie 9=goed" {
					t.Errorf("alive: %s", got)
				}
				var refused *ingest.Refused
				errors.As(err, &refused)
				p, err := w.db.Publication(w.ctx, refused.Publication.ID)
				if err != nil || p.Status != store.MutationFailed || p.Groups != 1 || p.Error == "" || refused.Problems[0].Remedy == "" ||
					!reflect.DeepEqual(p, refused.Publication) {
					t.Errorf("publication %+v, %v; told %+v", p, err, refused.Publication)
				}
				// Mended, it goes on under the same key.
				r, err := w.ingester.Publish(w.ctx, w.request("k", of(good(), group(mut("1", st("s1", "een"), nil)))))
				if err != nil || r.Publication.Groups != 2 || r.Publication.Status != store.MutationDone || w.alive() != "3=drie 3=drie 9=goed" {
					t.Errorf("mended: %+v, %v: %s", r, err, w.alive())
				}
			})
		})
	}
}

// What cannot be read gives its place; what was cut off can be sent again.
// Rules: MUT-29, MUT-30.
func TestBrokenInput(t *testing.T) {
	needs.Unraced(t)
	good := string(file(t, header(format.Delta), group(add("1", "s1", "een")), group(add("2", "s2", "twee"))))
	lines := jsonLines(t, []*format.Group{group(add("1", "s1", "een"))})
	xml := func(s string) ingest.Source { return ingest.FromXML("a.xml", strings.NewReader(s), format.Limits{}) }
	document := func(s string) ingest.Source { return ingest.FromJSON("a.json", strings.NewReader(s), format.Limits{}) }
	nd := func(s string) ingest.Source {
		return ingest.FromNDJSON("a.ndjson", strings.NewReader(s), format.Limits{Group: 1 << 10})
	}
	zipped := func(docs ...string) ingest.Source {
		var out bytes.Buffer
		z := archive.NewWriter(&out, archive.Options{})
		for i, doc := range docs {
			w, err := z.Create(fmt.Sprint(i+1, ".xml"))
			if err == nil {
				_, err = io.WriteString(w, doc)
			}
			must(t, err)
		}
		must(t, z.Close())
		return ingest.FromZip(&out, archive.Limits{}, format.Limits{})
	}
	head := `{"groups":[` + "\n" + lines[0]
	for name, c := range map[string]struct {
		source ingest.Source
		want   string // code and line, or the error
		groups int64
	}{
		"xml":               {xml(strings.Replace(good, "twee", "<twee>", 1)), "syntax a.xml", 1},
		"entity":            {xml("<!DOCTYPE a [<!ENTITY b 'c'>]>" + good), "syntax a.xml", 0},
		"no delivery":       {xml("<a/>"), "syntax a.xml", 0},
		"cut xml":           {xml(good[:len(good)-100]), format.ErrTruncated.Error(), 1},
		"no zip":            {ingest.FromZip(strings.NewReader("hello, this is no zip at all"), archive.Limits{}, format.Limits{}), "syntax ", 0},
		"zip with cut xml":  {zipped(good, strings.ReplaceAll(good, `id="s`, `id="t`)[:len(good)-30]), "syntax 2.xml", 4},
		"zip with no xml":   {zipped(""), "syntax 1.xml", 0},
		"zip with a twin":   {zipped(good, strings.Replace(good, "panden<", "wegen<", 1)), "syntax 2.xml", 2},
		"json":              {document(head + "\n,\n{]}"), "syntax a.json", 1},
		"json unknown":      {document(`{"groups":[{"mutations":[],"extra":1}]}`), "syntax a.json", 0},
		"json null":         {document(`{"groups":[null]}`), "syntax a.json", 0},
		"json other":        {document(`[1]`), "syntax a.json", 0},
		"json twice":        {document(`{"groups":[{"mutations":[],"mutations":[]}]}`), "syntax a.json", 0},
		"json state twice":  {document(head + `,{"mutations":[{"was":{"id":"s1"},"was":{"id":"s2"}}]}]}`), "syntax a.json", 1},
		"json other case":   {document(`{"groups":[{"Mutations":[]}]}`), "syntax a.json", 0},
		"json behind":       {document(`{"groups":[]} {}`), "syntax a.json", 0},
		"json no UTF-8":     {document(head + ",\n{\"mutations\":[{\"objectId\":\"\xff\"}]}]}"), "syntax a.json", 1},
		"json half a char":  {document(`{"groups":[{"mutations":[{"wordt":{"xml":"<a>\ud800</a>"}}]}]}`), "syntax a.json", 0},
		"json half an id":   {document(`{"groups":[{"mutations":[{"objectId":"\udc00�"}]}]}`), "syntax a.json", 0},
		"json number":       {document(`{"groups":[{"mutations":[{"objectId":1}]}]}`), "syntax a.json", 0},
		"json cut":          {document(head), format.ErrTruncated.Error(), 1},
		"json cut at comma": {document(head + " ,\n"), format.ErrTruncated.Error(), 1},
		"json cut in group": {document(head + ",\n{\"mutations\":["), format.ErrTruncated.Error(), 1},
		"json empty":        {document(""), format.ErrTruncated.Error(), 0},
		"ndjson":            {nd(lines[0] + "\n{]}\n"), "syntax a.ndjson", 1},
		"ndjson two":        {nd(lines[0] + lines[0] + "\n"), "syntax a.ndjson", 0},
		"ndjson cut":        {nd(lines[0] + "\n" + lines[0][:50]), format.ErrTruncated.Error(), 1},
		"ndjson cut early":  {nd(lines[0] + "\n{"), format.ErrTruncated.Error(), 1},
		"ndjson no newline": {nd(lines[0] + "\n" + `{"mutations":[ }`), "syntax a.ndjson", 1},
		"ndjson long":       {nd(lines[0] + "\n" + `{"mutations":"` + strings.Repeat("x", 3<<10)), "limit a.ndjson", 1},
		"json long": {
			ingest.FromJSON("a.json", strings.NewReader(head+","+strings.Repeat(" ", 9<<10)), format.Limits{Group: 1 << 10}),
			"limit a.json", 1,
		},
		"many mutations": {ingest.FromNDJSON("a.ndjson", strings.NewReader(asJSON(t, group(add("1", "a", "a"), add("1", "b", "b")))), format.Limits{Mutations: 1}), "limit a.ndjson", 0},
		"connection":     {&stream{groups: story(), err: errCut}, errCut.Error(), 3},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, sqlite(t))
			req := w.request("k", c.source)
			req.Kind = store.PublicationDelta
			_, err := w.ingester.Publish(w.ctx, req)
			var refused *ingest.Refused
			got := ""
			if errors.As(err, &refused) {
				p := refused.Problems[0]
				got = p.Code + " " + p.File
				if p.File != "" && p.Line == 0 && name != "zip with a twin" {
					t.Errorf("no line: %+v", p)
				}
			} else if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, c.want) || got == "" {
				t.Errorf("%s, want %s", got, c.want)
			}
			found, _, err := w.db.Publications(w.ctx, store.PublicationFilter{})
			if err != nil || len(found) > 0 && found[0].Groups != c.groups || len(found) == 0 && c.groups > 0 {
				t.Errorf("publications %+v, %v", found, err)
			}
			if len(found) > 0 && found[0].Status != store.MutationFailed {
				t.Errorf("status %s", found[0].Status)
			}
		})
	}
}

var errCut = errors.New("connection reset")

// The line of a problem in a JSON document is that of its group.
func TestLinesOfJSON(t *testing.T) {
	t.Parallel()
	var in bytes.Buffer
	in.WriteString("{\n \"groups\": [\n")
	for i := range 300 {
		if i > 0 {
			in.WriteString(",\n")
		}
		in.WriteString("  {\"mutations\":[\n {}\n]}")
	}
	in.WriteString("\n]}\n")
	s := ingest.FromJSON("a.json", &in, format.Limits{})
	for i := range 300 {
		g, at, err := s.Next()
		if err != nil || g.Line != 3+3*i || at.Group != i+1 {
			t.Fatalf("group %d: %+v, %+v, %v", i, g, at, err)
		}
	}
}

// A value of a wrong type is reported in the words of JSON, with its line.
func TestTypesOfJSON(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"{\n\"groups\":[{\"mutations\":[\n{},\n{\"objectId\":\n7}]}]}":   "line 5, column 0, group 1: this is not the JSON form of mutations: objectId in mutation 2 is of kind number, and must be a string",
		`{"groups":[{"mutations":[{"wordt":"<a/>"}]}]}`:                  "line 1, column 0, group 1: this is not the JSON form of mutations: wordt in mutation 1 is of kind string, and must be an object",
		`{"groups":[{"mutations":[{"was":{"id":true}}]}]}`:               "line 1, column 0, group 1: this is not the JSON form of mutations: id in mutation 1 is of kind truth value, and must be a string",
		`{"groups":[{"mutations":{}}]}`:                                  "line 1, column 0, group 1: this is not the JSON form of mutations: mutations is of kind object, and must be an array of objects",
		`{"groups":[[]]}`:                                                "line 1, column 0, group 1: this is not the JSON form of mutations: a group is of kind array, and must be an object",
		`{"groups":[{"mutations":[4]}]}`:                                 "line 1, column 0, group 1: this is not the JSON form of mutations: mutations in mutation 1 is of kind number, and must be an array of objects",
		`{"groups":null}`:                                                `line 1, column 0, group 1: this is not the JSON form of mutations: null where [ belongs: want {"groups":[…]}`,
		"{\"groups\":[{\"mutations\":[\n{\"objectId\":\"\\ud800x\"}]}]}": `line 2, column 0, group 1: this is not the JSON form of mutations: \ud800 is half a character`,
	} {
		_, _, err := ingest.FromJSON("", strings.NewReader(in), format.Limits{}).Next()
		if err == nil || err.Error() != want {
			t.Errorf("%s:\n%v, want\n%s", in, err, want)
		}
	}
}

// A byte order mark before JSON is passed over, and pairs of escapes are characters.
func TestMarkBeforeJSON(t *testing.T) {
	t.Parallel()
	in := "\xEF\xBB\xBF" + `{"mutations":[{"objectId":"\\ud83d \ud83d\uDE00\ufffd","wordt":{"xml":"<a/>"}}]}`
	for _, s := range []ingest.Source{
		ingest.FromNDJSON("", iotest.OneByteReader(strings.NewReader(in)), format.Limits{}),
		ingest.FromJSON("", iotest.OneByteReader(strings.NewReader(in[:3]+`{"groups":[`+in[3:]+"]}")), format.Limits{}),
	} {
		g, _, err := s.Next()
		if err != nil || g.Mutations[0].ObjectID != `\ud83d 😀�` {
			t.Fatalf("%+v, %v", g, err)
		}
		if _, _, err := s.Next(); err != io.EOF {
			t.Error(err)
		}
	}
}

// A JSON document that is cut at any byte is known to be cut: nothing is lost without a word.
//
// Rules: MUT-29
func TestCutJSON(t *testing.T) {
	t.Parallel()
	one := ` { "mutations" : [ {"objectId":"é","wordt":{"xml":"<a/>"}} ] } `
	doc := "\xEF\xBB\xBF { \"groups\" : [" + one + ",\n" + one + " ] }"
	for n := range len(doc) {
		s := ingest.FromJSON("", strings.NewReader(doc[:n]), format.Limits{})
		var err error
		for err == nil {
			_, _, err = s.Next()
		}
		if n > 2 && !errors.Is(err, format.ErrTruncated) || errors.Is(err, io.EOF) {
			t.Errorf("cut at %d: %v", n, err)
		}
	}
}

// read gives the groups of a source until it ends or fails, and holds it to what a source promises.
func read(t *testing.T, s ingest.Source) (out []*format.Group, err error) {
	for {
		g, at, err := s.Next()
		if err != nil {
			if _, _, again := s.Next(); again == nil || again.Error() != err.Error() {
				t.Fatalf("after %v it says %v", err, again)
			}
			if err == io.EOF { //nolint:errorlint // what only wraps it must not end a stream
				return out, nil
			}
			return out, err
		}
		out = append(out, g)
		if g.Index != len(out) || at.Group != len(out) || g.Line < 1 || len(g.Mutations) > 50 {
			t.Fatalf("group %d: %+v at %+v", len(out), g, at)
		}
	}
}

var fuzzLimits = format.Limits{Group: 4 << 10, Mutations: 50}

// Whatever comes in is refused or read, and what was read from a document is read the same a group a line.
// Rules: MUT-30.
func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"groups":[{"mutations":[{"objectType":"Pand","objectId":"1","was":{"id":"a"},"wordt":{"id":"b","xml":"<a/>"}}]}]}`))
	f.Add([]byte(`{"groups":[]}`))
	f.Add([]byte("{\"groups\":[\n{\"mutations\":[]},{}]} x"))
	f.Add([]byte(`{"groups":[{"mutations":[{"wordt":{"xml":"\ud800\u0000"}}]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		groups, err := read(t, ingest.FromJSON("a", bytes.NewReader(in), fuzzLimits))
		if errors.Is(err, io.EOF) {
			t.Fatalf("%v looks like an end", err)
		}
		again, lineErr := read(t, ingest.FromNDJSON("a", strings.NewReader(strings.Join(jsonLines(t, groups), "\n")), format.Limits{Mutations: 50}))
		if lineErr != nil || len(again) != len(groups) {
			t.Fatalf("%d groups, then %d, %v", len(groups), len(again), lineErr)
		}
		for i := range groups {
			if asJSON(t, groups[i]) != asJSON(t, again[i]) {
				t.Fatalf("%s became %s", asJSON(t, groups[i]), asJSON(t, again[i]))
			}
		}
	})
}

// Whatever comes in is refused or read; no line is longer than allowed.
// Rules: MUT-30.
func FuzzNDJSON(f *testing.F) {
	f.Add([]byte("{\"mutations\":[{\"was\":{\"id\":\"a\"}}]}\n\n{\"mutations\":[]}"))
	f.Add([]byte("{}\r\n{}{}\n"))
	f.Add([]byte(strings.Repeat(" ", 9<<10)))
	f.Fuzz(func(t *testing.T, in []byte) {
		if _, err := read(t, ingest.FromNDJSON("a", bytes.NewReader(in), fuzzLimits)); errors.Is(err, io.EOF) {
			t.Fatalf("%v looks like an end", err)
		}
	})
}
