package export_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/uuid"

	"schakel/delivery/mutation/export"
	"schakel/store"
)

// TestUnreadableGeometry: a state whose geometry cannot be read comes with every area, and the log reports how
// many there are.
//
// Rules: MUT-42.
func TestUnreadableGeometry(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var logged bytes.Buffer
		w.exporter = export.New(export.Config{DB: w.db, Now: w.clock.Now, Node: "north", Log: slog.New(slog.NewTextHandler(&logged, nil))})
		v, id := w.follow("Follower", ring.WKT()), uuid.NewString()
		w.write(func(tx *store.Tx) error {
			set, err := tx.LockDataset(w.ctx, w.set)
			if err != nil {
				return err
			}
			state := store.MutationState{
				ID: id, DatasetID: w.set, ObjectType: set.ObjectTypes[0], ObjectID: "1", BornSeq: 1, Digest: []byte{1}, Namespaces: "{}",
				XML: []byte(`<m:o xmlns:m="urn:m" xmlns:gml="http://www.opengis.net/gml/3.2"><m:P><gml:Point><gml:pos>here</gml:pos></gml:Point></m:P></m:o>`),
			}
			return tx.AppendGroups(w.ctx, set, store.Appended{
				Groups:    []store.MutationGroup{{DatasetID: w.set, Seq: 1, At: tx.Now}},
				Mutations: []store.Mutation{{DatasetID: w.set, Seq: 1, Number: 1, ObjectType: state.ObjectType, ObjectID: "1", WordtID: id}},
				States:    []store.MutationState{state},
			})
		})
		d, err := w.exporter.MakeDelta(w.ctx, w.set, export.Options{})
		if err != nil || w.work() != 1 {
			t.Fatal(err)
		}
		o, err := w.exporter.Delta(w.ctx, v, w.name(v, d.ID))
		if err != nil || !o.Ready || o.Manifest.Counts.Adds != 1 {
			t.Errorf("%+v, %v", o, err)
		}
		if !strings.Contains(logged.String(), "cannot be read") || !strings.Contains(logged.String(), "states=1") {
			t.Errorf("logged %q", logged.String())
		}
	})
}
