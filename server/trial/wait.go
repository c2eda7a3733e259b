package trial

import "time"

// Patience sets how long something that another process does may take on a slow,
// busy machine. No test depends on it being short.
const Patience = 60 * time.Second

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
