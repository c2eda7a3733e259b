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

// A copy of a dataset that ended is brought to its end, and then it is known to be complete: also when nothing can be fetched
// any more. One that is not complete is not said to be.
//
// Rules: MUT-33, MUT-35.
func TestEndedDataset(t *testing.T) {
	t.Parallel()
	s, o := newOurs(t)
	s.snapshot = pack(t, format.Initial, "snap", "d-0", one(add(t, "a-1", "a", 1)))
	members, closed := "", false
	s.before = func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/datasets/dingen") {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"id":"dingen","status":"ended"` + members + `}`))
			return true
		}
		if closed {
			trouble(w, http.StatusForbidden, "forbidden", "Dataset dingen has ended.")
		}
		return closed
	}
	f := open(t, sqlitePath(t), replica.Options{})
	for _, step := range []struct {
		members string
		closed  bool
		ended   bool
		fails   bool
	}{
		{"", false, false, false},
		{`,"ended":{"at":"2026-05-01T12:00:00Z","complete":false}`, false, false, false},
		{`,"ended":{"at":"2026-05-01T12:00:00Z","complete":true,"lastDeltaId":"d-1"}`, true, false, true}, // there was more
		{`,"ended":{"at":"2026-05-01T12:00:00Z","reason":"It moved","complete":true,"lastDeltaId":"d-0"}`, false, true, false},
		{`,"ended":{"at":"2026-05-01T12:00:00Z","complete":true,"lastDeltaId":"d-0"}`, true, true, false},
	} {
		members, closed = step.members, step.closed
		report, err := run(t, f, o, replica.RebuildNever)
		if (report.Ended != nil) != step.ended || (err != nil) != step.fails {
			t.Errorf("%+v: %+v, %v", step, report.Ended, err)
		}
	}
}

// A copy of an area that was changed cannot go on, also while no delta came since: it is not up to date. What the source says
// of another subscription does not count.
//
// Rules: MUT-38, MUT-49.
func TestOtherLineageWithNothingNew(t *testing.T) {
	t.Parallel()
	s, o := newOurs(t)
	s.snapshot = pack(t, format.Initial, "snap", "d-0", one(add(t, "a-1", "a", 1)))
	members := `"lineage":"lin-1"`
	s.before = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/datasets/dingen") {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"id":"dingen","status":"active",` + members + `}`))
		return true
	}
	f := open(t, sqlitePath(t), replica.Options{})
	if _, err := run(t, f, o, replica.RebuildNever); err != nil {
		t.Fatal(err)
	}
	members = `"lineage":"lin-2","subscription":{"id":"sub_1"}`
	if _, err := run(t, f, o, replica.RebuildNever); !errors.Is(err, replica.ErrReinitialise) || !strings.Contains(err.Error(), "lin-2") {
		t.Errorf("another lineage: %v", err)
	}
	another := o
	another.Subscription = "sub_2"
	if _, err := run(t, f, another, replica.RebuildNever); err != nil {
		t.Errorf("of another subscription: %v", err)
	}
	s.set(func() {
		s.snapshot = pack(t, format.Initial, "snap", "d-0", one(add(t, "a-2", "b", 1)))
		s.snapshot.Lineage = "lin-2"
	})
	report, err := run(t, f, o, replica.RebuildNeeded)
	if err != nil || report.Lineage != "lin-2" || len(report.Deliveries) != 1 {
		t.Errorf("anew: %v: %s", err, asJSON(report))
	}
	s.set(func() { members = `"lineage":"lin-3"` })
	if report, err = run(t, f, o, replica.RebuildNeeded); !errors.Is(err, replica.ErrReinitialise) || len(report.Deliveries) != 1 {
		t.Errorf("a source that contradicts itself: %v: %s", err, asJSON(report))
	}
}

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
		must(t, err)
		raw, err := io.ReadAll(body)
		must(t, err)
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
