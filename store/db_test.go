package store_test

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jmoiron/sqlx"
	"github.com/mattn/go-sqlite3"
	"schakel/store"
	"schakel/store/storetest"
)

func TestWriteRollsBack(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.fails(errStop, func(tx *store.Tx) error {
			return errors.Join(tx.SetSetting(w.ctx, "x", "1"), errStop)
		})
		func() {
			defer func() { _ = recover() }()
			_ = w.db.Write(w.ctx, func(tx *store.Tx) error {
				_ = tx.SetSetting(w.ctx, "x", "1")
				panic("stop")
			})
		}()
		gives(t, "")(w.db.Setting(w.ctx, "x"))
		same(t, w.db.Ping(w.ctx), nil, nil)
	})
}

func TestLock(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.write(func(tx *store.Tx) error { return tx.Lock(w.ctx, "subscription", w.subscription.ID) })
		if w.db.Dialect() == store.Postgres {
			w.fails(store.ErrNotFound, func(tx *store.Tx) error { return tx.Lock(w.ctx, "subscription", "sub_none") })
		}
	})
}

func TestNewIDsSort(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var ids []string
		w.write(func(tx *store.Tx) error {
			for range 1000 {
				ids = append(ids, tx.NewID("evt"), w.db.NewID("evt"))
			}
			return nil
		})
		if !slices.IsSorted(ids) || len(slices.Compact(ids)) != 2000 || !strings.HasPrefix(ids[0], "evt_") {
			t.Error("ids of one moment do not sort in the order they were made")
		}
	})
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "bestand")
	same(t, os.WriteFile(file, []byte("geen database, wel een bestand"), 0o600), nil, nil)
	for _, database := range []string{"", "mysql://x", "sqlite:" + file, "sqlite:" + filepath.Join(file, "x.db"), "postgres://u:geheim@127.0.0.1:1/x"} {
		db, err := store.Open(t.Context(), database, store.Options{})
		if err == nil {
			t.Errorf("%q: opened", database)
			_ = db.Close()
		} else if strings.Contains(err.Error(), "geheim") {
			t.Errorf("the error tells the password: %v", err)
		}
	}
}

// A commit must be on the disk when it is answered, and references must hold; the readers must not write.
func TestSQLitePragmas(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	read, write := db.Pools()
	for name, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "10000"} {
		for _, pool := range []*sqlx.DB{read, write} {
			var got string
			same(t, pool.Get(&got, `PRAGMA `+name), nil, nil)
			if got != want {
				t.Errorf("%s = %s, want %s", name, got, want)
			}
		}
	}
	same(t, write.Stats().MaxOpenConnections, nil, 1)
	if _, err := read.Exec(`DELETE FROM setting`); err == nil {
		t.Error("a reading connection could write")
	}
}

func TestSQLitePathWithOddCharacters(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "nieuwe map", "50% ? #é.db")
	db, err := store.Open(t.Context(), "sqlite:"+path, store.Options{})
	noErr(t, err)
	defer db.Close()
	same(t, db.Migrate(t.Context()), nil, nil)
	gives(t, []string{path})(filepath.Glob(filepath.Join(filepath.Dir(path), "*.db")))
}

func FuzzLike(f *testing.F) {
	db := storetest.SQLite(f)
	for _, text := range []string{"", "100%", "a_b", `\`, `\%`, "É", "a\x00b", "Straße"} {
		f.Add(text, "x"+text+"y")
	}
	f.Fuzz(func(t *testing.T, text, in string) {
		if strings.ContainsRune(text+in, 0) || strings.ToValidUTF8(text+in, "") != text+in {
			t.Skip("SQLite ends LIKE at a NUL, and PostgreSQL stores neither")
		}
		read, _ := db.Pools()
		var found bool
		// SQLite folds ASCII only, so compare what is lower case already.
		in, text = strings.ToLower(in), strings.ToLower(text)
		noErr(t, read.Get(&found, `SELECT ? LIKE ? ESCAPE '\'`, in, store.Like(text)))
		if want := strings.Contains(in, text); found != want {
			t.Errorf("%q in %q: %v, want %v", text, in, found, want)
		}
	})
}

// TestAway tells a database that is away, which is worth another try, from what is wrong with a request.
//
// Rules: EDU-19.
func TestAway(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		away bool
	}{
		{nil, false},
		{errors.New("no such column"), false},
		{sqlite3.Error{Code: sqlite3.ErrFull}, true},
		{sqlite3.Error{Code: sqlite3.ErrConstraint}, false},
		{&pgconn.PgError{Code: "57P01"}, true}, // an operator, or a crash, ended the connection
		{&pgconn.PgError{Code: "53100"}, true}, // disk full
		{&pgconn.PgError{Code: "40P01"}, true}, // two transactions waited for each other
		{&pgconn.PgError{Code: "23505"}, false},
		{&net.OpError{Op: "read", Err: errors.New("connection reset by peer")}, true},
		{io.ErrUnexpectedEOF, true}, // the server was killed while it worked
		{driver.ErrBadConn, true},
	} {
		for _, err := range []error{c.err, fmt.Errorf("read keys: %w", c.err)} {
			if got := store.Away(err); c.err != nil && got != c.away {
				t.Errorf("%v: %t, want %t", err, got, c.away)
			}
		}
	}
}
