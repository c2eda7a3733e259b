package export_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"schakel/delivery/mutation/export"
	"schakel/store"
)

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
		if err != nil {
			t.Fatal(err)
		}
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
		if err != nil {
			t.Fatal(err)
		}
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
