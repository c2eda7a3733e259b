package export_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"schakel/delivery/mutation/export"
	"schakel/store"
)

// expire ends what is over, and wants so many of it.
func (w *world) expire(want int) {
	w.t.Helper()
	n, err := w.exporter.Expire(w.ctx)
	if err != nil || n != want {
		w.t.Errorf("ended %d, %v; want %d", n, err, want)
	}
}

func (w *world) there(fileID string) bool {
	w.t.Helper()
	f, err := w.db.MutationFile(w.ctx, fileID)
	return err == nil && f.GoneAt.IsZero()
}

// TestRetention: a delta is there until 744 hours after its end, that moment included; then who asks for it, or for what comes
// behind the one before it, gets that answer. Behind the last one there is nothing, and an unknown one is unknown.
//
// Rules: MUT-33, MUT-35.
func TestRetention(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.publish(5)
		first := w.delta()
		w.publish(5)
		second := w.delta()
		w.publish(5)
		third := w.delta()
		v := export.View{Dataset: w.dataset()}
		listed := func(after string, want ...string) {
			t.Helper()
			offers, total, err := w.exporter.Deltas(w.ctx, v, after, store.Page{Number: 1, Size: 2})
			if err != nil || total < len(want) || len(offers) != min(2, len(want)) {
				t.Fatalf("after %q: %d of %d, %v; want %v", after, len(offers), total, err, want)
			}
			for i, o := range offers {
				if o.Delta.ID != want[i] {
					t.Errorf("after %q: delta %d is %s", after, i, o.Delta.ID)
				}
			}
		}
		listed("", first.ID, second.ID, third.ID)
		listed(first.ID, second.ID, third.ID)
		listed(third.ID)
		w.clock.Advance(second.ToAt.Add(export.Retention).Sub(w.clock.Now()))
		w.expire(1)
		o, err := w.exporter.Delta(w.ctx, v, second.ID)
		if err != nil || !o.Ready || !o.ExpiresAt.Equal(w.clock.Now()) || !w.there(second.FileID) {
			t.Errorf("744 h after its end: %v, %+v", err, o)
		}
		listed("", second.ID, third.ID)
		listed(first.ID, second.ID, third.ID)
		w.clock.Advance(time.Microsecond)
		for name, ask := range map[string]func() error{
			"delta":  func() error { _, err := w.exporter.Delta(w.ctx, v, second.ID); return err },
			"behind": func() error { _, _, err := w.exporter.Deltas(w.ctx, v, first.ID, store.Page{}); return err },
			"part": func() error {
				_, err := w.exporter.Request(w.ctx, v, export.Request{By: "a", DeltaID: second.ID})
				return err
			},
		} {
			var gone *export.GoneError
			if err := ask(); !errors.Is(err, export.ErrDeltaExpired) || !errors.As(err, &gone) || !gone.ExpiredAt.Equal(second.ToAt.Add(export.Retention)) {
				t.Errorf("%s: %v", name, err)
			}
		}
		listed(second.ID, third.ID)
		w.expire(1)
		w.expire(0)
		if w.there(second.FileID) || !w.there(third.FileID) {
			t.Error("the wrong file is gone")
		}
		for _, id := range []string{"none", ""} {
			if _, err := w.exporter.Delta(w.ctx, v, id); !errors.Is(err, export.ErrDeltaUnknown) {
				t.Error(err)
			}
		}
	})
}

// TestExpireDownloads: what was asked for stays seven days, also when its delta is gone; what a subscription gets goes with
// its delta. A shared file goes with the last that has it.
//
// Rules: MUT-33.
func TestExpireDownloads(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		v := w.follow("north", ring.WKT())
		w.publish(60)
		d := w.delta()
		w.work()
		names, err := w.exporter.Names(w.ctx, v)
		must(t, err)
		part, err := w.exporter.Delta(w.ctx, v, names.Of(d.ID))
		if err != nil || !part.Ready {
			t.Fatal(err)
		}
		w.clock.Advance(export.Retention - time.Hour)
		own := export.View{Dataset: w.dataset(), PartnerID: "own"}
		asked, err := w.exporter.Request(w.ctx, own, export.Request{By: "a", DeltaID: d.ID}) // the same file
		if err != nil || asked.FileID != d.FileID {
			t.Fatal(err)
		}
		same, err := w.exporter.Request(w.ctx, v, export.Request{By: "b", DeltaID: names.Of(d.ID)})
		if err != nil || same.FileID != part.FileID {
			t.Fatal(err)
		}
		w.clock.Advance(2 * time.Hour)
		w.expire(2) // the delta, and what the subscription got of it
		if !w.there(d.FileID) || !w.there(part.FileID) {
			t.Error("a file that is shared is gone")
		}
		w.clock.Advance(export.KeepCustom - 2*time.Hour)
		if _, err := w.exporter.Custom(w.ctx, own, asked.ID); err != nil {
			t.Error(err)
		}
		w.expire(0)
		w.clock.Advance(time.Microsecond)
		if _, err := w.exporter.Custom(w.ctx, own, asked.ID); !errors.Is(err, export.ErrDownloadGone) {
			t.Error(err)
		}
		w.expire(2)
		if w.there(d.FileID) || w.there(part.FileID) {
			t.Error("a file stays that nobody needs")
		}
	})
}

