package store_test

import (
	"testing"
	"time"

	"schakel/store"
	"schakel/store/storetest"
)

// TestSnapshotsAtOnce: a node that begins a snapshot while another finishes one waits for it, and they do not wait for each
// other: whoever publishes meanwhile would fail with them.
func TestSnapshotsAtOnce(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	w := newWorld(t, storetest.Postgres(t, storetest.WithClock(clock)), clock) // SQLite has one writer
	w.history("bgt", 5)
	w.cut("bgt", "one")
	first := store.MutationSnapshot{ID: "s1", DatasetID: "bgt", DeltaID: "one", Lineage: "first"}
	w.write(func(tx *store.Tx) error { return tx.StartMutationSnapshot(w.ctx, &first) })
	begun := make(chan error, 1)
	w.write(func(tx *store.Tx) error {
		if err := tx.Lock(w.ctx, "dataset", "bgt"); err != nil {
			return err
		}
		go func() {
			begun <- w.db.Write(w.ctx, func(tx *store.Tx) error {
				second := store.MutationSnapshot{ID: "s2", DatasetID: "bgt", DeltaID: "one", Lineage: "first"}
				return tx.StartMutationSnapshot(w.ctx, &second)
			})
		}()
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for waits := 0; waits == 0; <-tick.C {
			if err := tx.Raw().GetContext(w.ctx, &waits, `SELECT COUNT(*) FROM pg_locks WHERE NOT granted
				AND pid IN (SELECT pid FROM pg_stat_activity WHERE datname = current_database())`); err != nil {
				return err
			}
			if err := w.ctx.Err(); err != nil {
				return err
			}
		}
		return tx.FinishMutationSnapshot(w.ctx, &first)
	})
	if err := <-begun; err != nil {
		t.Error(err)
	}
	got, err := w.db.MutationSnapshot(w.ctx, "s1")
	same(t, got.Status, err, store.MutationDone)
}
