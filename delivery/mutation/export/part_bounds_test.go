package export_test

import (
	"testing"

	"schakel/delivery/mutation/export"
	"schakel/store"
)

// TestTypesGone: who is bounded to object types that the dataset has no more does not get all others instead.
//
// Rules: MUT-40.
func TestTypesGone(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		v := w.follow("north", "", "Pand")
		w.write(func(tx *store.Tx) error {
			d := v.Dataset
			d.ObjectTypes = store.Strings{"Perceel", "Wegdeel"}
			return tx.UpdateDataset(w.ctx, &d)
		})
		v.Dataset = w.dataset()
		d, err := w.exporter.MakeDelta(w.ctx, w.set, export.Options{Empty: true})
		if err != nil {
			t.Fatal(err)
		}
		o, err := w.exporter.Delta(w.ctx, v, d.ID)
		if err != nil || o.Ready || o.Failed == "" {
			t.Errorf("%v: %+v", err, o)
		}
		if rows := w.downloads(); rows[0].Status != store.MutationFailed {
			t.Errorf("%+v", rows[0])
		}
	})
}

// TestOffersAreLight: a list of deltas does not hold the boundary of a large area once a delta.
func TestOffersAreLight(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		v := w.follow("north", ring.WKT())
		w.publish(20)
		w.delta()
		w.work()
		offers, _, err := w.exporter.Deltas(w.ctx, v, "", store.Page{})
		if err != nil || len(offers) != 1 || !offers[0].Ready || offers[0].Manifest.SHA256 == "" || offers[0].Manifest.Area != "" {
			t.Errorf("%v: %+v", err, offers)
		}
	})
}
