package export_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"schakel/delivery/mutation/export"
	"schakel/store"
	"schakel/store/needs"
)

// follow makes a subscription of a new partner to the dataset, bounded to an area unless wkt is empty.
func (w *world) follow(name, wkt string, types ...string) export.View {
	w.t.Helper()
	p := store.Partner{Name: name, Status: store.PartnerApproved}
	f := store.MutationFollower{DatasetID: w.set, ObjectTypes: types}
	w.write(func(tx *store.Tx) error {
		if err := tx.InsertPartner(w.ctx, &p); err != nil {
			return err
		}
		e := store.Endpoint{PartnerID: p.ID, Name: name, Kind: "files", Status: store.EndpointActive}
		if err := tx.InsertEndpoint(w.ctx, &e); err != nil {
			return err
		}
		s := store.Subscription{PartnerID: p.ID, EndpointID: e.ID, DatasetID: w.set, Status: store.SubscriptionApproved}
		if err := tx.InsertSubscription(w.ctx, &s); err != nil {
			return err
		}
		if wkt != "" {
			a := store.MutationArea{DatasetID: w.set, PartnerID: p.ID, Kind: store.AreaGeometry, Given: wkt, WKT: wkt}
			if err := tx.InsertMutationArea(w.ctx, &a); err != nil {
				return err
			}
			f.AreaID = a.ID
		}
		f.SubscriptionID = s.ID
		return tx.InsertMutationFollower(w.ctx, &f)
	})
	return export.View{Dataset: w.dataset(), PartnerID: p.ID, Follower: &f}
}

func (w *world) work() (n int) {
	w.t.Helper()
	for {
		some, err := w.exporter.Work(w.ctx)
		must(w.t, err)
		if !some {
			return n
		}
		n++
	}
}

// TestFollowersPart: a follower with an area gets each delta and snapshot filtered, in a lineage of its own; what it keeps of
// them is exactly what lies in the area. Two with the same area share the bytes.
//
// Rules: MUT-38, MUT-41, MUT-42, MUT-47, MUT-49, MUT-65.
func TestFollowersPart(t *testing.T) {
	needs.Unraced(t)
	each(t, func(t *testing.T, w *world) {
		north, twin := w.follow("north", ring.WKT()), w.follow("twin", ring.WKT())
		whole := w.follow("whole", "")
		w.publish(120)
		var deltas []store.MutationDelta
		deltas = append(deltas, w.delta())
		names, err := w.exporter.Names(w.ctx, north)
		if err != nil || names.Of(deltas[0].ID) == deltas[0].ID {
			t.Fatal(err)
		}
		early, err := w.exporter.Delta(w.ctx, north, names.Of(deltas[0].ID))
		if err != nil || early.Ready || early.FileID != "" {
			t.Errorf("before it was made: %v, %+v", err, early)
		}
		w.snapshot()
		if o, err := w.exporter.Latest(w.ctx, north); err != nil || o.Ready { // the first ask
			t.Errorf("%v, %+v", err, o)
		}
		for range 3 {
			w.publish(60)
			deltas = append(deltas, w.delta())
		}
		if n := w.work(); n != 2*len(deltas)+1 {
			t.Errorf("made %d downloads", n)
		}
		lineage, err := w.exporter.Lineage(w.ctx, north)
		if err != nil || lineage == w.dataset().Lineage {
			t.Errorf("%v, lineage %s", err, lineage)
		}
		o, err := w.exporter.Latest(w.ctx, north)
		if err != nil || !o.Ready || o.Manifest.Lineage != lineage || o.Manifest.Includes != names.Of(deltas[0].ID) || !strings.HasPrefix(o.Manifest.Area, "POLYGON") {
			t.Fatalf("%v, %+v", err, o.Manifest)
		}
		r := replica{}
		w.apply(r, o.FileID)
		w.within(r, deltas[0].ToSeq)
		offers, total, err := w.exporter.Deltas(w.ctx, north, o.Manifest.Includes, store.Page{Number: 1, Size: 10})
		if err != nil || total != len(deltas)-1 {
			t.Fatal(total, err)
		}
		for i, d := range offers {
			if !d.Ready || d.Manifest.Lineage != lineage || d.Manifest.Previous != names.Of(deltas[i].ID) || d.Previous != d.Manifest.Previous || d.Name != d.Manifest.DeliveryID || d.Delta.ID != deltas[i+1].ID {
				t.Fatalf("delta %d: %+v", i, d)
			}
			if err := d.Manifest.Check(w.filtered(r, d.FileID)); err != nil {
				t.Error(err)
			}
			w.within(r, d.Delta.ToSeq)
			if same, err := w.exporter.Delta(w.ctx, twin, d.Name); err != nil || same.FileID != d.FileID {
				t.Errorf("%v: the twin has a file of its own", err)
			}
			if all, err := w.exporter.Delta(w.ctx, whole, d.Delta.ID); err != nil || all.FileID != d.Delta.FileID || all.Manifest.Lineage != d.Delta.Lineage {
				t.Errorf("%v: without an area: %+v", err, all)
			}
		}
	})
}

