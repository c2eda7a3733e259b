package ingest_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/ingest"
)

// read gives the groups of a source until it ends or fails, and holds it to what a source promises.
func read(t *testing.T, s ingest.Source) (out []*format.Group, err error) {
	for {
		g, at, err := s.Next()
		if err != nil {
			if _, _, again := s.Next(); again == nil || again.Error() != err.Error() {
				t.Fatalf("after %v it says %v", err, again)
			}
			if err == io.EOF { //nolint:errorlint // what only wraps it must not end a stream
				return out, nil
			}
			return out, err
		}
		out = append(out, g)
		if g.Index != len(out) || at.Group != len(out) || g.Line < 1 || len(g.Mutations) > 50 {
			t.Fatalf("group %d: %+v at %+v", len(out), g, at)
		}
	}
}

var fuzzLimits = format.Limits{Group: 4 << 10, Mutations: 50}

// Whatever comes in is refused or read, and what was read from a document is read the same a group a line.
// Rules: MUT-30.
func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"groups":[{"mutations":[{"objectType":"Pand","objectId":"1","was":{"id":"a"},"wordt":{"id":"b","xml":"<a/>"}}]}]}`))
	f.Add([]byte(`{"groups":[]}`))
	f.Add([]byte("{\"groups\":[\n{\"mutations\":[]},{}]} x"))
	f.Add([]byte(`{"groups":[{"mutations":[{"wordt":{"xml":"\ud800\u0000"}}]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		groups, err := read(t, ingest.FromJSON("a", bytes.NewReader(in), fuzzLimits))
		if errors.Is(err, io.EOF) {
			t.Fatalf("%v looks like an end", err)
		}
		again, lineErr := read(t, ingest.FromNDJSON("a", strings.NewReader(strings.Join(jsonLines(t, groups), "\n")), format.Limits{Mutations: 50}))
		if lineErr != nil || len(again) != len(groups) {
			t.Fatalf("%d groups, then %d, %v", len(groups), len(again), lineErr)
		}
		for i := range groups {
			if asJSON(t, groups[i]) != asJSON(t, again[i]) {
				t.Fatalf("%s became %s", asJSON(t, groups[i]), asJSON(t, again[i]))
			}
		}
	})
}

// Whatever comes in is refused or read; no line is longer than allowed.
// Rules: MUT-30.
func FuzzNDJSON(f *testing.F) {
	f.Add([]byte("{\"mutations\":[{\"was\":{\"id\":\"a\"}}]}\n\n{\"mutations\":[]}"))
	f.Add([]byte("{}\r\n{}{}\n"))
	f.Add([]byte(strings.Repeat(" ", 9<<10)))
	f.Fuzz(func(t *testing.T, in []byte) {
		if _, err := read(t, ingest.FromNDJSON("a", bytes.NewReader(in), fuzzLimits)); errors.Is(err, io.EOF) {
			t.Fatalf("%v looks like an end", err)
		}
	})
}
