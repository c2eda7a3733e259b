package storetest_test

import (
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
