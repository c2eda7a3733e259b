package replica_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/replica"
)

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

// one makes a group of mutations.
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
