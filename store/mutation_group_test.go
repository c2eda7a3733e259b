package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"schakel/store"
	"schakel/store/needs"
)

// change is a mutation in a test: from a state, or none, to a state, or none.
type change struct{ was, wordt string }

// publish appends groups of a publication.
func (w *world) publish(publication, dataset string, groups ...[]change) {
	w.t.Helper()
	w.write(func(tx *store.Tx) error { return w.append(tx, publication, dataset, groups) })
}

func (w *world) append(tx *store.Tx, publication, dataset string, groups [][]change) error {
	d, err := tx.LockDataset(w.ctx, dataset)
	if err != nil {
		return err
	}
	var a store.Appended
	for i, g := range groups {
		seq := d.LastSeq + int64(i) + 1
		a.Groups = append(a.Groups, store.MutationGroup{DatasetID: dataset, Seq: seq, PublicationID: publication, At: tx.Now})
		for n, c := range g {
			a.Mutations = append(a.Mutations, store.Mutation{
				DatasetID: dataset, Seq: seq, Number: int64(n + 1), ObjectType: "Pand", ObjectID: "1", WasID: c.was, WordtID: c.wordt,
			})
			if c.wordt != "" {
				a.States = append(a.States, state(dataset, c.wordt, seq))
			}
			if c.was != "" {
				a.Deaths = append(a.Deaths, store.StateDeath{ID: c.was, Seq: seq})
			}
		}
	}
	return tx.AppendGroups(w.ctx, d, a)
}

func state(dataset, id string, seq int64) store.MutationState {
	return store.MutationState{
		ID: id, DatasetID: dataset, ObjectType: "Pand", ObjectID: "1", SourceID: "bron " + id, BornSeq: seq,
		Digest: bytes.Repeat([]byte{7}, 32), Namespaces: `{"p":"urn:p"}`, XML: []byte("<p:Pand>" + id + "</p:Pand>"),
	}
}

// told writes groups as text: what became what.
func told(t *testing.T, w *world, dataset string, from, to int64) (lines []string) {
	t.Helper()
	for s := w.db.OpenGroups(dataset, from, to); ; {
		g, err := s.Next(w.ctx)
		if errors.Is(err, io.EOF) {
			return lines
		}
		noErr(t, err)
		line := fmt.Sprint(g.Seq)
		for _, m := range g.Mutations {
			line += fmt.Sprintf(" %s>%s", xmlOf(m.Was), xmlOf(m.Wordt))
		}
		lines = append(lines, line)
	}
}

func xmlOf(s *store.MutationState) string {
	if s == nil {
		return ""
	}
	return string(bytes.TrimSuffix(bytes.TrimPrefix(s.XML, []byte("<p:Pand>")), []byte("</p:Pand>")))
}

// Groups come back whole and in order, with what was and what became; what was there behind each of them can be read later.
// Rules: MUT-12, MUT-13, MUT-22, MUT-26.
func TestGroups(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.newDataset("panden")
		w.newDataset("wegen")
		w.publish("mpb_1", "panden", []change{{"", "a"}, {"", "b"}}, []change{{"a", "a2"}})
		w.publish("mpb_2", "wegen", []change{{"", "w"}})
		w.publish("mpb_1", "panden", []change{{"b", ""}, {"a2", "a3"}, {"", "c"}})
		same(t, told(t, w, "panden", 0, 9), nil, []string{"1 >a >b", "2 a>a2", "3 b> a2>a3 >c"})
		same(t, told(t, w, "panden", 1, 2), nil, []string{"2 a>a2"})
		same(t, told(t, w, "panden", 3, 9), nil, nil)
		for seq, want := range []string{"", "a b", "b a2", "a3 c"} {
			same(t, w.alive("panden", int64(seq)), nil, want)
		}
		same(t, w.dataset("panden").LastSeq, nil, int64(3))
		// None of these leaves anything: a state that is gone or never was, a group out of order.
		w.fails(store.ErrConflict, func(tx *store.Tx) error { return w.append(tx, "mpb_1", "panden", [][]change{{{"a", "a4"}}}) })
		w.fails(store.ErrConflict, func(tx *store.Tx) error { return w.append(tx, "mpb_1", "panden", [][]change{{{"c", ""}, {"c", ""}}}) })
		w.fails(store.ErrConflict, func(tx *store.Tx) error { return w.append(tx, "mpb_1", "panden", [][]change{{{"", "c"}}}) })
		w.fails(store.ErrConflict, func(tx *store.Tx) error {
			d := w.dataset("panden")
			return tx.AppendGroups(w.ctx, d, store.Appended{Groups: []store.MutationGroup{{DatasetID: "panden", Seq: d.LastSeq + 2}}})
		})
		w.fails(store.ErrNotFound, func(tx *store.Tx) error { return w.append(tx, "mpb_1", "none", nil) })
		same(t, w.alive("panden", 9), nil, "a3 c")
		same(t, w.dataset("panden").LastSeq, nil, int64(3))
	})
}

