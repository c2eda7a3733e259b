package faults

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"schakel/server/trial"
	"schakel/store/needs"
)

// TestFsyncErrors has the system answer that data could not be brought to the disk,
// for a while and then now and then. Nothing is acknowledged that is not durable;
// when the disk works again so does the program; and the ledger holds after a kill.
//
// Rules: EDU-09, EDU-19, OPEN-13
func TestFsyncErrors(t *testing.T) {
	t.Parallel()
	for name, when := range map[string]string{"all": "1+", "every third": "3+3"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newChain(t, trial.SQLitePath(t))
			c.Binary = trial.PathPlain(t)
			c.Start(t)
			stop := c.publish(t)
			c.taken(t, 50)
			heal := failSyncs(t, c.Program, when)
			if name == "all" {
				c.refused(t, 10) // what was on its way to the disk at that moment has its answer
				acked := c.ledger.Len()
				c.refused(t, 20)
				if more := c.ledger.Len() - acked; more > 0 {
					t.Errorf("%d events were acknowledged that no sync brought to the disk", more)
				}
			} else {
				c.taken(t, 50)
			}
			heal()
			c.taken(t, 50)
			c.Kill(t)
			stop()
			c.receiver.Quiet(t)
			c.Start(t)
			c.settle(t)
		})
	}
}

// failSyncs traces a process and has those of its syncs fail that when names, in the
// words of strace. The function it gives ends that.
func failSyncs(t *testing.T, s *trial.Program, when string) (heal func()) {
	t.Helper()
	strace := needs.Program(t, "strace")
	cmd := exec.Command(strace, "-f", "-p", strconv.Itoa(s.PID()), "-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:error=EIO:when="+when)
	said, err := cmd.StderrPipe()
	trial.Must(t, err)
	trial.Must(t, cmd.Start())
	lines := bufio.NewReader(said)
	first, err := lines.ReadString('\n')
	if err != nil || !strings.Contains(first, "attached") {
		_ = cmd.Wait()
		t.Skipf("processes cannot be traced here: %s", first)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	return func() {
		trial.Must(t, cmd.Process.Signal(os.Interrupt))
		_ = cmd.Wait()
	}
}
