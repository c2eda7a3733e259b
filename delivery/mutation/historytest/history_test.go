package historytest

import (
	"bytes"
	"io"
	"slices"
	"sort"
	"testing"

	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/format/lint"
)

// TestHistory replays histories by ids alone, without knowing the model, and finds what the source has.
//
// Rules: MUT-02, MUT-03, MUT-11.
func TestHistory(t *testing.T) {
	t.Parallel()
	for _, model := range Models() {
		h := New(1, model, "")
		live, used := map[string]string{}, map[string]bool{}
		kinds := map[format.Kind]int{}
		for range 3000 {
			for _, m := range h.Group().Mutations {
				kinds[m.Kind()]++
				if m.Was != nil {
					if live[m.Was.ID] != Line(m.ObjectType, m.ObjectID, m.Was) {
						t.Fatalf("%s: WAS %s is not what was there", model, m.Was.ID)
					}
					delete(live, m.Was.ID)
				}
				if m.Wordt != nil {
					if used[m.Wordt.ID] {
						t.Fatalf("%s: id %s came twice", model, m.Wordt.ID)
					}
					used[m.Wordt.ID] = true
					live[m.Wordt.ID] = Line(m.ObjectType, m.ObjectID, m.Wordt)
				}
			}
		}
		var got []string
		for _, line := range live {
			got = append(got, line)
		}
		sort.Strings(got)
		if !slices.Equal(got, h.Copy(nil)) || len(got) < 500 || kinds[format.Add] < 500 || kinds[format.Change] < 500 || kinds[format.Delete] < 100 {
			t.Errorf("%s: %d versions, %v mutations", model, len(got), kinds)
		}
	}
}

// TestHistoryIsSound lets the linter look at what a history looks like in a file.
func TestHistoryIsSound(t *testing.T) {
	t.Parallel()
	h := New(2, BAG, "a")
	var file bytes.Buffer
	w, err := format.NewWriter(&file, h.Header("bag", format.Delta, "d1"))
	if err != nil {
		t.Fatal(err)
	}
	for range 500 {
		if err := w.WriteGroup(h.Group()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	l := lint.New(lint.Options{Complete: true})
	if err := l.File("000001-bag.xml", io.Reader(&file)); err != nil {
		t.Fatal(err)
	}
	report, err := l.Report()
	if err != nil || report.Errors > 0 || report.Groups != 500 {
		t.Errorf("%+v %v", report, err)
	}
}
