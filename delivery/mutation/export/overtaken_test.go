package export_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"schakel/delivery/mutation/export"
	"schakel/store"
)

// during makes a snapshot, and does something else as soon as it is under way.
func (w *world) during(do func()) error {
	w.t.Helper()
	done, ahead := false, time.Duration(0)
	c := export.New(export.Config{DB: w.db, Node: "slow", Now: func() time.Time {
		rows, _, err := w.db.MutationSnapshots(w.ctx, w.set, store.Page{})
		if err != nil {
			w.t.Error(err)
		}
		if len(rows) > 0 && !done {
			done = true
			do()
		}
		ahead += time.Minute
		return w.clock.Now().Add(ahead)
	}})
	_, err := c.Snapshot(w.ctx, w.set)
	return err
}

// TestOvertaken: a snapshot that comes to nothing because its history was replaced, or another node began it again, is no failure
// that anybody must be notified of.
//
// Rules: MUT-34, MUT-38.
func TestOvertaken(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.fill(300, func() []byte { return []byte("<Pand/>") })
		err := w.during(func() {
			other := store.MutationSnapshot{ID: uuid.NewString(), DatasetID: w.set, Lineage: w.dataset().Lineage}
			w.write(func(tx *store.Tx) error { return tx.StartMutationSnapshot(w.ctx, &other) })
		})
		if !errors.Is(err, store.ErrConflict) {
			t.Errorf("another began anew: %v", err)
		}
	})
}

// TestReplacedWhileMade is TestOvertaken for a history that was replaced, and removed.
//
// Rules: MUT-34, MUT-38.
func TestReplacedWhileMade(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.publish(30)
		err := w.during(func() {
			w.write(func(tx *store.Tx) error {
				if err := tx.SetDatasetLineage(w.ctx, w.set, uuid.NewString(), "a better history", true); err != nil {
					return err
				}
				_, err := tx.PruneMutations(w.ctx, tx.Now, "", 10_000)
				return err
			})
		})
		if !errors.Is(err, store.ErrConflict) {
			t.Errorf("the history was replaced: %v", err)
		}
	})
}
