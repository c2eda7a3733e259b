package replica_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/replica"
)

func thing(t testing.TB, id, object string, x int) *format.State {
	t.Helper()
	return state(t, version{id, object, fmt.Sprintf(`<d:o><d:Ding><d:id>%s</d:id><d:x>%d</d:x></d:Ding></d:o>`, object, x)})
}

func add(t testing.TB, id, object string, x int) format.Mutation {
	return format.Mutation{ObjectType: "Ding", ObjectID: object, Wordt: thing(t, id, object, x)}
}

func change(t testing.TB, was string, from int, id string, to int, object string) format.Mutation {
	return format.Mutation{ObjectType: "Ding", ObjectID: object, Was: thing(t, was, object, from), Wordt: thing(t, id, object, to)}
}

func gone(t testing.TB, was, object string, x int) format.Mutation {
	return format.Mutation{ObjectType: "Ding", ObjectID: object, Was: thing(t, was, object, x)}
}

// TestVerify spoils a field of the copy: a WAS that does not fit is reported with its id, what was expected and what was found,
// and by choice stops the work, is reported only, or brings a lost state back.
//
// Rules: MUT-17.
func TestVerify(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, database string) {
		for _, verify := range []replica.Verify{replica.VerifyOff, replica.VerifyStop, replica.VerifyWarn, replica.VerifyRepair} {
			name := "copy_" + string(verify)
			f := open(t, database, replica.Options{Name: name, Verify: verify})
			apply(t, f, pack(t, format.Initial, "i", "d-0", []*format.Group{{Mutations: []format.Mutation{add(t, "a-1", "a", 1), add(t, "b-1", "b", 1), add(t, "c-1", "c", 1)}}}).delivery())
			table := name + "_state_1"
			db := connect(t, database)
			if _, err := db.Exec(`UPDATE ` + table + ` SET body = REPLACE(body, '<d:x>1<', '<d:x>8<') WHERE id = 'b-1'`); err != nil {
				t.Fatal(err)
			}
			if verify == replica.VerifyRepair {
				if _, err := db.Exec(`DELETE FROM ` + table + ` WHERE id = 'c-1'`); err != nil {
					t.Fatal(err)
				}
			}
			groups := append(append(one(change(t, "a-1", 1, "a-2", 2, "a")), one(change(t, "b-1", 1, "b-2", 2, "b"))...), one(change(t, "c-1", 1, "c-2", 2, "c"))...)
			var report replica.Report
			err := f.Apply(t.Context(), pack(t, format.Delta, "d-1", "d-0", groups).delivery(), &report)
			want := map[replica.Verify]string{
				replica.VerifyOff: "a 2,b 2,c 2", replica.VerifyWarn: "a 2,b 2,c 2", replica.VerifyRepair: "a 2,b 2,c 2", replica.VerifyStop: "a 2,b 8,c 1",
			}[verify]
			if got := places(t, database, name); got != want || (verify == replica.VerifyStop) != errors.Is(err, replica.ErrMismatch) {
				t.Errorf("%s: %s, %v", verify, got, err)
			}
			if verify == replica.VerifyOff {
				continue
			}
			m := report.Mismatches[0]
			if m.ID != "b-1" || m.ObjectID != "b" || !strings.Contains(m.Expected, "<d:x>1<") || !strings.Contains(m.Found, "<d:x>8<") || report.Counts.Repaired != int64(len(report.Mismatches)-1) {
				t.Errorf("%s: %s", verify, asJSON(report))
			}
		}
	})
}

// places are the objects of a copy with their x.
func places(t *testing.T, database, name string) string {
	t.Helper()
	lines := rows(t, connect(t, database), `SELECT object_id, xml FROM `+name)
	var out []string
	for line := range strings.Lines(lines) {
		object, xml, _ := strings.Cut(line, "|")
		_, x, _ := strings.Cut(xml, "<d:x>")
		x, _, _ = strings.Cut(x, "<")
		out = append(out, object+" "+x)
	}
	return strings.Join(out, ",")
}

