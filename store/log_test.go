package store_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"schakel/store"
	"schakel/store/storetest"
)

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
