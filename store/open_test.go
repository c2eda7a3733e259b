package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"schakel/store"
	"schakel/store/storetest"
)

// A node that freezes within a transaction does not keep others from its rows for ever; who set that himself keeps his own.
func TestIdleTransactionsEnd(t *testing.T) {
	t.Parallel()
	url := storetest.PostgresURL(t)
	for database, want := range map[string]string{url: "1min", url + "&idle_in_transaction_session_timeout=5000": "5s"} {
		db, err := store.Open(t.Context(), database, store.Options{})
		same(t, 0, err, 0)
		read, _ := db.Pools()
		var got string
		err = read.Get(&got, `SHOW idle_in_transaction_session_timeout`)
		same(t, got, err, want)
		same(t, 0, db.Close(), 0)
	}
}

func TestSQLiteFileIsForOneProcess(t *testing.T) {
	t.Parallel()
	path := storetest.SQLitePath(t)
	first, err := store.Open(t.Context(), "sqlite:"+path, store.Options{Alone: true})
	noErr(t, err)
	other := filepath.Join(t.TempDir(), "link.db")
	noErr(t, os.Symlink(path, other))
	for _, name := range []string{path, other} {
		_, err = store.Open(t.Context(), "sqlite:"+name, store.Options{Alone: true})
		if !errors.Is(err, store.ErrInUse) || !strings.Contains(err.Error(), strconv.Itoa(os.Getpid())) {
			t.Errorf("second on %s: %v", name, err)
		}
	}
	// Commands that do not run the engine work beside it.
	beside, err := store.Open(t.Context(), "sqlite:"+path, store.Options{})
	noErr(t, err)
	noErr(t, errors.Join(beside.Close(), first.Close()))
	again, err := store.Open(t.Context(), "sqlite:"+path, store.Options{Alone: true})
	noErr(t, err)
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

func TestSQLiteFilesAreForTheirOwner(t *testing.T) {
	t.Parallel()
	path := storetest.SQLitePath(t)
	db, err := store.Open(t.Context(), "sqlite:"+path, store.Options{Alone: true})
	noErr(t, err)
	defer db.Close()
	noErr(t, db.Migrate(t.Context()))
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) < 4 {
		t.Fatalf("files %v, %v; want the database, its two companions and the lock", files, err)
	}
	for _, name := range files {
		info, err := os.Stat(name)
		noErr(t, err)
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("%s has mode %o", filepath.Base(name), mode)
		}
	}
}

// The log of SQLite is copied sooner where there is little room, and gives its room back once nobody reads it.
func TestLogGivesItsRoomBack(t *testing.T) {
	t.Parallel()
	path := storetest.MigratedSQLitePath(t)
	db, err := store.Open(t.Context(), "sqlite:"+path, store.Options{})
	noErr(t, err)
	t.Cleanup(func() { noErr(t, db.Close()) })
	length := func() int64 {
		info, err := os.Stat(path + "-wal")
		noErr(t, err)
		return info.Size()
	}
	fill := func(n int) {
		for i := range n {
			noErr(t, db.Write(t.Context(), func(tx *store.Tx) error {
				return tx.SetSetting(t.Context(), "large", strings.Repeat(strconv.Itoa(i%10), 1<<20))
			}))
		}
	}
	read, write := db.Pools()
	reader, err := read.BeginTxx(t.Context(), nil)
	noErr(t, err)
	var n int
	noErr(t, reader.Get(&n, `SELECT COUNT(*) FROM setting`))
	fill(5)
	noErr(t, db.Checkpoint(t.Context()))
	full := length()
	if full < 4<<20 {
		t.Errorf("the log has %d bytes while somebody reads what was before", full)
	}
	noErr(t, reader.Rollback())
	noErr(t, db.Checkpoint(t.Context()))
	if now := length(); now != 0 {
		t.Errorf("the log has %d of %d bytes when nobody reads", now, full)
	}
	noErr(t, db.LimitLog(t.Context(), 10<<20))
	fill(10)
	if now := length(); now > 5<<20 {
		t.Errorf("the log has %d bytes where there is little room", now)
	}
	for free, want := range map[uint64]int{0: 250, 40 << 20: 1000, 100 << 30: 16000} {
		noErr(t, db.LimitLog(t.Context(), free))
		var pages int
		noErr(t, write.Get(&pages, `PRAGMA wal_autocheckpoint`))
		if pages != want {
			t.Errorf("with %d bytes free the log may have %d pages, want %d", free, pages, want)
		}
	}
	var timeout int
	if noErr(t, write.Get(&timeout, `PRAGMA busy_timeout`)); timeout != 10_000 {
		t.Errorf("the writer waits %d ms for others", timeout)
	}
}

func TestIDAt(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 12, 0, 0, int(5*time.Millisecond), time.UTC)
	before, same, after := store.IDAt("dlv", at.Add(-time.Millisecond)), store.IDAt("dlv", at), store.IDAt("dlv", at.Add(time.Millisecond))
	if before >= same || same >= after {
		t.Errorf("ids out of order: %s %s %s", before, same, after)
	}
	if got, want := len(same), len("dlv_")+26; got != want {
		t.Errorf("length %d, want %d", got, want)
	}
	if got := store.IDAt("dlv", time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC)); got == "" {
		t.Error("no id for a time before 1970")
	}
}
