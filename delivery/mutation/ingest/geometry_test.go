package ingest_test

import (
	"fmt"
	"strings"
	"testing"

	"schakel/delivery/mutation/format"
	"schakel/store"
)

// TestGeometry publishes geometry that cannot be read: it is refused where subscribers bound the dataset by polygons, and
// taken in where nobody asks where an object lies. A publication from before that was looked at is found again.
//
// Rules: MUT-42.
func TestGeometry(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		at := func(id, pos string) format.Mutation {
			xml := fmt.Sprintf(`<p:Pand xmlns:p="urn:p" xmlns:gml="http://www.opengis.net/gml/3.2"><gml:Point><gml:pos>%s</gml:pos></gml:Point></p:Pand>`, pos)
			return mut("1", nil, &format.State{ID: id, XML: []byte(xml)})
		}
		before := group(at("a", "here 463000"))
		w.publish("before", before)
		if err := w.db.Write(w.ctx, func(tx *store.Tx) error {
			d, err := tx.Dataset(w.ctx, "panden")
			if err != nil {
				return err
			}
			d.AreaKind, d.CRS = store.AreaGeometry, 28992
			return tx.UpdateDataset(w.ctx, &d)
		}); err != nil {
			t.Fatal(err)
		}
		r, err := w.ingester.Publish(w.ctx, w.request("before", of(before)))
		if err != nil || !r.Replayed {
			t.Errorf("what is in already is judged: %+v, %v", r, err)
		}
		_, err = w.ingester.Publish(w.ctx, w.request("after", of(group(at("b", "155000 463000")), group(at("c", "155000 463000"), at("d", "there 463000")), group(at("e", "1 2")))))
		if got := codes(err); got != "geometry 2.2" {
			t.Fatalf("%v: %s", err, got)
		}
		if !strings.Contains(err.Error(), "element pos") {
			t.Errorf("what is wrong is not told: %v", err)
		}
		r, err = w.ingester.Publish(w.ctx, w.request("after", of(group(at("b", "155000 463000")), group(add("3", "f", "no geometry at all")), group(mut("1", st("a", ""), nil)))))
		if got := codes(err); got != "other-was 3.1" || r.Publication.Groups != 0 {
			t.Errorf("mended: %v", err)
		}
		if _, err = w.ingester.Publish(w.ctx, w.request("gone", of(group(format.Mutation{ObjectType: "Pand", ObjectID: "1", Was: &format.State{ID: "a"}})))); err != nil {
			t.Errorf("an object from before cannot be removed: %v", err)
		}
	})
}

// TestUnlocated publishes objects that say nowhere where they lie: they are taken in, counted, and the first is named, with
// why no subscriber of an area gets it. A request that goes on after a mistake counts each once.
//
// Rules: MUT-42.
func TestUnlocated(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		set := func(change func(d *store.Dataset)) {
			t.Helper()
			if err := w.db.Write(w.ctx, func(tx *store.Tx) error {
				d, err := tx.Dataset(w.ctx, "panden")
				if err != nil {
					return err
				}
				change(&d)
				return tx.UpdateDataset(w.ctx, &d)
			}); err != nil {
				t.Fatal(err)
			}
		}
		told := func(key string, groups ...*format.Group) string {
			t.Helper()
			r, err := w.ingester.Publish(w.ctx, w.request(key, of(groups...)))
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprintf("%d %s", r.Publication.Unlocated, r.Publication.UnlocatedFirst)
		}
		gml := func(object, id, in string) format.Mutation {
			return mut(object, nil, &format.State{ID: id, XML: []byte(`<p:Pand xmlns:p="urn:p" xmlns:gml="http://www.opengis.net/gml/3.2"><p:plek>` + in + `</p:plek></p:Pand>`)})
		}
		if got := told("nobody asks", group(add("0", "none", "x"))); got != "0 " {
			t.Errorf("in a dataset without areas: %s", got)
		}
		set(func(d *store.Dataset) { d.AreaKind, d.CRS = store.AreaGeometry, 28992 })
		point := `<gml:Point><gml:pos>155000 463000</gml:pos></gml:Point>`
		first := group(gml("1", "a", point), gml("2", "b", `<gml:Blob>1 2</gml:Blob>`))
		broken := group(gml("3", "c", `<gml:Point><gml:pos>here</gml:pos></gml:Point>`))
		rest := group(gml("4", "d", "nothing"))
		_, err := w.ingester.Publish(w.ctx, w.request("go on", of(first, broken)))
		if codes(err) != "geometry 2.1" {
			t.Fatal(err)
		}
		want := "2 test, group 1, mutation 2, object 2: no geometry that is known (gml:Blob is not)"
		if got := told("go on", first, rest); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if got := told("go on", first, rest); got != want {
			t.Errorf("told again: %s, want %s", got, want)
		}
		set(func(d *store.Dataset) { d.GeometryElements = store.Strings{"vlak"} })
		if got, want := told("elsewhere", group(gml("5", "e", point))), "1 test, group 1, mutation 1, object 5: no geometry in an element vlak"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		set(func(d *store.Dataset) { d.AreaKind, d.KeyElements = store.AreaKeys, store.Strings{"gemeente"} })
		if got, want := told("no key", group(gml("6", "f", "<p:gemeente>0344</p:gemeente>"), gml("7", "g", "<p:gemeente/>"))),
			"1 test, group 1, mutation 2, object 7: no key in an element gemeente"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}
