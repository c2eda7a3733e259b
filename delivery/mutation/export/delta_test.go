package export_test

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/export"
	"schakel/store"
	"schakel/store/needs"
)

// TestCutsAndSnapshots publishes, makes deltas and snapshots in a random order, and replays each snapshot with the deltas behind
// it: at each boundary the copy is exact.
//
// Rules: MUT-01, MUT-22, MUT-26, MUT-31, MUT-32, MUT-34, MUT-35, MUT-65.
func TestCutsAndSnapshots(t *testing.T) {
	needs.Unraced(t)
	each(t, func(t *testing.T, w *world) {
		random := rand.New(rand.NewPCG(3, 9))
		for range 40 {
			switch random.IntN(4) {
			case 0:
				_, err := w.exporter.MakeDelta(w.ctx, w.set, export.Options{Empty: random.IntN(3) == 0})
				if err != nil && !errors.Is(err, export.ErrNothingNew) {
					t.Fatal(err)
				}
			case 1:
				w.snapshot()
			default:
				w.publish(1 + random.IntN(20))
			}
		}
		w.snapshot()
		w.replayAll()
	})
}

// TestSnapshotWhileChanging makes deltas and snapshots while groups come in all the time.
//
// Rules: MUT-34.
func TestSnapshotWhileChanging(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.publish(150)
		var publisher sync.WaitGroup
		publisher.Go(func() {
			for range 100 {
				w.publish(1)
			}
		})
		for range 4 {
			w.snapshot()
			if _, err := w.exporter.MakeDelta(w.ctx, w.set, export.Options{}); err != nil && !errors.Is(err, export.ErrNothingNew) {
				t.Error(err)
			}
		}
		publisher.Wait()
		w.snapshot()
		w.replayAll()
	})
}

func (w *world) snapshot() store.MutationSnapshot {
	w.t.Helper()
	s, err := w.exporter.Snapshot(w.ctx, w.set)
	must(w.t, err)
	return s
}

// replayAll replays every snapshot with the deltas behind it, and the deltas from the first on.
func (w *world) replayAll() {
	w.t.Helper()
	chain := w.chain()
	snapshots, _, err := w.db.MutationSnapshots(w.ctx, w.set, store.Page{})
	if err != nil || len(snapshots) == 0 {
		w.t.Fatal(len(snapshots), err)
	}
	w.replay(replica{}, chain, "from the begin")
	for _, s := range snapshots {
		r := replica{}
		manifest, err := export.Manifest(s.Manifest)
		must(w.t, err)
		seen := w.apply(r, s.FileID)
		if err := manifest.Check(seen); err != nil || manifest.Includes == "" || manifest.Includes != s.DeltaID || seen.DeliveryID != s.DeltaID || seen.Counts.Changes+seen.Counts.Deletes != 0 {
			w.t.Fatalf("manifest of a snapshot: %v, %+v", err, manifest)
		}
		w.holds(r, s.Seq, "snapshot")
		w.replay(r, chain[s.DeltaNumber:], "behind a snapshot")
	}
}

func (w *world) replay(r replica, chain []store.MutationDelta, what string) {
	w.t.Helper()
	for i, d := range chain {
		manifest, err := export.Manifest(d.Manifest)
		must(w.t, err)
		if err := manifest.Check(w.apply(r, d.FileID)); err != nil || manifest.Previous != d.PreviousID || manifest.Lineage != d.Lineage || !manifest.To.Equal(d.ToAt.Time) {
			w.t.Fatalf("manifest of a delta: %v, %+v", err, manifest)
		}
		if i > 0 && (d.PreviousID != chain[i-1].ID || d.FromSeq != chain[i-1].ToSeq || !d.FromAt.Equal(chain[i-1].ToAt.Time)) {
			w.t.Fatalf("delta %d does not follow: %+v", d.Number, d)
		}
		w.holds(r, d.ToSeq, what)
	}
}

