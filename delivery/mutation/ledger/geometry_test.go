package ledger_test

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
		r, err := w.led.Publish(w.ctx, w.request("before", of(before)))
		if err != nil || !r.Replayed {
			t.Errorf("what is in already is judged: %+v, %v", r, err)
		}
		_, err = w.led.Publish(w.ctx, w.request("after", of(group(at("b", "155000 463000")), group(at("c", "155000 463000"), at("d", "there 463000")), group(at("e", "1 2")))))
		if got := codes(err); got != "geometry 2.2" {
			t.Fatalf("%v: %s", err, got)
		}
		if !strings.Contains(err.Error(), "element pos") {
			t.Errorf("what is wrong is not told: %v", err)
		}
		r, err = w.led.Publish(w.ctx, w.request("after", of(group(at("b", "155000 463000")), group(add("3", "f", "no geometry at all")), group(mut("1", st("a", ""), nil)))))
		if got := codes(err); got != "other-was 3.1" || r.Publication.Groups != 0 {
			t.Errorf("mended: %v", err)
		}
		if _, err = w.led.Publish(w.ctx, w.request("gone", of(group(format.Mutation{ObjectType: "Pand", ObjectID: "1", Was: &format.State{ID: "a"}})))); err != nil {
			t.Errorf("an object from before cannot be removed: %v", err)
		}
	})
}