// TestProjection keeps two fields and the id, and stays right; nothing that is shown has the id.
//
// Rules: MUT-14, MUT-17, MUT-18.
func TestProjection(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, database string) {
		f := open(t, database, replica.Options{Fields: []string{"Ding/id", "x"}, Verify: replica.VerifyStop})
		apply(t, f, pack(t, format.Initial, "i", "d-0", append(one(add(t, "a-1", "a", 1)), one(add(t, "b-1", "b", 1))...)).delivery())
		apply(t, f, pack(t, format.Delta, "d-1", "d-0", append(one(change(t, "a-1", 1, "a-2", 2, "a")), one(gone(t, "b-1", "b", 1))...)).delivery())
		db := connect(t, database)
		if got := rows(t, db, `SELECT * FROM dingen`); got != "Ding|a|a|2" {
			t.Errorf("%s", got)
		}
		if got := rows(t, db, `SELECT "Ding/id", x FROM dingen`); got != "a|2" {
			t.Errorf("%s", got)
		}
		if err := f.Apply(t.Context(), pack(t, format.Delta, "d-2", "d-1", one(change(t, "a-2", 7, "a-3", 3, "a"))).delivery(), &replica.Report{}); !errors.Is(err, replica.ErrMismatch) {
			t.Errorf("a WAS with another field: %v", err)
		}
		other := open(t, database, replica.Options{Name: "dingen"})
		if err := other.Apply(t.Context(), pack(t, format.Delta, "d-3", "d-1", nil).delivery(), &replica.Report{}); !errors.Is(err, replica.ErrSettings) {
			t.Errorf("other settings: %v", err)
		}
	})
}

// TestNoIDShown looks for ids of states in all that a copy shows: the columns and the values of its view.
//
// Rules: MUT-18.
func TestNoIDShown(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, database string) {
		_, w := started(t, database, replica.Options{})
		shown := rows(t, connect(t, database), `SELECT * FROM dingen`)
		for _, v := range w.live {
			if strings.Contains(shown, v.id) {
				t.Fatalf("%s is shown", v.id)
			}
		}
	})
}

// TestKey finds states by elements that tell them apart; when they do not, that is an error, and states without ids do
// well with it.
//
// Rules: MUT-15, MUT-16, MUT-19.
func TestKey(t *testing.T) {
	t.Parallel()
	bare := func(groups []*format.Group) replica.Delivery {
		kind := format.Delta
		if groups[0].Mutations[0].Was == nil {
			kind = format.Initial
		}
		return repack(t, pack(t, kind, string(kind), "", groups), func(doc string) string {
			return strings.NewReplacer("<ml:was id=", "<ml:was x=", "<ml:wordt id=", "<ml:wordt x=").Replace(doc)
		})
	}
	initial := bare(append(append(one(add(t, "1", "a", 1)), one(add(t, "2", "a", 2))...), one(add(t, "3", "b", 1))...))
	for match, want := range map[string]string{"all-fields": "a 2,a 5,b 1", "key=id,x": "a 2,a 5,b 1", "key=id": "ambiguous", "key=nope": "none"} {
		t.Run(match, func(t *testing.T) {
			t.Parallel()
			m, err := replica.ParseMatch(match)
			must(t, err)
			database := sqlitePath(t)
			f := open(t, database, replica.Options{Match: m})
			var report replica.Report
			err = f.Apply(t.Context(), initial, &report)
			if want == "none" {
				if !errors.Is(err, replica.ErrRefused) || !strings.Contains(err.Error(), "nope") {
					t.Errorf("%v", err)
				}
				return
			}
			must(t, err)
			err = f.Apply(t.Context(), bare(one(change(t, "1", 1, "4", 5, "a"))), &report)
			if want == "ambiguous" {
				if !errors.Is(err, replica.ErrAmbiguous) {
					t.Errorf("%v", err)
				}
				return
			}
			if got := places(t, database, "dingen"); got != want || err != nil {
				t.Errorf("%s, %v", got, err)
			}
			if err := f.Apply(t.Context(), repack(t, pack(t, format.Delta, "d-2", "", one(gone(t, "9", "a", 77))), func(s string) string { return s }), &report); !errors.Is(err, replica.ErrUnknown) {
				t.Errorf("an unknown WAS: %v", err)
			}
		})
	}
}

// TestReplay brings deltas into a copy that has all or a part of them already, as the first ones behind an initial delivery
// whose included deltas are not known. The copy ends the same.
//
// Rules: MUT-36.
func TestReplay(t *testing.T) {
	t.Parallel()
	for _, match := range []string{"id", "all-fields", "key=Ding/id,nr"} {
		t.Run(match, func(t *testing.T) {
			t.Parallel()
			m, err := replica.ParseMatch(match)
			must(t, err)
			each(t, func(t *testing.T, database string) {
				w := newWorld(t, 5)
				w.groups(40)
				first := w.groups(30)
				half := w.whole()
				second := w.groups(30)
				f := open(t, database, replica.Options{Match: m, Mutations: 9})
				apply(t, f, pack(t, format.Initial, "i", "", half).delivery())
				for n, groups := range [][]*format.Group{first, second, second} {
					d := pack(t, format.Delta, fmt.Sprint("d-", n), "", groups).delivery()
					d.Chained, d.Overlap = false, true
					if r := apply(t, f, d); n != 1 && r.Counts.Again == 0 {
						t.Errorf("%s", asJSON(r))
					}
				}
				w.check(t, database)
			})
		})
	}
}
