package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"schakel/store"
	"schakel/store/storetest"
)

func TestSQLiteFileIsForOneProcess(t *testing.T) {
	t.Parallel()
	path := storetest.SQLitePath(t)
	first, err := store.Open(t.Context(), "sqlite:"+path, store.Options{Alone: true})
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(path, other); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, other} {
		_, err = store.Open(t.Context(), "sqlite:"+name, store.Options{Alone: true})
		if !errors.Is(err, store.ErrInUse) || !strings.Contains(err.Error(), strconv.Itoa(os.Getpid())) {
			t.Errorf("second on %s: %v", name, err)
		}
	}
	// Commands that do not run the engine work beside it.
	beside, err := store.Open(t.Context(), "sqlite:"+path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(beside.Close(), first.Close()); err != nil {
		t.Fatal(err)
	}
	again, err := store.Open(t.Context(), "sqlite:"+path, store.Options{Alone: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

func TestSQLiteFilesAreForTheirOwner(t *testing.T) {
	t.Parallel()
	path := storetest.SQLitePath(t)
	db, err := store.Open(t.Context(), "sqlite:"+path, store.Options{Alone: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) < 4 {
		t.Fatalf("files %v, %v; want the database, its two companions and the lock", files, err)
	}
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("%s has mode %o", filepath.Base(name), mode)
		}
	}
}
