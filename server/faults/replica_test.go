package faults

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"schakel/server/trial"
)

// TestMachineLost kills the program under load many times, while each change goes to a replica, and in the end takes away the machine: the database
// is gone. What was answered 202 until the moment that the replica had reached is there after a restore, and what was answered later alone is lost.
//
// Rules: EDU-09, EDU-19
func TestMachineLost(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "replica")
	c := newChain(t, trial.SQLitePath(t), "--replicate-to", folder, "--replicate-every", "50ms", "--replicate-snapshot", "1m")
	for range 6 {
		c.Start(t)
		stop := c.publish(t)
		c.taken(t, 40)
		c.Kill(t)
		stop()
	}
	c.Start(t)
	stop := c.publish(t)
	c.taken(t, 200)
	stop()
	c.Drain(t)
	c.receiver.Behave(func(string, string) int { return http.StatusServiceUnavailable }) // what is taken is in the database alone
	access := c.Token(t, c.creds, "events.publish")
	some := func() []string { return c.some(t, access) }
	c.ledger.Add(some())
	reached := time.Now()
	trial.Eventually(t, "the replica has what was answered", func() (bool, string) { return c.replicaOf(t).After(reached), c.Output.Tail() })
	after := some()
	c.Kill(t)

	path := strings.TrimPrefix(c.Database, "sqlite:")
	restored := filepath.Join(t.TempDir(), "restored.db")
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	said, err := exec.Command(trial.Path(t), "restore", "--from", folder, "--database", "sqlite:"+restored, "--secret-key-file", c.SecretKey).CombinedOutput()
	if t.Logf("%s", said); err != nil {
		t.Fatal(err)
	}
	c.Args[slices.Index(c.Args, "--database")+1] = "sqlite:" + restored
	c.Database = "sqlite:" + restored
	c.receiver.Behave(moody)
	c.Start(t)
	c.ledger.Add(some())
	c.settle(t)
	lost := 0
	for _, id := range after {
		if _, ok := c.receiver.Got(steady, id); !ok {
			lost++
		}
	}
	t.Logf("%d of %d events lost that were answered in the last moment", lost, len(after))
}

var replicaAge = regexp.MustCompile(`(?m)^schakel_replica_age_seconds (\S+)$`)

// replicaOf returns the moment that the replica has reached.
func (c *chain) replicaOf(t *testing.T) time.Time {
	t.Helper()
	now := time.Now()
	_, text, err := trial.Get(http.DefaultClient, c.Admin+"/metrics")
	trial.Must(t, err)
	found := replicaAge.FindStringSubmatch(text)
	if found == nil {
		t.Fatal("there is no metric of the replica")
	}
	seconds, err := strconv.ParseFloat(found[1], 64)
	trial.Must(t, err)
	return now.Add(-time.Duration(seconds * float64(time.Second)))
}
