package faults

import (
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"schakel/server/trial"
)

// TestDiskFullOfLog has a long read keep SQLite's log growing until it fills the volume. Events are answered 503 then, and
// /readyz reports first that there is little room and then that there is none. When the read is over and a file of somebody else
// is gone, the same process goes on by itself: it takes events, gives the space of the log back, and has lost nothing.
//
// Rules: EDU-09, EDU-19
func TestDiskFullOfLog(t *testing.T) {
	t.Parallel()
	disk := newMemoryVolume(t, 40)
	database := filepath.Join(disk.at, "schakel.db")
	c := newChain(t, "sqlite:"+database)
	c.Start(t)
	stop := c.publish(t)
	c.taken(t, 20)
	// More than half of the volume: what the log holds has room in the database when this is gone, however much of it is new pages.
	ballast := filepath.Join(disk.at, "ballast")
	trial.Must(t, os.WriteFile(ballast, make([]byte, 22<<20), 0o600))
	end := longRead(t, database)
	c.disk(t, "low disk space")
	c.refused(t, 20)
	c.disk(t, "the disk is full")
	full := size(t, database+"-wal")
	if full < 10<<20 {
		t.Fatalf("the log has %d bytes: something else filled the volume", full)
	}
	end()
	c.refused(t, 20) // what is in the log needs room in the database
	trial.Must(t, os.Remove(ballast))
	c.taken(t, 50)
	trial.Eventually(t, "the log gives its space back", func() (bool, string) {
		now := size(t, database+"-wal")
		return now < full/2, fmt.Sprintf("%d of %d bytes", now, full)
	})
	c.disk(t, "disk ok")
	c.taken(t, 50)
	stop()
	c.settle(t)
}

// longRead reads the database as it is now until the function it gives is called: meanwhile the log cannot begin anew.
func longRead(t *testing.T, database string) (end func()) {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+database+"?mode=ro")
	trial.Must(t, err)
	tx, err := db.BeginTx(t.Context(), nil)
	trial.Must(t, err)
	var events int
	trial.Must(t, tx.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM event`).Scan(&events))
	return func() {
		trial.Must(t, tx.Rollback())
		trial.Must(t, db.Close())
	}
}

// disk waits until /readyz says something of the disk.
func (c *chain) disk(t *testing.T, words string) {
	t.Helper()
	trial.Eventually(t, "/readyz says "+words, func() (bool, string) {
		status, body, err := trial.Get(http.DefaultClient, c.Admin+"/readyz")
		return err == nil && strings.Contains(body, words), fmt.Sprint(status, body, err)
	})
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	trial.Must(t, err)
	return info.Size()
}
