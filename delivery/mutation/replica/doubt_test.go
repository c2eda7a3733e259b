package replica_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/replica"
)

// TestInitialTooOld follows a source of which the initial delivery calls itself by no delta of the list. Where it is newer
// than the first one the copy is exact; where deltas between are gone the copy says that it never had what they changed, also
// after it was killed on its way.
//
// Rules: MUT-34, MUT-35, MUT-36.
func TestInitialTooOld(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, database string) {
		for name, missing := range map[string]int{"new": 0, "old": 2} {
			s, o := newPDOK(t)
			s.perPage = 100
			w := newWorld(t, 19)
			w.groups(60)
			first := pack(t, format.Initial, "i-1", "", w.whole())
			s.initial = func() zipped { return first }
			for n := range 6 {
				if s.deltas = append(s.deltas, pack(t, format.Delta, fmt.Sprint("d-", n+1), "", w.groups(30))); n == 2 && missing == 0 {
					first = pack(t, format.Initial, "i-2", "", w.whole())
				}
			}
			s.deltas = s.deltas[missing:]
			f := open(t, database, replica.Options{Name: "c_" + name, Mutations: 10})
			r, err := run(t, f, o, replica.RebuildNever)
			if missing == 0 {
				if err != nil || r.DeltaID != "d-6" || rows(t, connect(t, database), `SELECT * FROM c_new`) != w.shown() {
					t.Errorf("%v: %s", err, asJSON(r))
				}
				continue
			}
			if !errors.Is(err, replica.ErrReinitialise) || !strings.Contains(err.Error(), "too old") {
				t.Errorf("%v: %s", err, asJSON(r))
			}
			if _, err := run(t, f, o, replica.RebuildNever); !errors.Is(err, replica.ErrReinitialise) {
				t.Errorf("it was forgotten: %v", err)
			}
			first = pack(t, format.Initial, "i-3", "", w.whole())
			if _, err := run(t, f, o, replica.RebuildNeeded); err != nil || rows(t, connect(t, database), `SELECT * FROM c_old`) != w.shown() {
				t.Errorf("anew: %v", err)
			}
		}
		if left := rows(t, connect(t, database), `SELECT * FROM follow_doubt`); left != "" {
			t.Errorf("still in doubt: %s", left)
		}
	})
}

// TestSourceStandsStill ends when a source gives the same deltas whatever is asked.
//
// Rules: MUT-35.
func TestSourceStandsStill(t *testing.T) {
	t.Parallel()
	s, o := newOurs(t)
	w := newWorld(t, 3)
	w.groups(10)
	s.snapshot = pack(t, format.Initial, "i", "d-0", w.whole())
	s.deltas = []zipped{pack(t, format.Delta, "d-1", "d-0", w.groups(5)), pack(t, format.Delta, "d-2", "d-1", w.groups(5))}
	s.before = func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/deltas") {
			r.URL.RawQuery = "after-delta-id=d-0"
		}
		return false
	}
	database := sqlitePath(t)
	_, err := run(t, open(t, database, replica.Options{}), o, replica.RebuildNever)
	if !errors.Is(err, replica.ErrRefused) || !strings.Contains(err.Error(), "again") {
		t.Error(err)
	}
	w.check(t, database)
}

// TestChangedWithoutIDs finds a delivery without ids to be another one although nothing but a text of equal length changed.
//
// Rules: MUT-29, MUT-38.
func TestChangedWithoutIDs(t *testing.T) {
	t.Parallel()
	ids := regexp.MustCompile(` id="[^"]*"`)
	nameless := func(x int) []byte {
		z := pack(t, format.Initial, "d-0", "", append(one(add(t, "1", "a", x)), one(add(t, "2", "b", 50))...))
		body, err := repack(t, z, func(text string) string { return ids.ReplaceAllString(text, "") }).Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(body)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	database := sqlitePath(t)
	f := open(t, database, replica.Options{Match: replica.Match{AllFields: true}, Mutations: 1})
	first := nameless(11)
	if err := f.Apply(t.Context(), plain(first[:len(first)-30]), &replica.Report{}); err == nil {
		t.Fatal("a cut delivery is whole")
	}
	second := plain(nameless(12))
	second.Again = true
	apply(t, f, second)
	if got := places(t, database, "dingen"); got != "a 12,b 50" {
		t.Error(got)
	}
}
