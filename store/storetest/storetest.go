// Package storetest gives tests real databases: a SQLite file each, and fresh databases in one private PostgreSQL
// server per test binary.
//
// The server lives in a folder of its own under the temporary folder, listens on a Unix socket there and nowhere else,
// and ends with the test binary, however that ends: see [Main].
package storetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"schakel/store"
)

// Option changes how a database is opened, such as [WithClock].
type Option func(*store.Options)

// WithClock makes the database read this clock in place of the machine's.
func WithClock(c *Clock) Option {
	return func(o *store.Options) { o.Now = c.Now }
}

// SQLite opens a migrated database in a file of its own, and closes it when the test ends.
func SQLite(t testing.TB, opts ...Option) *store.DB {
	t.Helper()
	return open(t, "sqlite:"+MigratedSQLitePath(t), opts)
}

// SQLitePath names a file in a fresh folder, for tests that open the database themselves. There is no file yet.
func SQLitePath(t testing.TB) string { return filepath.Join(t.TempDir(), "schakel.db") }

// MigratedSQLitePath is SQLitePath with a database in it that has our tables.
func MigratedSQLitePath(t testing.TB) string {
	t.Helper()
	template, err := migratedFile()
	if err != nil {
		t.Fatalf("migrated SQLite file: %v", err)
	}
	path := SQLitePath(t)
	if err := os.WriteFile(path, template, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Postgres opens a fresh migrated database, and closes and drops it when the test ends. It skips the test in a quick run,
// and when no PostgreSQL programs are installed: see package needs.
func Postgres(t testing.TB, opts ...Option) *store.DB {
	t.Helper()
	return open(t, freshDatabase(t, migratedTemplate), opts)
}

// PostgresURL names a fresh database without tables, dropped when the test ends. It skips like [Postgres].
func PostgresURL(t testing.TB) string {
	t.Helper()
	return freshDatabase(t, emptyTemplate)
}

// Open opens a fresh, migrated database, as [SQLite] and [Postgres] do.
type Open = func(t testing.TB, opts ...Option) *store.DB

// Both returns how to open a database of either kind, by its name, for what [Each] does not fit, such as benchmarks.
func Both() map[string]Open { return map[string]Open{"sqlite": SQLite, "postgres": Postgres} }

// EachClock is [Each] with a clock that stands still until the test moves it, one for each database.
func EachClock(t *testing.T, fn func(t *testing.T, db *store.DB, clock *Clock)) {
	t.Helper()
	for name, open := range Both() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := NewClock()
			fn(t, open(t, WithClock(clock)), clock)
		})
	}
}

// EachURL runs fn as the subtests "sqlite" and "postgres", each with the name of a fresh database without tables.
func EachURL(t *testing.T, fn func(t *testing.T, database string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		fn(t, "sqlite:"+SQLitePath(t))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		fn(t, PostgresURL(t))
	})
}

// Each runs fn as the subtests "sqlite" and "postgres", each with a fresh database.
func Each(t *testing.T, fn func(t *testing.T, db *store.DB), opts ...Option) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		fn(t, SQLite(t, opts...))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		fn(t, Postgres(t, opts...))
	})
}

// open opens a database that is migrated already.
func open(t testing.TB, database string, opts []Option) *store.DB {
	t.Helper()
	var o store.Options
	for _, opt := range opts {
		opt(&o)
	}
	db, err := store.Open(t.Context(), database, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close database: %v", err)
		}
	})
	return db
}

// Clock is a clock that stands still until a test moves it. It is safe for concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock starts at an arbitrary fixed moment with whole microseconds.
func NewClock() *Clock { return NewClockAt(time.Date(2026, 3, 14, 9, 26, 53, 589793000, time.UTC)) }

// NewClockAt starts at the given moment.
func NewClockAt(start time.Time) *Clock { return &Clock{now: start} }

// Now reads the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock by d and returns the new reading.
func (c *Clock) Advance(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	return c.now
}

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
