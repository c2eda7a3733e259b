package replica_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/replica"
)

// below is the area of what has an x below some number.
type below int

func (b below) Inside(s *format.State) (bool, error) {
	_, rest, found := bytes.Cut(s.XML, []byte("<d:x>"))
	if !found {
		return false, errors.New("no x")
	}
	var x int
	_, err := fmt.Sscanf(string(rest), "%d<", &x)
	return x < int(b), err
}

// shownBelow lists the rows in the view of a copy of an area.
func (w *world) shownBelow(b below) string {
	var lines []string
	for _, v := range w.live {
		if in, err := b.Inside(state(w.t, v)); err == nil && in {
			lines = append(lines, v.shown())
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// filtered keeps the mutations that concern an area, and of those far away some, as PDOK's overshoot does.
func filtered(t *testing.T, groups []*format.Group, b below, overshoot bool) (out []*format.Group) {
	t.Helper()
	for n, g := range groups {
		var kept []format.Mutation
		for _, m := range g.Mutations {
			in := overshoot && n%3 == 0
			for _, s := range []*format.State{m.Was, m.Wordt} {
				if s != nil {
					inside, err := b.Inside(s)
					must(t, err)
					in = in || inside
				}
			}
			if in {
				kept = append(kept, m)
			}
		}
		if len(kept) > 0 {
			out = append(out, &format.Group{Mutations: kept})
		}
	}
	return out
}

// TestAreaCopy follows random histories through deltas of an area, exact ones and ones with more in them; the copy is
// exactly what lies in the area.
//
// Rules: MUT-01, MUT-44, MUT-45, MUT-48.
func TestAreaCopy(t *testing.T) {
	t.Parallel()
	for _, overshoot := range []bool{false, true} {
		t.Run(fmt.Sprint("overshoot ", overshoot), func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, database string) {
				const area = below(50)
				f, w := open(t, database, replica.Options{Area: area, AreaName: "below 50", Mutations: 20, Tombstones: true}), newWorld(t, 11)
				w.groups(60)
				apply(t, f, pack(t, format.Initial, "i", "d-0", filtered(t, w.whole(), area, overshoot)).delivery())
				var all replica.Counts
				for n := range 6 {
					z := pack(t, format.Delta, fmt.Sprint("d-", n+1), fmt.Sprint("d-", n), filtered(t, w.groups(40), area, overshoot))
					r := apply(t, f, z.delivery())
					all.Entered, all.Left, all.Outside = all.Entered+r.Counts.Entered, all.Left+r.Counts.Left, all.Outside+r.Counts.Outside
					if got := rows(t, connect(t, database), `SELECT * FROM dingen`); got != w.shownBelow(area) {
						t.Fatalf("%s\nwant\n%s", got, w.shownBelow(area))
					}
				}
				if all.Entered == 0 || all.Left == 0 || overshoot != (all.Outside > 0) {
					t.Errorf("%+v", all)
				}
			})
		})
	}
}

// TestEnterAndLeave walks an object into the area, out of it and back, with each way to take its coming back. A WAS that
// lies in the area and is not known stays an error, and so does every unknown WAS without an area.
//
// Rules: MUT-44, MUT-45, MUT-46.
func TestEnterAndLeave(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, database string) {
		for _, reenter := range []replica.Reenter{replica.ReenterAccept, replica.ReenterFlag, replica.ReenterInitial} {
			name := "w_" + strings.ReplaceAll(string(reenter), "-", "_")
			f := open(t, database, replica.Options{Name: name, Area: below(50), Tombstones: true, Reenter: reenter})
			apply(t, f, pack(t, format.Initial, "i", "d-0", append(one(add(t, "a-1", "a", 1)), one(add(t, "far-1", "far", 90))...)).delivery())
			steps := []struct {
				m    format.Mutation
				want string
				of   func(replica.Counts) int64
			}{
				{change(t, "b-1", 70, "b-2", 7, "b"), "a 1,b 7", func(c replica.Counts) int64 { return c.Entered }},
				{change(t, "b-2", 7, "b-3", 8, "b"), "a 1,b 8", func(c replica.Counts) int64 { return c.Changes }},
				{change(t, "b-3", 8, "b-4", 80, "b"), "a 1", func(c replica.Counts) int64 { return c.Left }},
				{change(t, "far-1", 90, "far-2", 91, "far"), "a 1", func(c replica.Counts) int64 { return c.Outside }},
				{gone(t, "far-2", "far", 91), "a 1", func(c replica.Counts) int64 { return c.Outside }},
				{change(t, "b-9", 81, "b-10", 9, "b"), "a 1,b 9", func(c replica.Counts) int64 { return c.Reentered }},
			}
			for n, s := range steps {
				r := apply(t, f, pack(t, format.Delta, fmt.Sprint("d-", n+1), fmt.Sprint("d-", n), one(s.m)).delivery())
				if got := places(t, database, name); got != s.want || s.of(r.Counts) != 1 {
					t.Errorf("%s, step %d: %s, %s", reenter, n, got, asJSON(r))
				}
			}
			tombs := rows(t, connect(t, database), `SELECT object_id, CASE WHEN back_at > 0 THEN 'back' ELSE 'away' END FROM follow_tombstone WHERE copy = '`+name+`'`)
			if want := map[replica.Reenter]string{replica.ReenterFlag: "b|back", replica.ReenterInitial: "b|back"}[reenter]; tombs != want {
				t.Errorf("%s: tombstones %q", reenter, tombs)
			}
			err := f.Apply(t.Context(), pack(t, format.Delta, "d-7", "d-6", one(change(t, "x-1", 10, "x-2", 11, "x"))).delivery(), &replica.Report{})
			if reenter == replica.ReenterInitial {
				if !errors.Is(err, replica.ErrReinitialise) || !strings.Contains(err.Error(), "Ding b came back") {
					t.Errorf("%v", err)
				}
			} else if !errors.Is(err, replica.ErrUnknown) {
				t.Errorf("an unknown WAS inside: %v", err)
			}
		}
	})
}

// TestAreaOfManifest takes the area that the manifest tells, and refuses a part of a dataset when nobody can read what part.
//
// Rules: MUT-44, MUT-45.
func TestAreaOfManifest(t *testing.T) {
	t.Parallel()
	z := pack(t, format.Initial, "i", "d-0", one(add(t, "a-1", "a", 1)))
	z.Area = "below 50"
	blind := open(t, sqlitePath(t), replica.Options{})
	if err := blind.Apply(t.Context(), z.delivery(), &replica.Report{}); !errors.Is(err, replica.ErrRefused) {
		t.Errorf("%v", err)
	}
	database := sqlitePath(t)
	f := open(t, database, replica.Options{Area: below(60), AreaOf: func(text string, _ *archive.Located) (replica.Area, error) {
		var n below
		_, err := fmt.Sscanf(text, "below %d", &n)
		return n, err
	}})
	apply(t, f, z.delivery())
	z = pack(t, format.Delta, "d-1", "d-0", append(one(change(t, "b-1", 70, "b-2", 3, "b")), one(change(t, "a-1", 1, "a-2", 55, "a"))...))
	z.Area = "below 50"
	if r := apply(t, f, z.delivery()); r.Counts.Entered != 1 || r.Counts.Left != 1 || places(t, database, "dingen") != "b 3" {
		t.Errorf("%s", asJSON(r))
	}
}
