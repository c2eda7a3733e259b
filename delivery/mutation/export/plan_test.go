package export_test

import (
	"testing"
	"time"

	"schakel/delivery/mutation/export"
	"schakel/store"
)

// TestDeltaDue: by schedule, at once when somebody asked, after a pause when it failed, and when the node may have died.
func TestDeltaDue(t *testing.T) {
	t.Parallel()
	at := func(hour, minute int) store.Time {
		return store.At(time.Date(2026, 5, 1, hour, minute, 0, 0, time.UTC))
	}
	c := export.New(export.Config{DB: &store.DB{}, Node: "a", Now: func() time.Time { return at(5, 0).Time }})
	for name, d := range map[string]struct {
		set  store.Dataset
		seen store.ClusterTask
		want store.Time
	}{
		"new":          {store.Dataset{DeltaSchedule: "0 * * * *"}, store.ClusterTask{}, at(2, 0)},
		"on demand":    {store.Dataset{}, store.ClusterTask{}, store.Time{}},
		"ran":          {store.Dataset{DeltaSchedule: "0 * * * *"}, store.ClusterTask{StartedAt: at(5, 0), FinishedAt: at(5, 1)}, at(6, 0)},
		"at work":      {store.Dataset{DeltaAskedAt: at(5, 3)}, store.ClusterTask{StartedAt: at(5, 0), LeaseUntil: at(5, 1)}, at(5, 1)},
		"asked":        {store.Dataset{DeltaAskedAt: at(5, 3)}, store.ClusterTask{StartedAt: at(5, 0), FinishedAt: at(5, 1)}, at(5, 3)},
		"asked, fails": {store.Dataset{DeltaAskedAt: at(5, 3)}, store.ClusterTask{StartedAt: at(5, 3), FinishedAt: at(5, 4), Error: "x"}, at(5, 5)},
		"fails":        {store.Dataset{DeltaSchedule: "0 4 * * *"}, store.ClusterTask{StartedAt: at(4, 0), FinishedAt: at(4, 0), Error: "x"}, at(4, 1)},
		"fails late":   {store.Dataset{DeltaSchedule: "0 * * * *"}, store.ClusterTask{StartedAt: at(4, 0), FinishedAt: at(4, 20), Error: "x"}, at(4, 40)},
		"goes on":      {store.Dataset{DeltaSchedule: "30 * * * *"}, store.ClusterTask{StartedAt: at(4, 0), FinishedAt: at(4, 20), Error: "x"}, at(4, 30)},
		"clock ahead":  {store.Dataset{DeltaSchedule: "0 * * * *"}, store.ClusterTask{StartedAt: at(28, 0), FinishedAt: at(28, 1)}, at(29, 0)},
		"set back":     {store.Dataset{DeltaSchedule: "0 * * * *"}, store.ClusterTask{StartedAt: at(60, 0), FinishedAt: at(60, 1)}, at(2, 0)},
		"and died":     {store.Dataset{DeltaAskedAt: at(4, 0)}, store.ClusterTask{StartedAt: at(60, 0), LeaseUntil: at(60, 1)}, at(4, 0)},
		"and failed":   {store.Dataset{DeltaAskedAt: at(4, 0)}, store.ClusterTask{StartedAt: at(60, 0), FinishedAt: at(60, 1), Error: "x"}, at(4, 0)},
	} {
		d.set.Status, d.set.CreatedAt = store.DatasetActive, at(1, 30)
		due, err := c.DeltaDue(t.Context(), d.set, d.seen)
		if err != nil || !due.Equal(d.want.Time) {
			t.Errorf("%s: due at %v, %v; want %v", name, due, err, d.want)
		}
	}
}

// TestSnapshotDue: who subscribes gets a first snapshot, and there is always one whose deltas are all there.
//
// Rules: MUT-33, MUT-38.
func TestSnapshotDue(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		due := func(want time.Time) {
			t.Helper()
			got, err := w.exporter.SnapshotDue(w.ctx, w.dataset(), store.ClusterTask{})
			if err != nil || !got.Equal(want) {
				t.Errorf("due at %v, %v; want %v", got, err, want)
			}
		}
		w.publish(3)
		due(time.Time{})
		w.follow("north", "")
		due(w.dataset().LineageAt.Time)
		load := store.MutationPublication{DatasetID: w.set, ClientID: "c", Kind: store.PublicationInitial, Status: store.MutationRunning, Hash: []byte{}}
		w.write(func(tx *store.Tx) error { return tx.InsertPublication(w.ctx, &load) })
		due(load.UpdatedAt.Add(10 * time.Minute)) // it comes in, or whoever took it in is gone
		w.write(func(tx *store.Tx) error { return tx.CancelPublication(w.ctx, load.ID) })
		due(w.dataset().LineageAt.Time)
		w.snapshot()
		due(time.Time{})
		w.publish(3)
		d := w.delta()
		due(d.ToAt.Add(export.Retention - 7*24*time.Hour))
		w.snapshot()
		due(time.Time{})
		w.clock.Advance(time.Hour)
		w.write(func(tx *store.Tx) error {
			return tx.SetDatasetLineage(w.ctx, w.set, "0b9e2b2e-3f0c-4a86-9d0c-2d4d1a4cbb4a", "Mended.", false)
		})
		due(w.dataset().LineageAt.Time)
		w.write(func(tx *store.Tx) error { return tx.EndDataset(w.ctx, w.set, "") })
		due(w.dataset().LineageAt.Time) // who followed it still needs one to begin from
		w.snapshot()
		due(time.Time{})
		w.publish(1)
		last, err := w.exporter.DeltaDue(w.ctx, w.dataset(), store.ClusterTask{})
		if err != nil || !last.IsZero() {
			t.Error(last, err)
		}
	})
}
