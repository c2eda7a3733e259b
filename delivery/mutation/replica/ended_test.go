package replica_test

import (
	"errors"
	"net/http"
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
