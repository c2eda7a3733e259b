package storetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"schakel/store"
)

// migratedFile is a SQLite database with our tables and nothing in them, made once in this test binary: every test gets
// a copy, because a migration from nothing takes longer than most tests.
var migratedFile = sync.OnceValues(func() (_ []byte, err error) {
	dir, err := os.MkdirTemp("", "schakel-sqlite-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "schakel.db")
	if err := makeMigrated("sqlite:" + path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// makeMigrated makes a migrated database that nobody has open, so that its files hold all of it.
func makeMigrated(database string) error {
	ctx := context.Background()
	db, err := store.Open(ctx, database, store.Options{})
	if err != nil {
		return err
	}
	return errors.Join(db.Migrate(ctx), db.Close())
}
