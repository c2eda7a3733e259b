package export_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
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
		must(t, err)
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
