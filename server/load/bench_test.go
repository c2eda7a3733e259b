package main

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"schakel/server/trial"
	"schakel/store/needs"
)

func TestTryPutsAwayInReverse(t *testing.T) {
	t.Parallel()
	var order []string
	var out bytes.Buffer
	scratch := t.TempDir()
	err := try(t.Context(), &out, scratch, func(b trial.T) {
		b.Cleanup(func() {
			if b.Context().Err() == nil {
				t.Error("the context has not ended")
			}
			order = append(order, "first")
		})
		b.Cleanup(func() { order = append(order, "last") })
		if _, err := os.Stat(b.TempDir()); err != nil {
			t.Error(err)
		}
		trial.Must(b, errors.New("broken"))
		t.Error("it went on after an error")
	})
	if !errors.Is(err, errFailed) || !slices.Equal(order, []string{"last", "first"}) || out.String() != "failed: broken\n" {
		t.Errorf("%v, %v, %q", err, order, out.String())
	}
	if left, _ := os.ReadDir(scratch); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// TestSmoke measures a whole program for a second.
func TestSmoke(t *testing.T) {
	t.Parallel()
	needs.Full(t, "the whole program")
	var out bytes.Buffer
	scratch := t.TempDir()
	args := []string{"--only", "^single, 1 endpoint, TLS$", "--seconds", "1", "--connections", "4", "--scratch", scratch, "--binary", trial.PathPlain(t)}
	if err := run(t.Context(), args, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, name := range []string{"\nceiling, single, TLS ", "\nrelay, single, TLS ", "\nsingle, 1 endpoint, TLS "} {
		if !strings.Contains(out.String(), name) {
			t.Errorf("no line of %q:\n%s", strings.TrimSpace(name), out.String())
		}
	}
	if left, _ := os.ReadDir(scratch); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}
