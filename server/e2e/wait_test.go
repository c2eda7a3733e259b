package e2e

import (
	"testing"
	"time"
)

// patience is how long something that another process does may take on a slow,
// busy machine. No test depends on it being short.
const patience = 60 * time.Second

// eventually asks until ok, and fails with what was asked last.
func eventually(t testing.TB, what string, ok func() (bool, string)) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		done, last := ok()
		if done {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("did not come to pass in %s: %s; last: %s", patience, what, last)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// pause lets load build up before a process is killed. Nothing is checked by it.
func pause(d time.Duration) { time.Sleep(d) }