// filtered applies a filtered delta as who has an area does: a WAS that is not there entered (MUT-44), what lies outside left.
func (w *world) filtered(r replica, fileID string) (seen manifest) {
	w.t.Helper()
	return w.each(fileID, func(m *mutation) {
		if m.Was != nil {
			delete(r, m.Was.ID)
		}
		if m.Wordt != nil && ring.Inside(m.Wordt) {
			r[m.Wordt.ID] = m.line()
		}
	})
}

// within checks that a replica is exactly the part of the dataset that lies in ring.
func (w *world) within(r replica, seq int64) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if got := r.lines(); !slices.Equal(got, w.inside[seq]) || len(got) == 0 {
		w.t.Fatalf("the part has %d states behind group %d, and should have %d", len(got), seq, len(w.inside[seq]))
	}
}

// TestRequest: what is asked for is checked, made in the background, and only for who asked.
//
// Rules: MUT-40, MUT-51, MUT-52.
func TestRequest(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.publish(80)
		v := w.follow("north", "", "Pand", "Perceel")
		other := w.follow("south", "")
		if _, err := w.exporter.Request(w.ctx, v, export.Request{By: "cli_1"}); !errors.Is(err, export.ErrNoSnapshot) {
			t.Error(err)
		}
		d := w.delta()
		s := w.snapshot()
		w.work()
		for _, c := range []struct {
			r    export.Request
			want error
		}{
			{export.Request{Geofilter: "POLYGON((0 0,1 1))"}, export.ErrGeofilter},
			{export.Request{ObjectTypes: []string{"Wegdeel"}}, export.ErrObjectType},
			{export.Request{DeltaID: "none"}, export.ErrDeltaUnknown},
		} {
			c.r.By = "cli_1"
			if _, err := w.exporter.Request(w.ctx, v, c.r); !errors.Is(err, c.want) {
				t.Errorf("%+v: %v", c.r, err)
			}
		}
		whole, err := w.exporter.Request(w.ctx, other, export.Request{By: "cli_2", DeltaID: d.ID, ObjectTypes: []string{"pand", "Perceel", "Wegdeel", "Besluit"}})
		if err != nil || whole.Status != store.MutationCompleted || whole.FileID != d.FileID {
			t.Errorf("%v: what is there is made again: %+v", err, whole)
		}
		row, err := w.exporter.Request(w.ctx, v, export.Request{By: "cli_1", ObjectTypes: []string{"pand"}, Geofilter: "SRID=28992;" + ring.WKT()})
		if err != nil || row.Status != store.MutationPending || row.SnapshotID != s.ID {
			t.Fatalf("%v, %+v", err, row)
		}
		if _, err := w.exporter.Custom(w.ctx, other, row.ID); !errors.Is(err, store.ErrNotFound) {
			t.Error(err)
		}
		w.work()
		row, err = w.exporter.Custom(w.ctx, v, row.ID)
		m, _ := export.Manifest(row.Manifest)
		if err != nil || row.Status != store.MutationCompleted || row.Progress != 100 || !slices.Equal(m.ObjectTypes, []string{"Pand"}) || m.Area != row.Geofilter {
			t.Fatalf("%v, %+v", err, row)
		}
		n := 0
		w.each(row.FileID, func(m *mutation) {
			n++
			if m.ObjectType != "Pand" || !ring.Inside(m.Wordt) {
				t.Errorf("%s %s is not asked for", m.ObjectType, m.ObjectID)
			}
		})
		if n == 0 {
			t.Error("it is empty")
		}
	})
}

// TestTakenOver: the download of a node that died is made by another, and what the dead one still writes is not stored.
func TestTakenOver(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		v := w.follow("north", ring.WKT())
		w.publish(20)
		d := w.delta()
		w.write(func(tx *store.Tx) error {
			_, err := tx.ClaimMutationDownload(w.ctx, "dead", store.At(tx.Now.Add(time.Minute)))
			return err
		})
		if n := w.work(); n != 0 {
			t.Error("two nodes have a download")
		}
		w.clock.Advance(2 * time.Minute)
		if n := w.work(); n != 1 {
			t.Error("nobody takes it over")
		}
		if o, err := w.exporter.Delta(w.ctx, v, w.name(v, d.ID)); err != nil || !o.Ready {
			t.Errorf("%v, %+v", err, o)
		}
	})
}
