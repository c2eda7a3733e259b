package ingest_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/historytest"
	"schakel/delivery/mutation/ingest"
	"schakel/store"
	"schakel/store/needs"
	"schakel/store/storetest"
)

// source is a register that publishes its history in one dataset, in any way there is.
type source struct {
	t       testing.TB
	dataset string
	history *historytest.History
	rand    *rand.Rand
	ours    map[string]string // the ids that Ingester gave its states
	sent    int
}

// next is some groups, in which a WAS names its state in one of the ways.
func (s *source) next() (plain, dressed []*format.Group) {
	for range 1 + s.rand.IntN(9) {
		g := s.history.Group()
		plain = append(plain, g)
		copied := &format.Group{Mutations: slices.Clone(g.Mutations)}
		for i := range copied.Mutations {
			if was := copied.Mutations[i].Was; was != nil {
				named := *was
				switch ours, known := s.ours[was.ID]; s.rand.IntN(3) {
				case 0:
					named.ID = ""
				case 1:
					if known {
						named.ID = ours
					}
				}
				copied.Mutations[i].Was = &named
			}
		}
		dressed = append(dressed, copied)
	}
	return plain, dressed
}

// form writes groups in some form. One that needs ids on all states cannot have a WAS without.
func (s *source) form(plain, dressed []*format.Group) ingest.Source {
	h := s.history.Header(s.dataset, format.Delta, "d")
	switch s.rand.IntN(5) {
	case 0:
		return ingest.FromXML("a.xml", strings.NewReader(string(file(s.t, h, plain...))), format.Limits{})
	case 1:
		return ingest.FromZip(bytes.NewReader(zipped(s.t, h, 1+s.rand.IntN(5), plain...)), archive.Limits{}, format.Limits{})
	case 2:
		return ingest.FromJSON("a.json", strings.NewReader(`{"groups":[`+strings.Join(jsonLines(s.t, standalone(dressed)), ",")+`]}`), format.Limits{})
	case 3:
		return ingest.FromNDJSON("a.ndjson", strings.NewReader(strings.Join(jsonLines(s.t, standalone(dressed)), "\n")), format.Limits{})
	}
	return of(dressed...)
}

// standalone gives states as elements that declare their namespaces.
func standalone(groups []*format.Group) (out []*format.Group) {
	alone := func(s *format.State) *format.State {
		if s == nil {
			return nil
		}
		return &format.State{ID: s.ID, XML: s.Standalone()}
	}
	for _, g := range groups {
		copied := &format.Group{}
		for _, m := range g.Mutations {
			copied.Mutations = append(copied.Mutations, format.Mutation{ObjectType: m.ObjectType, ObjectID: m.ObjectID, Was: alone(m.Was), Wordt: alone(m.Wordt)})
		}
		out = append(out, copied)
	}
	return out
}

// publish publishes what comes next, now and then with a cut, and remembers the ids.
func (s *source) publish(l *ingest.Ingester) {
	s.t.Helper()
	plain, dressed := s.next()
	s.sent++
	req := ingest.Request{Dataset: s.dataset, ClientID: "c", Key: fmt.Sprint("k", s.sent), Kind: store.PublicationDelta}
	if s.rand.IntN(3) == 0 {
		cut := of(dressed[:s.rand.IntN(len(dressed)+1)]...)
		cut.err = errCut
		req.Source = cut
		if _, err := l.Publish(s.t.Context(), req); err == nil {
			s.t.Fatal("a cut request ended well")
		}
		req.Source = of(dressed...) // the same must follow
	} else {
		req.Source = s.form(plain, dressed)
	}
	r, err := l.Publish(s.t.Context(), req)
	if strings.Contains(codes(err), ingest.CodeAmbiguous) { // two versions with the same fields: only ids tell
		req.Key += " by ids"
		rest := plain
		var refused *ingest.Refused
		if errors.As(err, &refused) {
			rest = plain[refused.Publication.Groups:]
		}
		req.Source = of(rest...)
		r, err = l.Publish(s.t.Context(), req)
	}
	must(s.t, err)
	for _, state := range r.States {
		if before, twice := s.ours[state.SourceID]; twice && before != state.ID {
			s.t.Fatalf("%s is called %s and %s", state.SourceID, before, state.ID)
		}
		s.ours[state.SourceID] = state.ID
	}
}

