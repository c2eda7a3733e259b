package storetest_test

import (
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"schakel/store"
	"schakel/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

func TestEachDatabaseIsFreshAndMigrated(t *testing.T) {
	t.Parallel()
	for range 2 {
		storetest.Each(t, func(t *testing.T, db *store.DB) {
			ctx := t.Context()
			current, target, err := db.MigrationState(ctx)
			if err != nil || current != target || target == 0 {
				t.Fatalf("MigrationState = %d, %d, %v", current, target, err)
			}
			if v, err := db.Setting(ctx, "seen"); v != "" || err != nil {
				t.Fatalf("a fresh database has a setting: %q, %v", v, err)
			}
			if err := db.Write(ctx, func(tx *store.Tx) error { return tx.SetSetting(ctx, "seen", "yes") }); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// A copy of the migrated file is as a file that was migrated itself.
func TestMigratedFileIsAsMigrated(t *testing.T) {
	t.Parallel()
	own := storetest.SQLitePath(t)
	db, err := store.Open(t.Context(), "sqlite:"+own, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Migrate(t.Context()), db.Close()); err != nil {
		t.Fatal(err)
	}
	want, got := contents(t, own), contents(t, storetest.MigratedSQLitePath(t))
	if got != want || !strings.Contains(got, "CREATE TABLE") {
		t.Fatalf("the copy has\n%s\nwant\n%s", got, want)
	}
}

// contents returns the settings of a SQLite file, and its tables and indexes.
func contents(t *testing.T, path string) string {
	t.Helper()
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var mode, tables string
	err = db.QueryRow(`PRAGMA journal_mode`).Scan(&mode)
	err = errors.Join(err, db.QueryRow(`SELECT group_concat(sql, char(10) ORDER BY name) FROM sqlite_master`).Scan(&tables))
	if err != nil {
		t.Fatal(err)
	}
	return mode + "\n" + tables
}

func TestPostgresURLIsEmpty(t *testing.T) {
	t.Parallel()
	db, err := store.Open(t.Context(), storetest.PostgresURL(t), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if current, _, err := db.MigrationState(t.Context()); current != 0 || err != nil {
		t.Fatalf("MigrationState = %d, %v; want an empty database", current, err)
	}
}

func TestClock(t *testing.T) {
	t.Parallel()
	c := storetest.NewClock()
	start := c.Now()
	if got := c.Advance(time.Minute); !got.Equal(start.Add(time.Minute)) || !c.Now().Equal(got) {
		t.Fatalf("Advance = %v, Now = %v, start %v", got, c.Now(), start)
	}
}
