package ingest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/ingest"
	"schakel/store"
	"schakel/store/storetest"
)

// story is a small history: added, changed by the publisher's id, changed back, deleted.
func story() []*format.Group {
	return []*format.Group{
		group(add("1", "s1", "een"), add("2", "s2", "twee")),
		group(mut("1", st("s1", "een"), st("s3", "EEN"))),
		group(mut("1", st("s3", "EEN"), st("s4", "een")), mut("2", st("s2", "twee"), nil)),
	}
}

var storyGroups = []string{"1: Pand 1 >een Pand 2 >twee", "2: Pand 1 een>EEN", "3: Pand 1 EEN>een Pand 2 twee>"}

func asJSON(t testing.TB, g *format.Group) string {
	type state struct {
		ID  string `json:"id,omitempty"`
		XML string `json:"xml,omitempty"`
	}
	type mutation struct {
		ObjectType string `json:"objectType"`
		ObjectID   string `json:"objectId"`
		Was        *state `json:"was,omitempty"`
		Wordt      *state `json:"wordt,omitempty"`
	}
	of := func(s *format.State) *state {
		if s == nil {
			return nil
		}
		return &state{s.ID, string(s.XML)}
	}
	out := struct {
		Mutations []mutation `json:"mutations"`
	}{[]mutation{}}
	for _, m := range g.Mutations {
		out.Mutations = append(out.Mutations, mutation{m.ObjectType, m.ObjectID, of(m.Was), of(m.Wordt)})
	}
	text, err := json.Marshal(out)
	must(t, err)
	return string(text)
}

func jsonLines(t testing.TB, groups []*format.Group) []string {
	var lines []string
	for _, g := range groups {
		lines = append(lines, asJSON(t, g))
	}
	return lines
}

// The same mutations come in the same from every form of input, and a resend changes nothing.
// Rules: MUT-05, MUT-12, MUT-22, MUT-60.
func TestPublishForms(t *testing.T) {
	old := strings.NewReplacer("generiek/2.0", "generiek/1.0", "<ml:mutatieType>delta</ml:mutatieType>", "", "mutatieType>delta</", "x>").Replace
	for name, source := range map[string]func(t *testing.T) ingest.Source{
		"xml": func(t *testing.T) ingest.Source {
			return ingest.FromXML("a.xml", bytes.NewReader(file(t, header(format.Delta), story()...)), format.Limits{})
		},
		"xml 1.0": func(t *testing.T) ingest.Source {
			return ingest.FromXML("a.xml", strings.NewReader(old(string(file(t, header(format.Delta), story()...)))), format.Limits{})
		},
		"zip": func(t *testing.T) ingest.Source {
			return ingest.FromZip(bytes.NewReader(zipped(t, header(format.Delta), 1, story()...)), archive.Limits{}, format.Limits{})
		},
		"json": func(t *testing.T) ingest.Source {
			return ingest.FromJSON("a.json", strings.NewReader(`{"groups":[`+strings.Join(jsonLines(t, story()), ",\n")+`]}`), format.Limits{})
		},
		"ndjson": func(t *testing.T) ingest.Source {
			return ingest.FromNDJSON("a.ndjson", strings.NewReader(strings.Join(jsonLines(t, story()), "\n\n")), format.Limits{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				req := w.request("k", source(t))
				req.Kind = store.PublicationDelta
				first, err := w.ingester.Publish(w.ctx, req)
				must(t, err)
				if got := w.history(); !reflect.DeepEqual(got, storyGroups) {
					t.Errorf("history %q", got)
				}
				p := first.Publication
				if p.Status != store.MutationDone || p.Groups != 3 || p.Adds != 2 || p.Changes != 2 || p.Deletes != 1 || p.FirstSeq != 1 || p.LastSeq != 3 || p.Bytes == 0 {
					t.Errorf("publication %+v", p)
				}
				if len(first.States) != 4 || first.States[2].SourceID != "s3" || first.States[2].Group != 2 || first.Replayed {
					t.Errorf("states %+v", first.States)
				}
				req.Source = source(t)
				again, err := w.ingester.Publish(w.ctx, req)
				if err != nil || !again.Replayed || !reflect.DeepEqual(again.States, first.States) || len(w.history()) != 3 {
					t.Errorf("again: %+v, %v", again, err)
				}
			})
		})
	}
}

// A WAS refers to a state by the id it got here, by its publisher's, or by its fields, also within a group and a transaction.
// Rules: MUT-12, MUT-13, MUT-15, MUT-19, MUT-26.
func TestWaysToRefer(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		got := w.publish("a", group(add("1", "", "een")), group(add("2", "s2", "twee"))).States
		bare := func(id string) *format.State { return &format.State{ID: id} }
		w.publish("b",
			group(mut("1", bare(got[0].ID), st("", "EEN"))),                                       // ours
			group(mut("2", bare(got[1].ID), st("t2", "TWEE")), mut("2", bare("t2"), st("", "2"))), // ours, and then of this group
			group(mut("1", st("", "EEN"), st("", "1")), mut("1", st("", "1"), st("", "i"))),       // the fields
		)
		if got := w.alive(); got != "2=2 1=i" {
			t.Errorf("alive: %s", got)
		}
		// Objects without an id: the fields alone.
		w.publish("c", group(format.Mutation{Wordt: st("", "los")}), group(format.Mutation{Was: st("", "los"), Wordt: st("", "vast")}))
		w.publish("d", group(format.Mutation{Was: st("", "vast")}), group(mut("1", st("", "i"), nil)))
		if got := w.alive(); got != "2=2" {
			t.Errorf("alive: %s", got)
		}
	})
}