// check compares the dataset with what an exact copy holds.
func (s *source) check(db *store.DB) {
	s.t.Helper()
	d, err := db.Dataset(s.t.Context(), s.dataset)
	must(s.t, err)
	var got []string
	for states := db.OpenStates(d, d.LastSeq); ; {
		row, err := states.Next(s.t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		must(s.t, err)
		spaces, err := ingest.Namespaces(row.Namespaces)
		must(s.t, err)
		got = append(got, historytest.Line(row.ObjectType, row.ObjectID, &format.State{XML: row.XML, Namespaces: spaces}))
	}
	slices.Sort(got)
	if diff := historytest.Difference(got, s.history.Copy(nil)); diff != "" {
		s.t.Fatalf("after %d publications: %s", s.sent, diff)
	}
}

// Random histories of three registers, published in every form, cut off, sent again, with restarts between: the dataset holds
// what the source does, and no id is ever given twice, over all datasets.
// Rules: MUT-02, MUT-03, MUT-10, MUT-12, MUT-13, MUT-15, MUT-22, MUT-25, MUT-26, MUT-29.
func TestRandomHistories(t *testing.T) {
	needs.Unraced(t)
	t.Parallel()
	storetest.EachURL(t, func(t *testing.T, url string) {
		db := reopen(t, url, nil)
		var sources []*source
		for i, model := range historytest.Models() {
			id := string(model)
			insertDataset(t, db, id)
			seed := uint64(20261122 + i)
			sources = append(sources, &source{
				t: t, dataset: id, history: historytest.New(seed, model, id), rand: rand.New(rand.NewPCG(seed, 1)), ours: make(map[string]string),
			})
		}
		for round := range 40 {
			for _, s := range sources {
				s.publish(ingest.New(ingest.Config{DB: db}))
			}
			if round%10 == 9 {
				db = reopen(t, url, db)
				for _, s := range sources {
					s.check(db)
				}
			}
		}
		idsAreUnique(t, db, sources)
	})
}

func reopen(t *testing.T, url string, before *store.DB) *store.DB {
	t.Helper()
	if before != nil {
		must(t, before.Close())
	}
	db, err := store.Open(t.Context(), url, store.Options{})
	must(t, err)
	must(t, db.Migrate(t.Context()))
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func insertDataset(t testing.TB, db *store.DB, id string) {
	t.Helper()
	d := store.Dataset{
		ID: id, Title: id, Status: store.DatasetActive, RootPrefix: "p", RootSpace: "urn:p", RootLocal: "m", Namespaces: "{}",
		ObjectTypes: historytest.Types(), AreaKind: store.AreaNone, PerFile: 5000, Lineage: "one",
	}
	must(t, db.Write(t.Context(), func(tx *store.Tx) error { return tx.InsertDataset(t.Context(), &d) }))
}

func idsAreUnique(t *testing.T, db *store.DB, sources []*source) {
	t.Helper()
	seen := make(map[string]bool)
	for _, s := range sources {
		for groups := db.OpenGroups(s.dataset, 0, 1<<40); ; {
			g, err := groups.Next(t.Context())
			if errors.Is(err, io.EOF) {
				break
			}
			must(t, err)
			for _, m := range g.Mutations {
				if m.WordtID != "" && seen[m.WordtID] || m.WasID != "" && !seen[m.WasID] {
					t.Fatalf("%s, group %d: %+v", s.dataset, g.Seq, m.Mutation)
				}
				seen[m.WordtID] = true
			}
		}
	}
	if len(seen) < 500 {
		t.Errorf("only %d ids", len(seen))
	}
}

// What is exactly undone gets a third id.
// Rules: MUT-11.
func TestUndoneChange(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a := w.publish("a", group(add("1", "", "A")))
		b := w.publish("b", group(mut("1", st("", "A"), st("", "B"))))
		c := w.publish("c", group(mut("1", st("", "B"), st("", "A"))))
		ids := []string{a.States[0].ID, b.States[0].ID, c.States[0].ID}
		slices.Sort(ids)
		if len(slices.Compact(ids)) != 3 || len(ids[0]) != 36 {
			t.Errorf("ids %q", ids)
		}
	})
}
