package replica_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/replica"
)

// TestExactCopy follows random histories through an initial delivery and deltas; the copy is the source at every boundary,
// whichever way states are found, and whether transactions are small or large. Each delivery comes twice.
//
// Rules: MUT-01, MUT-03, MUT-04, MUT-15, MUT-16, MUT-22, MUT-35, MUT-36, MUT-37.
func TestExactCopy(t *testing.T) {
	t.Parallel()
	for i, match := range []string{"id", "all-fields", "key=Ding/id,nr"} {
		for _, size := range []int{1, 7, 4000} {
			t.Run(fmt.Sprint(match, size), func(t *testing.T) {
				t.Parallel()
				each(t, func(t *testing.T, database string) {
					m, err := replica.ParseMatch(match)
					must(t, err)
					f := open(t, database, replica.Options{Match: m, Mutations: size, Verify: replica.VerifyStop})
					w := newWorld(t, uint64(i))
					w.groups(60)
					twice(t, f, pack(t, format.Initial, "snapshot-1", "delta-0", w.whole()))
					w.check(t, database)
					for n := range 6 {
						twice(t, f, pack(t, format.Delta, fmt.Sprint("delta-", n+1), fmt.Sprint("delta-", n), w.groups(20*n)))
						w.check(t, database)
					}
					if c := f.Copy(); c.DeltaID != "delta-6" || c.Lineage != "lin-1" || c.UnderWay != nil {
						t.Errorf("%+v", c)
					}
				})
			})
		}
	}
}

func twice(t *testing.T, f *replica.Follower, z zipped) {
	t.Helper()
	first, again := apply(t, f, z.delivery()), apply(t, f, z.delivery())
	if first.Counts.Counts != z.Counts || first.Deliveries[0].Skipped || !again.Deliveries[0].Skipped || again.Counts.Groups != 0 {
		t.Errorf("first %s, again %s, manifest %+v", asJSON(first), asJSON(again), z.Counts)
	}
}

// TestWorkedExamples walks the worked examples of the format for three registers: what is ended, corrected and taken back
// in one group or in several comes out as the versions that hold, without knowing how the history of the register works.
//
// Rules: MUT-02, MUT-03, MUT-04, MUT-05, MUT-06, MUT-07.
func TestWorkedExamples(t *testing.T) {
	t.Parallel()
	for register, want := range map[string][]string{
		"bag": {"begindatumTijdvakGeldigheid", "2026-04-01|fout|nee", "2026-05-01|goed|nee", "2026-06-01|goed|nee", "2026-07-01|ten onrechte|ja"},
		"bgt": {"tijdstipRegistratie", "2026-04-01T00:00:00.000|fout|", "2026-05-01T00:00:00.000|goed|"},
		"brk": {"logischTijdstipOntstaan", "2026-04-01|fout|", "2026-05-01|goed|"},
	} {
		t.Run(register, func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile(filepath.Join("..", "format", "testdata", register+".xml"))
			must(t, err)
			each(t, func(t *testing.T, database string) {
				fields := []string{want[0], "naam", "inactief"}
				f := open(t, database, replica.Options{Name: "register", Fields: fields, Verify: replica.VerifyStop, Mutations: 1})
				beginEmpty(t, f, string(raw))
				apply(t, f, plain(packed(t, string(raw))))
				got := rows(t, connect(t, database), fmt.Sprintf(`SELECT %q, naam, inactief FROM register`, want[0]))
				if got != strings.Join(want[1:], "\n") {
					t.Errorf("%s\nwant\n%s", got, strings.Join(want[1:], "\n"))
				}
			})
		})
	}
}

// TestTwoFollowers lets two programs follow into one copy at the same time: one of them may be refused, and the copy is right.
//
// Rules: MUT-22, MUT-37.
func TestTwoFollowers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, database string) {
		f, w := started(t, database, replica.Options{Mutations: 5})
		other := open(t, database, replica.Options{Name: "dingen", Mutations: 4})
		for n := range 4 {
			z := pack(t, format.Delta, fmt.Sprint("delta-", n+1), fmt.Sprint("delta-", n), w.groups(60))
			var both sync.WaitGroup
			errs := make([]error, 2)
			for i, one := range []*replica.Follower{f, other} {
				both.Go(func() { errs[i] = one.Apply(t.Context(), z.delivery(), &replica.Report{}) })
			}
			both.Wait()
			for _, err := range errs {
				if err != nil && !errors.Is(err, replica.ErrBusy) {
					t.Error(err)
				}
			}
			apply(t, f, z.delivery())
			w.check(t, database)
		}
	})
}

