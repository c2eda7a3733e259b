package faults

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"schakel/server/trial"
)

// powerCuts sets how often the power fails.
const powerCuts = 5

// TestPowerLoss has the file system under a SQLite database go down without
// flushing, while events come in and go out. What was answered 202 is there after
// the journal is replayed.
//
// Rules: EDU-09, EDU-19, EDU-N02
func TestPowerLoss(t *testing.T) {
	t.Parallel()
	disk := newVolume(t, 256)
	c := newChain(t, "sqlite:"+filepath.Join(disk.at, "schakel.db"))
	for n := range powerCuts {
		c.Start(t)
		stop := c.publish(t)
		c.taken(t, 100)
		kept, gone := disk.write(t, fmt.Sprint("kept-", n), true), disk.write(t, fmt.Sprint("gone-", n), false)
		trial.Pause(50 * time.Millisecond)
		freeze(t, c.PID())
		disk.cutPower(t)
		c.Kill(t)
		stop()
		c.receiver.Quiet(t)
		disk.again(t)
		if !hasContent(kept) || hasContent(gone) {
			t.Fatalf("a simulation without teeth: synced file there %t, other file there %t", hasContent(kept), hasContent(gone))
		}
	}
	c.Start(t)
	c.settle(t)
}

// freeze stops a process at one instant, out of every system call. ext4 that goes
// down during an fsync says that it succeeded, and loses the data: about one in
// twenty of those under way. No disk that loses its power answers.
func freeze(t *testing.T, pid int) {
	t.Helper()
	trial.Must(t, syscall.Kill(pid, syscall.SIGSTOP))
	trial.Eventually(t, "every thread stopped", func() (bool, string) {
		threads := trial.Must1[[]string](t)(filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid)))
		for _, thread := range threads {
			raw, err := os.ReadFile(thread)
			if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
				continue // it has ended
			}
			trial.Must(t, err)
			if !strings.Contains(string(raw), ") T ") {
				return false, string(raw)
			}
		}
		return len(threads) > 0, "no threads"
	})
}

// write makes a new file, synced or not: the one must live through a cut and the
// other must not, or the cut is none. (ext4 syncs a file by itself that is written
// anew under an old name.)
func (v *volume) write(t *testing.T, name string, synced bool) string {
	t.Helper()
	path := filepath.Join(v.at, name)
	f, err := os.Create(path)
	trial.Must(t, err)
	defer f.Close()
	_, err = f.WriteString("content")
	trial.Must(t, err)
	if synced {
		trial.Must(t, f.Sync())
	}
	return path
}

func hasContent(path string) bool {
	raw, _ := os.ReadFile(path)
	return string(raw) == "content"
}