// TestExpireSnapshots: the newest two stay, and any other for a day after a newer one came; those of an old lineage for a day.
func TestExpireSnapshots(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var all []store.MutationSnapshot
		for range 4 {
			w.publish(3)
			all = append(all, w.snapshot())
			w.clock.Advance(time.Hour)
		}
		w.expire(0)
		w.clock.Advance(21 * time.Hour) // a day after the second
		w.expire(1)
		w.clock.Advance(59 * time.Minute)
		w.expire(0)
		w.clock.Advance(time.Minute)
		w.expire(1)
		w.clock.Advance(100 * time.Hour)
		w.expire(0)
		for i, s := range all {
			if _, err := w.exporter.SnapshotOf(w.ctx, export.View{Dataset: w.dataset()}, s.ID); (err == nil) != (i > 1) {
				t.Errorf("snapshot %d: %v", i, err)
			}
			if w.there(s.FileID) != (i > 1) {
				t.Errorf("file of snapshot %d", i)
			}
		}
		w.write(func(tx *store.Tx) error {
			return tx.SetDatasetLineage(w.ctx, w.set, "0b9e2b2e-3f0c-4a86-9d0c-2d4d1a4cbb4a", "Mended.", false)
		})
		w.expire(0)
		if _, err := w.exporter.SnapshotOf(w.ctx, export.View{Dataset: w.dataset()}, all[3].ID); !errors.Is(err, export.ErrLineageChanged) {
			t.Error(err)
		}
		w.clock.Advance(25 * time.Hour)
		w.expire(2 + 4) // and the deltas
	})
}

// TestRoom: the bytes of what a partner asked for are bounded. The oldest make room, but not within an hour after they were
// ready; a request for what is there already takes some too, and another partner has room of its own.
func TestRoom(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.exporter = export.New(export.Config{DB: w.db, Now: w.clock.Now, Node: "north", MostCustomBytes: 1})
		v, other := w.follow("north", ""), w.follow("south", "")
		w.publish(60)
		d := w.delta()
		ask := func(v export.View, n int) (store.MutationDownload, error) {
			filter := fmt.Sprintf("POLYGON((155000 463000,156000 463000,156000 %d,155000 463000))", 464000+n)
			row, err := w.exporter.Request(w.ctx, v, export.Request{By: "cli_1", DeltaID: d.ID, Geofilter: filter})
			w.work()
			return row, err
		}
		first, err := ask(v, 1)
		must(t, err)
		ready := w.clock.Now()
		var full *export.RoomError
		if _, err := ask(v, 2); !errors.As(err, &full) || !full.Until.Equal(ready.Add(export.FreshCustom)) || full.Most != 1 {
			t.Fatal(err)
		}
		if _, err := ask(v, 1); !errors.As(err, &full) {
			t.Errorf("%v: what is there already takes no room", err)
		}
		if _, err := ask(other, 2); err != nil {
			t.Error(err)
		}
		w.expire(0)
		if first, err = w.exporter.Custom(w.ctx, v, first.ID); err != nil || !w.there(first.FileID) {
			t.Error(err)
		}
		w.clock.Advance(export.FreshCustom)
		second, err := ask(v, 3)
		must(t, err)
		var gone *export.GoneError
		if _, err := w.exporter.Custom(w.ctx, v, first.ID); !errors.As(err, &gone) || gone.Kind != export.ErrDownloadGone || !gone.ExpiredAt.Equal(w.clock.Now()) || w.there(first.FileID) {
			t.Errorf("%v: %+v", err, gone)
		}
		w.clock.Advance(export.FreshCustom - time.Microsecond)
		if w.expire(0); !w.stored(v, second.ID) {
			t.Error("what is fresh made room")
		}
		w.clock.Advance(time.Microsecond)
		if w.expire(0); w.stored(v, second.ID) {
			t.Error("more is kept than may be")
		}
	})
}

func (w *world) stored(v export.View, id string) bool {
	row, err := w.exporter.Custom(w.ctx, v, id)
	return err == nil && w.there(row.FileID)
}