// TestNothingNew: without new groups no delta is made, but it is noted that the dataset is up to date, unless one is asked for.
//
// Rules: MUT-22, MUT-50.
func TestNothingNew(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		_, err := w.exporter.MakeDelta(w.ctx, w.set, export.Options{})
		if !errors.Is(err, export.ErrNothingNew) || !w.dataset().CheckedAt.Equal(w.clock.Now()) {
			t.Errorf("%v, checked at %v", err, w.dataset().CheckedAt)
		}
		d, err := w.exporter.MakeDelta(w.ctx, w.set, export.Options{Empty: true})
		m, _ := export.Manifest(d.Manifest)
		if err != nil || d.FromSeq != d.ToSeq || m.Files != 1 || m.Counts != (archive.Counts{}) {
			t.Errorf("%v, %+v", err, m)
		}
		s := w.snapshot()
		if s.DeltaID != d.ID {
			t.Errorf("the snapshot includes %q", s.DeltaID)
		}
		if _, err := w.exporter.MakeDelta(w.ctx, "none", export.Options{}); !errors.Is(err, store.ErrNotFound) {
			t.Error(err)
		}
	})
}

// TestTwoNodes makes a delta on two nodes at once: one of them makes the delta, and all groups are in one delta each.
//
// Rules: MUT-34, MUT-35.
func TestTwoNodes(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		nodes := []*export.Exporter{w.node("a"), w.node("b"), w.node("c")}
		for range 8 {
			w.publish(5)
			var all sync.WaitGroup
			for _, n := range nodes {
				all.Go(func() {
					_, err := n.MakeDelta(w.ctx, w.set, export.Options{})
					if err != nil && !errors.Is(err, store.ErrConflict) && !errors.Is(err, export.ErrNothingNew) {
						t.Error(err)
					}
				})
			}
			all.Wait()
		}
		chain := w.chain()
		if last := chain[len(chain)-1]; last.ToSeq != w.last || len(chain) != 8 {
			t.Errorf("%d deltas up to %d of %d", len(chain), last.ToSeq, w.last)
		}
		w.replay(replica{}, chain, "two nodes")
	})
}

// TestLineage: a replaced history begins a chain of its own, and what was in the making is not stored.
//
// Rules: MUT-38.
func TestLineage(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.publish(30)
		old := w.delta()
		w.publish(3)
		w.clock.Advance(time.Minute)
		w.write(func(tx *store.Tx) error {
			return tx.SetDatasetLineage(w.ctx, w.set, "0b9e2b2e-3f0c-4a86-9d0c-2d4d1a4cbb4a", "The source was mended.", false)
		})
		view := export.View{Dataset: w.dataset()}
		for _, ask := range []func() error{
			func() error { _, err := w.exporter.Delta(w.ctx, view, old.ID); return err },
			func() error { _, _, err := w.exporter.Deltas(w.ctx, view, old.ID, store.Page{}); return err },
		} {
			var gone *export.GoneError
			if err := ask(); !errors.Is(err, export.ErrLineageChanged) || !errors.As(err, &gone) || gone.Reason != "The source was mended." {
				t.Error(err)
			}
		}
		if _, err := w.exporter.Latest(w.ctx, view); !errors.Is(err, export.ErrNoSnapshot) {
			t.Error(err)
		}
		s := w.snapshot()
		r := replica{}
		w.apply(r, s.FileID)
		w.holds(r, w.last, "after a new lineage")
		if chain := w.chain(); len(chain) != 1 || chain[0].PreviousID != "" || chain[0].Number != 2 || s.Lineage != w.dataset().Lineage {
			t.Errorf("%+v", chain)
		}
		w.write(func(tx *store.Tx) error {
			return tx.SetDatasetLineage(w.ctx, w.set, "1b9e2b2e-3f0c-4a86-9d0c-2d4d1a4cbb4a", "All anew.", true)
		})
		s = w.snapshot()
		if m, err := export.Manifest(s.Manifest); err != nil || m.Counts.Adds != 0 {
			t.Errorf("%v: a replaced history left %+v", err, m)
		}
	})
}