// TestTwoCopies keeps copies of two datasets in one database, of which one is rebuilt while a view of somebody else
// stands on the other's.
func TestTwoCopies(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, database string) {
		_, w := started(t, database, replica.Options{})
		second, _ := started(t, database, replica.Options{Name: "tweede"})
		if _, err := connect(t, database).Exec(`CREATE VIEW own AS SELECT object_id FROM tweede`); err != nil {
			t.Fatal(err)
		}
		anew := pack(t, format.Initial, "snapshot-2", "delta-9", nil).delivery()
		apply(t, second, anew)
		w.check(t, database)
		if got := rows(t, connect(t, database), `SELECT * FROM own`); got != "" {
			t.Errorf("the second copy shows %s", got)
		}
		copies, err := replica.Copies(t.Context(), database)
		if err != nil || len(copies) != 2 || copies[1].DeltaID != "delta-9" || copies[0].DeltaID != "delta-0" {
			t.Errorf("%+v, %v", copies, err)
		}
	})
}

// started is a copy of a world of some states.
func started(t *testing.T, database string, o replica.Options) (*replica.Follower, *world) {
	t.Helper()
	f, w := open(t, database, o), newWorld(t, 3)
	w.groups(20)
	apply(t, f, pack(t, format.Initial, "snapshot-1", "delta-0", w.whole()).delivery())
	return f, w
}

// TestChain refuses a delta that leaves one out, and one of another history; the copy stays what it was, and goes on when
// the right one comes.
//
// Rules: MUT-35, MUT-38.
func TestChain(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, database string) {
		f, w := started(t, database, replica.Options{})
		before := w.shown()
		first := pack(t, format.Delta, "delta-1", "delta-0", w.groups(5))
		after := w.shown()
		second := pack(t, format.Delta, "delta-2", "delta-1", w.groups(5))
		other := first.delivery()
		other.Lineage = "lin-2"
		var report replica.Report
		if err := f.Apply(t.Context(), second.delivery(), &report); !errors.Is(err, replica.ErrGap) || !strings.Contains(err.Error(), "delta-1") {
			t.Errorf("a gap: %v", err)
		}
		if err := f.Apply(t.Context(), other, &report); !errors.Is(err, replica.ErrReinitialise) || !strings.Contains(err.Error(), "lin-2") {
			t.Errorf("another lineage: %v", err)
		}
		if got := rows(t, connect(t, database), `SELECT * FROM dingen`); got != before || report.Counts.Groups != 0 {
			t.Errorf("something was applied: %s", asJSON(report))
		}
		apply(t, f, first.delivery())
		if got := rows(t, connect(t, database), `SELECT * FROM dingen`); got != after {
			t.Error("the first delta is not in")
		}
		apply(t, f, second.delivery())
		w.check(t, database)
		empty := open(t, sqlitePath(t), replica.Options{})
		if err := empty.Apply(t.Context(), first.delivery(), &report); !errors.Is(err, replica.ErrNoCopy) {
			t.Errorf("a delta without a copy: %v", err)
		}
	})
}

