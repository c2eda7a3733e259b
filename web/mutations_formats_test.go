package web

import (
	"strings"
	"testing"

	"schakel/delivery/mutation/historytest"
	"schakel/store"
)

// TestDownloadFormats: a client made for PDOK's BGT asks for citygml, and gets it of a dataset whose objects are that. A
// format that a dataset does not have is refused with those that it has.
//
// Rules: MUT-25, MUT-51.
func TestDownloadFormats(t *testing.T) {
	t.Parallel()
	w := newMutationWorld(t)
	delta := w.publish(t, 3).ID
	ask := func(format string) apiAnswer {
		t.Helper()
		return w.whole.postJSON(t, under("/deltas/custom"), `{"format":"`+format+`","deltaId":"`+delta+`","featuretypes":["`+historytest.Types()[0]+`"]}`)
	}
	formats := func(want string) {
		t.Helper()
		var got struct{ Formats []string }
		w.whole.get(t, under("")).want(t, 200).decode(t, &got)
		if strings.Join(got.Formats, " ") != want {
			t.Errorf("formats %v, want %s", got.Formats, want)
		}
	}
	formats("gml")
	if p := ask("citygml").problem(t, 400, "invalid"); len(p.Errors) != 1 || p.Errors[0].Pointer != "/format" || !strings.Contains(p.Errors[0].Detail, "delivered as gml,") {
		t.Errorf("%+v", p.Errors)
	}
	noError(t, w.db.Write(t.Context(), func(tx *store.Tx) error {
		d, err := tx.Dataset(t.Context(), testDataset)
		if err != nil {
			return err
		}
		d.Namespaces = `{"bui":"http://www.opengis.net/citygml/building/2.0","city":"http://www.opengis.net/citygml/2.0"}`
		return tx.UpdateDataset(t.Context(), &d)
	}))
	formats("gml citygml")
	ask("citygml").want(t, 202)
	ask("gml").want(t, 202)
	if p := ask("stufgeo").problem(t, 400, "invalid"); !strings.Contains(p.Errors[0].Detail, "gml, citygml") {
		t.Errorf("%+v", p.Errors)
	}
}