// alive returns the states that were there behind a group, in the order in which they came.
func (w *world) alive(dataset string, seq int64) (ids string) {
	w.t.Helper()
	d := w.dataset(dataset)
	n := int64(0)
	for s := w.db.OpenStates(d, seq); ; n++ {
		found, err := s.Next(w.ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		noErr(w.t, err)
		if ids != "" {
			ids += " "
		}
		ids += xmlOf(&found)
	}
	gives(w.t, n)(w.db.CountStates(w.ctx, d, seq))
	return ids
}

// A replaced history is gone at once; a new lineage alone takes nothing away.
// Rules: MUT-38.
func TestDatasetLineage(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.newDataset("panden")
		has := func() bool {
			has, err := w.db.HasStates(w.ctx, w.dataset("panden"))
			same(t, err, nil, nil)
			return has
		}
		same(t, has(), nil, false)
		w.publish("mpb_1", "panden", []change{{"", "a"}}, []change{{"", "b"}})
		w.clock.Advance(time.Minute)
		w.write(func(tx *store.Tx) error { return tx.SetDatasetLineage(w.ctx, "panden", "two", "hersteld", false) })
		d := w.dataset("panden")
		same(t, [5]any{d.Lineage, d.LineageReason, d.LineageAt, d.LineageSeq, d.ReplacedSeq}, nil, [5]any{"two", "hersteld", w.now(), int64(2), int64(0)})
		same(t, w.alive("panden", 2), nil, "a b")
		w.write(func(tx *store.Tx) error { return tx.SetDatasetLineage(w.ctx, "panden", "three", "opnieuw", true) })
		same(t, has(), nil, false)
		same(t, w.alive("panden", 2), nil, "")
		for _, find := range []func() ([]store.MutationState, error){
			func() ([]store.MutationState, error) {
				return w.db.StatesByID(w.ctx, w.dataset("panden"), []string{"a"})
			},
			func() ([]store.MutationState, error) {
				return w.db.StatesBySource(w.ctx, w.dataset("panden"), []string{"bron a"})
			},
		} {
			found, err := find()
			same(t, len(found), err, 0)
		}
		w.fails(store.ErrNotFound, func(tx *store.Tx) error { return tx.SetDatasetLineage(w.ctx, "none", "x", "", true) })
	})
}

// Pages of any size give the same groups and states, however large these are.
func TestStreamsOfManySizes(t *testing.T) {
	needs.Unraced(t)
	each(t, func(t *testing.T, w *world) {
		w.newDataset("panden")
		var want []string
		for seq := int64(1); seq <= 40; seq++ {
			size := []int{10, 3 << 20, 100, 9000}[seq%4]
			many := int(seq*seq) % 97
			w.write(func(tx *store.Tx) error {
				d, err := tx.LockDataset(w.ctx, "panden")
				if err != nil {
					return err
				}
				a := store.Appended{Groups: []store.MutationGroup{{DatasetID: "panden", Seq: seq, At: tx.Now}}}
				for n := range many + 1 {
					s := state("panden", fmt.Sprintf("%d.%03d", seq, n), seq)
					s.XML = bytes.Repeat([]byte{'x'}, min(size, 1+6<<20/(many+1)))
					a.States = append(a.States, s)
					a.Mutations = append(a.Mutations, store.Mutation{DatasetID: "panden", Seq: seq, Number: int64(n + 1), WordtID: s.ID})
				}
				return tx.AppendGroups(w.ctx, d, a)
			})
			want = append(want, fmt.Sprint(seq, many+1))
		}
		var got []string
		count := 0
		for s := w.db.OpenGroups("panden", 0, 40); ; {
			g, err := s.Next(w.ctx)
			if errors.Is(err, io.EOF) {
				break
			}
			same(t, err, nil, nil)
			count += len(g.Mutations)
			got = append(got, fmt.Sprint(g.Seq, len(g.Mutations)))
		}
		same(t, got, nil, want)
		states := 0
		for s := w.db.OpenStates(w.dataset("panden"), 40); ; states++ {
			if _, err := s.Next(w.ctx); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		same(t, states, nil, count)
	})
}
