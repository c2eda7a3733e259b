package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"

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
		got, err := w.db.Setting(w.ctx, "x")
		same(t, got, err, "")
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
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	same(t, db.Migrate(t.Context()), nil, nil)
	found, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*.db"))
	same(t, found, err, []string{path})
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
		if err := read.Get(&found, `SELECT ? LIKE ? ESCAPE '\'`, in, store.Like(text)); err != nil {
			t.Fatal(err)
		}
		if want := strings.Contains(in, text); found != want {
			t.Errorf("%q in %q: %v, want %v", text, in, found, want)
		}
	})
}