// What may be published into, and as what.
// Rules: MUT-21, MUT-31, MUT-38.
func TestKinds(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		xml := func(h format.Header, groups ...*format.Group) ingest.Source {
			return ingest.FromXML("a.xml", bytes.NewReader(file(t, h, groups...)), format.Limits{})
		}
		first := group(add("1", "s1", "een"))
		for _, c := range []struct {
			name, kind, replace string
			source              ingest.Source
			dataset             string
			want                string
		}{
			{name: "no dataset", dataset: "none", source: of(), want: store.ErrNotFound.Error()},
			{name: "other dataset", dataset: "wegen", source: xml(header(format.Delta)), want: "header 0.0"},
			{name: "initial as delta", kind: store.PublicationDelta, source: xml(header(format.Initial)), want: "header 0.0"},
			{name: "delta as initial", kind: store.PublicationInitial, source: xml(header(format.Delta)), want: "header 0.0"},
			{name: "replaced by a delta", replace: "why", source: xml(header(format.Delta)), want: "header 0.0"},
			{name: "other types", source: xml(func() format.Header { h := header(format.Delta); h.ObjectTypes = []string{"huis"}; return h }()), want: "header 0.0"},
			{name: "change in initial", source: xml(header(format.Initial), group(mut("1", st("a", "b"), st("c", "d")))), want: "kind 1.1"},
			{name: "empty", source: xml(header(format.Delta)), want: "<nil>"},
			{name: "initial", source: xml(header(format.Initial), first), want: "<nil>"},
			{name: "initial again", source: xml(header(format.Initial), first), want: ingest.ErrNotEmpty.Error()},
			{name: "initial with a reason", replace: "hersteld", source: xml(header(format.Initial), first), want: "<nil>"},
		} {
			req := w.request(c.name, c.source)
			req.Kind, req.Replace = c.kind, c.replace
			if c.dataset != "" {
				req.Dataset = c.dataset
			}
			if c.dataset == "wegen" {
				w.dataset("wegen")
			}
			_, err := w.ingester.Publish(w.ctx, req)
			if got := codes(err); got != c.want {
				t.Errorf("%s: %s, want %s", c.name, got, c.want)
			}
		}
		d, err := w.db.Dataset(w.ctx, "panden")
		if err != nil || d.Lineage == "one" || d.LineageReason != "hersteld" || d.LineageSeq != 1 || w.alive() != "1=een" {
			t.Errorf("dataset %+v, %v: %s", d, err, w.alive())
		}
		must(t, w.db.Write(w.ctx, func(tx *store.Tx) error { return tx.EndDataset(w.ctx, "panden", "") }))
		if _, err := w.ingester.Publish(w.ctx, w.request("late", of(first))); !errors.Is(err, ingest.ErrEnded) {
			t.Errorf("published in a dataset that ended: %v", err)
		}
		// A file of 1.0 does not name its type.
		old := strings.NewReplacer("generiek/2.0", "generiek/1.0").Replace(string(file(t, header(format.Delta), first)))
		start, end := strings.Index(old, "<ml:mutatieType>"), strings.Index(old, "</ml:mutatieType>")+len("</ml:mutatieType>")
		source := ingest.FromXML("a.xml", strings.NewReader(old[:start]+old[end:]), format.Limits{})
		if _, err := w.ingester.Publish(w.ctx, w.request("old", source)); !errors.Is(err, ingest.ErrKind) {
			t.Errorf("an old file: %v", err)
		}
	})
}

// kilobyte is a state of about 1,000 bytes.
func kilobyte(id string) *format.State {
	return st(id, id+strings.Repeat(" Een pand van rode baksteen aan de Kade.", 23))
}

// BenchmarkPublish publishes groups of one change each, of states of 1 KB, and reports groups per second.
func BenchmarkPublish(b *testing.B) {
	for name, open := range storetest.Both() {
		for _, kind := range []string{"add", "change"} {
			b.Run(name+"/"+kind, func(b *testing.B) {
				w := newWorld(b, open(b))
				var first, groups []*format.Group
				for i := range b.N {
					was, wordt := kilobyte(fmt.Sprint("a", i)), kilobyte(fmt.Sprint("b", i))
					if kind == "add" {
						was = nil
					} else {
						first = append(first, group(mut(fmt.Sprint(i), nil, kilobyte(fmt.Sprint("a", i)))))
					}
					groups = append(groups, group(mut(fmt.Sprint(i), was, wordt)))
				}
				w.publish("first", first...)
				in := file(b, header(format.Delta), groups...)
				b.SetBytes(int64(len(in) / b.N))
				b.ResetTimer()
				if _, err := w.ingester.Publish(w.ctx, w.request("k", fromXML(in))); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "groups/s")
			})
		}
	}
}
