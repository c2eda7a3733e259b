// Package trial starts whole Schakels as processes of their own and gives them
// what they need to be tried: a database, certificates, partners, receivers that
// keep a ledger. The tests of the whole program, the fault suite and the loader
// share it; the program itself does not use it.
package trial

import "context"

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