// TestBadGroup ends at a group that breaks a rule and gives its place; the groups before it are in, nothing of it is,
// and the next run ends there again.
//
// Rules: MUT-05, MUT-13, MUT-19, MUT-22, MUT-26, MUT-31, MUT-45.
func TestBadGroup(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		bad  func(w *world) []*format.Group
		want error
		text string
	}{
		"an unknown WAS": {func(w *world) []*format.Group {
			m := w.change(0)
			m.Was.ID = "never-given"
			return one(m)
		}, replica.ErrUnknown, "id never-given of Ding object-"},
		"a dead WAS": {func(w *world) []*format.Group {
			m := w.change(0)
			again := m
			again.Wordt = state(t, w.version(m.ObjectID))
			return one(m, again)
		}, replica.ErrUnknown, "replaced or deleted just before"},
		"a forward reference": {func(w *world) []*format.Group {
			add := w.add("object-x")
			return append(one(w.change(len(w.live)-1)), one(add)...)
		}, replica.ErrUnknown, "given only later, in group"},
		"an id given twice": {func(w *world) []*format.Group {
			m := w.add("object-x")
			m.Wordt.ID = w.live[0].id
			return one(m)
		}, replica.ErrTwice, w0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, database string) {
				f, w := started(t, database, replica.Options{})
				good := w.groups(7)
				shown := w.shown()
				groups := append(append(good, tt.bad(w)...), w.groups(3)...)
				d := pack(t, format.Delta, "delta-1", "delta-0", groups).delivery()
				for range 2 {
					var report replica.Report
					err := f.Apply(t.Context(), d, &report)
					place, ok := errors.AsType[*replica.GroupError](err)
					if !ok || !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) || place.Delivery != "delta-1" || place.File != "000001-dingen.xml" || place.Group != 8 || place.Line == 0 {
						t.Fatalf("%v", err)
					}
				}
				if got := rows(t, connect(t, database), `SELECT * FROM dingen`); got != shown {
					t.Errorf("%s\nwant\n%s", got, shown)
				}
				if u := f.Copy().UnderWay; u == nil || u.Group != 7 || u.Counts.Groups != 7 {
					t.Errorf("%+v", u)
				}
			})
		})
	}
	f, w := started(t, sqlitePath(t), replica.Options{})
	var report replica.Report
	raw := pack(t, format.Delta, "delta-1", "delta-0", one(w.add("object-x")))
	without := repack(t, raw, func(doc string) string { return strings.Replace(doc, "<ml:wordt id=", "<ml:wordt other=", 1) })
	if err := f.Apply(t.Context(), without, &report); !errors.Is(err, replica.ErrNoID) {
		t.Errorf("a state without an id: %v", err)
	}
	kept := repack(t, pack(t, format.Delta, "delta-1", "delta-0", one(w.change(0))), func(doc string) string {
		_, id, _ := strings.Cut(doc, `<ml:was id="`)
		id, _, _ = strings.Cut(id, `"`)
		before, after, _ := strings.Cut(doc, `<ml:wordt id="`)
		_, after, _ = strings.Cut(after, `"`)
		return before + `<ml:wordt id="` + id + `"` + after
	})
	if err := f.Apply(t.Context(), kept, &report); !errors.Is(err, replica.ErrTwice) || !strings.Contains(err.Error(), "MUT-13") {
		t.Errorf("a change that keeps its id: %v", err)
	}
	both := repack(t, raw, func(doc string) string {
		return strings.NewReplacer("<ml:toevoeging", "<ml:verwijdering", "</ml:toevoeging", "</ml:verwijdering").Replace(doc)
	})
	if err := f.Apply(t.Context(), both, &report); !errors.Is(err, format.ErrFormat) || !strings.Contains(err.Error(), "group 1") {
		t.Errorf("a delete with a WORDT: %v", err)
	}
	initial := pack(t, format.Initial, "snapshot-2", "delta-3", one(w.change(0)))
	if err := f.Apply(t.Context(), initial.delivery(), &report); !errors.Is(err, replica.ErrRefused) || !strings.Contains(err.Error(), "initial") {
		t.Errorf("an initial delivery with a WAS: %v", err)
	}
	double := newWorld(t, 9)
	v := double.version("object-1")
	m := format.Mutation{ObjectType: "Ding", ObjectID: "object-1", Wordt: state(t, v)}
	if err := f.Apply(t.Context(), pack(t, format.Initial, "snapshot-3", "", append(one(m), one(m)...)).delivery(), &report); !errors.Is(err, replica.ErrTwice) || !strings.Contains(err.Error(), v.id) {
		t.Errorf("an initial delivery with an id twice: %v", err)
	}
	if u := f.Copy(); u.Generation != 1 {
		t.Errorf("the copy is no longer what it was: %+v", u)
	}
}

// w0 begins the error about an id that was given before.
const w0 = "now stands for another state"

func one(list ...format.Mutation) []*format.Group { return []*format.Group{{Mutations: list}} }

// TestNames holds names of copies and of elements to what can be a name in a database.
func TestNames(t *testing.T) {
	t.Parallel()
	for _, o := range []replica.Options{
		{Name: `a"; DROP TABLE x`},
		{Name: "follow_copy"},
		{Name: "Groot"},
		{Name: strings.Repeat("a", 41)},
		{Fields: []string{`a'b`}},
		{Match: replica.Match{Key: []string{`a"`}}},
		{Reenter: replica.ReenterFlag},
	} {
		if f, err := replica.Open(t.Context(), sqlitePath(t), o); err == nil {
			t.Errorf("%+v was taken", o)
			_ = f.Close()
		}
	}
	for _, text := range []string{"x", "key=", "key=a,,b"} {
		if _, err := replica.ParseMatch(text); err == nil {
			t.Errorf("%s was taken", text)
		}
	}
	for _, database := range []string{"", "sqlite:", "mysql://x", "/tmp/x"} {
		if _, err := replica.Open(t.Context(), database, replica.Options{}); err == nil {
			t.Errorf("%s was taken", fmt.Sprint(database))
		}
	}
}
