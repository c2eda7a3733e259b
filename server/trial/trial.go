// Package trial starts whole Schakels as processes of their own and gives them
// what they need to be tried: a database, certificates, partners, receivers that
// keep a ledger. The tests of the whole program, the fault suite and the loader
// share it; the program itself does not use it.
package trial

import (
	"context"
	"time"
)

// T has the methods of a test that this package uses; *testing.T is one. A program that is no
// test may bring its own.
type T interface {
	Context() context.Context // ends before what Cleanup named is called
	Helper()
	Logf(format string, args ...any)
	Errorf(format string, args ...any) // notes a failure and goes on
	Fatal(args ...any)                 // does not return
	Fatalf(format string, args ...any) // does not return
	Failed() bool
	Cleanup(func())
	TempDir() string
}

// Must ends the test at an error.
func Must(t T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Must1 is Must for a function that gives something too.
func Must1[V any](t T) func(V, error) V {
	t.Helper()
	return func(v V, err error) V {
		t.Helper()
		Must(t, err)
		return v
	}
}

// Patience sets how long something that another process does may take on a slow,
// busy machine. No test depends on it being short.
const Patience = 3 * time.Minute

// Eventually asks until ok, and fails with what was asked last.
func Eventually(t T, what string, ok func() (bool, string)) {
	t.Helper()
	deadline := time.Now().Add(Patience)
	for {
		done, last := ok()
		if done {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("did not come to pass in %s: %s; last: %s", Patience, what, last)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Pause lets load build up before a process is killed. Nothing is checked by it.
func Pause(d time.Duration) { time.Sleep(d) }
