package export_test

import (
	"errors"
	"strings"
	"testing"

	"schakel/delivery/mutation/export"
	"schakel/store"
)

// A follower of before the names of deltas said of which part they are goes on by the ids that it knows, and learns the names of
// those that follow. Other parts do not.
//
// Rules: MUT-38, MUT-49.
func TestBareNames(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		v := w.follow("north", ring.WKT())
		w.publish(10)
		first := w.delta()
		w.publish(10)
		second := w.delta()
		page := store.Page{Number: 1, Size: 10}
		gone := func(id string) {
			t.Helper()
			_, _, err := w.exporter.Deltas(w.ctx, v, id, page)
			if over, ok := errors.AsType[*export.GoneError](err); !ok || !errors.Is(over.Kind, export.ErrLineageChanged) {
				t.Errorf("behind %s: %v", id, err)
			}
		}
		gone(first.ID)
		gone(first.ID + "-0123456789ab")
		old := *v.Follower
		old.BareUntil = first.Number
		v.Follower = &old
		offers, _, err := w.exporter.Deltas(w.ctx, v, first.ID, page)
		if err != nil || len(offers) != 1 || offers[0].Previous != first.ID || !strings.HasPrefix(offers[0].Name, second.ID+"-") {
			t.Errorf("%v, %+v", err, offers)
		}
		gone(second.ID)
		if _, err := w.exporter.Delta(w.ctx, v, first.ID); err != nil {
			t.Error(err)
		}
	})
}
