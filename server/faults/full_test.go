package faults

import (
	"os"
	"path/filepath"
	"testing"

	"schakel/server/trial"
)

// TestFullDisk fills the disk while events come in: they are answered 503, and
// nothing that was answered 202 is lost. When there is room again the same process
// goes on by itself.
//
// Rules: EDU-09, EDU-19
func TestFullDisk(t *testing.T) {
	t.Parallel()
	disk := newVolume(t, 48)
	c := newChain(t, "sqlite:"+filepath.Join(disk.at, "schakel.db"))
	c.Start(t)
	for range 3 {
		stop := c.publish(t)
		c.taken(t, 50)
		ballast := disk.fill(t)
		c.refused(t, 20)
		trial.Must(t, os.Remove(ballast))
		c.taken(t, 50)
		stop()
	}
	c.settle(t)
}
