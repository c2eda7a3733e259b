package web

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/export"
	"schakel/delivery/mutation/format"
	"schakel/registry"
	"schakel/store"
	webdatasets "schakel/web/datasets"
)

const housesSpace = "urn:example:houses"

// housesForm is a dataset that is right; pairs of name and value change it.
func housesForm(pairs ...string) url.Values {
	return changed(url.Values{
		"id": {"houses"}, "title": {"Houses of Deventer"}, "description": {"All houses."}, "objectTypes": {"House\nShed"},
		"rootLocal": {"houseMutations"}, "rootPrefix": {"h"}, "rootSpace": {housesSpace}, "namespaces": {"gml http://www.opengis.net/gml/3.2"},
		"areaKind": {"geometry"}, "crs": {"28992"}, "geometryElements": {""}, "keyElements": {""}, "perFile": {"100"},
		"deltaSchedule": {"0 * * * *"}, "snapshotSchedule": {""},
	}, pairs...)
}

// houseState is a house of ten by ten metres in the national grid.
func houseState(t *testing.T, id string, number, x, y int) *format.State {
	t.Helper()
	return must(format.ParseState(id, fmt.Appendf(nil, `<h:House><h:number>%d</h:number><h:at><gml:Polygon srsName="urn:ogc:def:crs:EPSG::28992"><gml:exterior><gml:LinearRing><gml:posList>%d %d %d %d %d %d %d %d</gml:posList></gml:LinearRing></gml:exterior></gml:Polygon></h:at></h:House>`,
		number, x, y, x+10, y, x+10, y+10, x, y), format.Namespace{Prefix: "gml", URI: "http://www.opengis.net/gml/3.2"}, format.Namespace{Prefix: "h", URI: housesSpace}))(t)
}

// housesZip is a delivery with a group for each mutation.
func housesZip(t *testing.T, kind format.DeliveryType, mutations ...format.Mutation) []byte {
	t.Helper()
	var out bytes.Buffer
	w := must(archive.NewDeliveryWriter(&out, format.Header{
		Root: format.Name{Prefix: "h", Space: housesSpace, Local: "houseMutations"}, Dataset: "houses", Type: kind, DeliveryID: "d-" + string(kind),
		ObjectTypes: []string{"House", "Shed"}, Namespaces: []format.Namespace{{Prefix: "gml", URI: "http://www.opengis.net/gml/3.2"}, {Prefix: "h", URI: housesSpace}},
	}, archive.DeliveryOptions{}))(t)
	for _, m := range mutations {
		m.ObjectType = "House"
		noError(t, w.WriteGroup(&format.Group{Mutations: []format.Mutation{m}}))
	}
	must(w.Close())(t)
	return out.Bytes()
}

// withHouses makes the dataset and publishes two houses by the pages.
func (d *portalHarness) withHouses(t *testing.T, admin *browser) {
	t.Helper()
	wantStatus(t, admin.post("/admin/datasets", housesForm()), http.StatusSeeOther)
	zip := housesZip(t, format.Initial,
		format.Mutation{ObjectID: "1", Wordt: houseState(t, "s-one", 1, 207000, 474000)}, format.Mutation{ObjectID: "2", Wordt: houseState(t, "s-two", 2, 209000, 474000)})
	wantStatus(t, admin.uploadFile("/admin/datasets/houses/import", "file", "houses.zip", zip, "key", "k1"), http.StatusSeeOther)
}

// An administrator makes a dataset, imports its initial state, and cuts deltas and snapshots of it.
//
// Rules: MUT-33, MUT-38, MUT-65.
func TestDatasetAdministration(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	b := h.browser().login(t, testEmail)
	wantWords(t, text(b.get("/admin/datasets")), "There are no datasets yet.", "Make a dataset", "Check mutation files")
	wantWords(t, text(b.get("/admin/datasets/new")), "Object types", "0 * * * *")
	h.withHouses(t, b)
	page := text(b.get("/admin/datasets/houses"))
	wantWords(t, page, "Houses of Deventer", "Groups waiting", "Initial state", "houses.zip", "2 added", "No delta was cut yet.", "Nobody follows this dataset yet.")

	wantRedirect(t, b.post("/admin/datasets/houses/deltas", nil), "/admin/datasets/houses")
	wantRedirect(t, b.post("/admin/datasets/houses/snapshots", nil), "/admin/datasets/houses")
	wantWords(t, text(b.get("/admin/datasets/houses")), "Delta asked for", "Snapshot asked for")
	must(h.exporter.MakeDelta(t.Context(), "houses", export.Options{}))(t)
	must(h.exporter.Snapshot(t.Context(), "houses"))(t)
	page = text(b.get("/admin/datasets/houses"))
	wantWords(t, page, "Delta 1", "Includes", "delta 1", "31 d")
	file := match(t, `/admin/datasets/houses/deltas/[-0-9a-f]+/content`, page)
	h.checkZip(t, b.get(file), 2)
	h.checkZip(t, b.get(match(t, `/admin/datasets/houses/snapshots/[-0-9a-f]+/content`, page)), 2)
	wantWords(t, text(b.get("/admin/datasets/houses/deltas")), "Delta 1", "Ready")
	wantWords(t, text(b.get("/admin/datasets?q=deventer")), "Houses of Deventer", "Delta 1")
	wantWords(t, text(b.get("/admin/datasets?status=ended")), "No dataset matches this filter.")

	wantPage(t, b.post("/admin/datasets/houses/lineage", url.Values{"reason": {"x"}}), http.StatusUnprocessableEntity, "at least 3 characters")
	wantRedirect(t, b.post("/admin/datasets/houses/lineage", url.Values{"reason": {"The source was rebuilt."}}), "/admin/datasets/houses")
	wantWords(t, text(b.get("/admin/datasets/houses")), "The source was rebuilt.", "Of an older lineage")
	wantRedirect(t, b.get(file), "/admin/datasets/houses")
	wantWords(t, text(b.get("/admin/datasets/houses")), "begins anew from the newest snapshot")

	noError(t, h.reg.Datasets.Failed(t.Context(), "houses", store.TroubleDelta, "no room."))
	noError(t, h.reg.Datasets.Failed(t.Context(), "houses", store.TroubleDelta, "no room."))
	wantWords(t, text(b.get("/admin/datasets/houses")), "A delta failed 2 times: no room.", "It is tried again by itself")
	wantWords(t, text(b.get("/admin/datasets")), "Delta failed")
	wantWords(t, text(b.get("/admin")), "Datasets that fail", "no delta or snapshot can be made")
	noError(t, h.reg.Datasets.Worked(t.Context(), "houses", store.TroubleDelta))
	for _, path := range []string{"/admin/datasets/houses", "/admin/datasets", "/admin"} {
		if page := text(b.get(path)); strings.Contains(page, "no room") || strings.Contains(page, "Delta failed") || strings.Contains(page, "that fail") {
			t.Errorf("%s tells of what works again", path)
		}
	}

	wantRedirect(t, b.post("/admin/datasets/houses/end", url.Values{"reason": {"It moved."}}), "/admin/datasets/houses")
	page = text(b.get("/admin/datasets/houses"))
	wantWords(t, page, "Ended", "It moved.", "This dataset ended at", "those who followed it can fetch what was cut")
	lacks(t, page, "Cut a delta now")
	wantWords(t, text(b.get("/admin/datasets")), "Ended")
	wantStatus(t, b.get("/admin/datasets/houses/import"), http.StatusSeeOther)
}

// checkZip wants a delivery with so many groups.
func (d *portalHarness) checkZip(t *testing.T, answer *http.Response, groups int64) archive.Manifest {
	t.Helper()
	wantStatus(t, answer, http.StatusOK)
	if got := answer.Header.Get("Content-Type"); got != "application/zip" {
		t.Errorf("type %q", got)
	}
	in := archive.NewDeliveryReader(answer.Body, archive.Limits{}, format.Limits{})
	for {
		if _, _, err := in.Next(); err != nil {
			break
		}
	}
	if got := in.Seen().Counts.Groups; got != groups {
		t.Errorf("%d groups, want %d", got, groups)
	}
	return in.Seen()
}

// A delta is shown as expired right after 31 days, and not at that moment.
//
// Rules: MUT-33.
func TestDeltaRowExpires(t *testing.T) {
	t.Parallel()
	end := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	d := store.MutationDelta{Number: 4, Lineage: "a", ToAt: store.At(end)}
	for _, tt := range []struct {
		after time.Duration
		gone  bool
	}{{744 * time.Hour, false}, {744*time.Hour + time.Microsecond, true}} {
		row := webdatasets.DeltaRow(store.Dataset{Lineage: "a"}, d, end.Add(tt.after), "/here")
		if row.Gone != tt.gone || (row.Href == "") != tt.gone || row.Old {
			t.Errorf("%s after its end: %+v", tt.after, row)
		}
	}
	if !webdatasets.DeltaRow(store.Dataset{Lineage: "b"}, d, end, "").Old {
		t.Error("a delta of another lineage is not told apart")
	}
}

// What is wrong with a dataset is told at its field, and nothing is lost of what was typed.
func TestDatasetFormRefused(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	b := h.browser().login(t, testEmail)
	for name, value := range map[string]string{
		"id": "Houses!", "title": "", "rootLocal": "a b", "rootPrefix": "1", "rootSpace": "", "namespaces": "gml", "objectTypes": "", "areaKind": "some",
		"crs": "x", "perFile": "none", "deltaSchedule": "soon", "snapshotSchedule": "soon",
	} {
		page := wantPage(t, b.post("/admin/datasets", housesForm(name, value)), http.StatusUnprocessableEntity)
		if !strings.Contains(page, `href="#`+name+`"`) && !strings.Contains(page, `href="#`+name+`-`) {
			t.Errorf("%s: no error leads to the field", name)
		}
	}
	wantStatus(t, b.post("/admin/datasets", housesForm("areaKind", "keys")), http.StatusUnprocessableEntity)
	wantStatus(t, b.post("/admin/datasets", housesForm("namespaces", "a urn:a\na urn:b")), http.StatusUnprocessableEntity)
	wantStatus(t, b.post("/admin/datasets", housesForm()), http.StatusSeeOther)
	wantPage(t, b.post("/admin/datasets", housesForm()), http.StatusUnprocessableEntity, "There is a dataset with this id already")

	page := text(b.get("/admin/datasets/houses/edit"))
	wantWords(t, page, "Houses of Deventer", "gml http://www.opengis.net/gml/3.2", "Save changes")
	wantRedirect(t, b.post("/admin/datasets/houses/edit", housesForm("title", "Homes")), "/admin/datasets/houses")
	wantWords(t, text(b.get("/admin/datasets/houses")), "Homes", "The changes are saved.")
	wantStatus(t, b.post("/admin/datasets/houses/edit", housesForm("title", "")), http.StatusUnprocessableEntity)
	wantStatus(t, b.post("/admin/datasets/none/edit", housesForm()), http.StatusNotFound)
}

// What is wrong with an imported file is told with its place, and what is in stays in.
//
// Rules: MUT-12, MUT-22, MUT-29.
func TestDatasetImportRefused(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	b := h.browser().login(t, testEmail)
	h.withHouses(t, b)
	const path = "/admin/datasets/houses/import"
	sound := housesZip(t, format.Delta, format.Mutation{ObjectID: "3", Wordt: houseState(t, "s-3", 3, 207100, 474000)})
	gone := housesZip(t, format.Delta,
		format.Mutation{ObjectID: "1", Was: houseState(t, "s-one", 1, 207000, 474000)}, format.Mutation{ObjectID: "1", Was: houseState(t, "s-one", 1, 207000, 474000)})
	initial := housesZip(t, format.Initial, format.Mutation{ObjectID: "9", Wordt: houseState(t, "s-9", 9, 207100, 474000)})
	nowhere := houseState(t, "s-8", 8, 207100, 474000)
	nowhere.XML = bytes.Replace(nowhere.XML, []byte("207100"), []byte("over there"), 1)
	unreadable := housesZip(t, format.Delta, format.Mutation{ObjectID: "8", Wordt: nowhere})
	for name, tt := range map[string]struct {
		file  []byte
		pairs []string
		words []string
	}{
		"geometry":  {unreadable, []string{"key", "k-geometry"}, []string{"group 1", "mutation 1", "geometry of the state cannot be read", "element pos"}},
		"empty":     {nil, nil, []string{"Choose a file that is not empty."}},
		"no format": {[]byte("<x/>"), nil, []string{"What is wrong with the file"}},
		"gone":      {gone, []string{"key", "k-gone"}, []string{"group 2", "dead-was", "1 group before it is in"}},
		"initial":   {initial, []string{"key", "k-initial"}, []string{"The dataset is not empty"}},
		"other":     {sound, []string{"key", "k1"}, []string{"another file"}},
		"cut":       {sound[:len(sound)/2], []string{"key", "k-cut"}, []string{"File: "}},
	} {
		answer := b.uploadFile(path, "file", "x.zip", tt.file, tt.pairs...)
		page := text(answer)
		if answer.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%s: status %d", name, answer.StatusCode)
		}
		for _, w := range tt.words {
			if !strings.Contains(page, w) {
				t.Errorf("%s: the page lacks %q", name, w)
			}
		}
	}
	wantStatus(t, b.post(path, nil), http.StatusUnsupportedMediaType)
	wantStatus(t, b.uploadFile("/admin/datasets/none/import", "file", "x.zip", sound), http.StatusNotFound)

	answer := b.uploadFile(path, "file", "x.zip", initial, "key", "k-replace", "replace", "All was measured anew.")
	wantStatus(t, answer, http.StatusSeeOther)
	wantWords(t, text(b.get("/admin/datasets/houses")), "All was measured anew.")
	trail := text(b.get("/admin/audit?action=dataset.history-replaced"))
	wantWords(t, trail, "replaced the whole history of dataset", "All was measured anew.")
	page := text(b.get(answer.Header.Get("Location")))
	wantWords(t, page, "Initial state", "x.zip", "1 added", "Done")
	again := b.uploadFile(path, "file", "x.zip", initial, "key", "k-replace", "replace", "All was measured anew.")
	wantStatus(t, again, http.StatusSeeOther)
	wantWords(t, text(b.get(again.Header.Get("Location"))), "nothing was taken in twice")
	wantStatus(t, b.post(answer.Header.Get("Location")+"/cancel", nil), http.StatusSeeOther)
	wantWords(t, text(b.get(answer.Header.Get("Location"))), "does not run any more")
	wantWords(t, text(b.get("/admin/datasets/houses/publications?status=failed")), "Failed", "x.zip")
	wantWords(t, text(b.get("/admin/datasets/houses/publications?status=cancelled")), "Nothing matches this filter.")
}

// Pages of administrators about datasets are theirs alone.
func TestDatasetPagesAreGuarded(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	admin := h.browser().login(t, testEmail)
	h.withHouses(t, admin)
	partner, _ := h.at(t, "pat@example.nl")
	for _, path := range []string{"", "/new", "/houses", "/houses/edit", "/houses/import", "/houses/deltas", "/houses/followers", "/houses/publications"} {
		wantStatus(t, partner.get("/admin/datasets"+path), http.StatusForbidden)
		wantStatus(t, h.browser().get("/admin/datasets"+path), http.StatusSeeOther)
		wantStatus(t, admin.get("/admin/datasets"+path), http.StatusOK)
	}
	for _, path := range []string{"/houses/edit", "/houses/deltas", "/houses/snapshots", "/houses/lineage", "/houses/end", "/houses/import"} {
		wantStatus(t, partner.post("/admin/datasets"+path, url.Values{"reason": {"because"}}), http.StatusForbidden)
	}
	for _, path := range []string{"/none", "/houses/areas/none", "/houses/publications/none", "/houses/deltas/none/content", "/houses/snapshots/none/content", "/none/deltas/x/content"} {
		wantStatus(t, admin.get("/admin/datasets"+path), http.StatusNotFound)
	}
	if rows, _, err := h.db.Datasets(t.Context(), store.DatasetFilter{}); err != nil || len(rows) != 1 || rows[0].Status != store.DatasetActive {
		t.Errorf("datasets %v, %v", rows, err)
	}
}

// follows has a partner follow the houses, and gives addresses of its pages and files.
func (d *portalHarness) follows(t *testing.T, admin, b *browser) (sub string, files []string) {
	t.Helper()
	wantRedirect(t, b.uploadFile("/partner/datasets/houses/subscribe", "areaFile", "", nil, subscribePairs()...), "/partner/datasets/houses")
	sub = idOf(match(t, `/partner/subscriptions/sub_\w+`, text(b.get("/partner/datasets/houses"))))
	wantStatus(t, admin.post("/admin/subscriptions/"+sub+"/approve", nil), http.StatusSeeOther)
	d.deliver(t)
	page := text(b.get("/partner/datasets/houses"))
	return sub, []string{
		match(t, `/partner/datasets/houses/subscriptions/sub_\w+/deltas/[-0-9a-f]+/content`, page),
		match(t, `/partner/datasets/houses/subscriptions/sub_\w+/snapshots/[-0-9a-f]+/content`, page),
	}
}

// What is suspended, paused or ended sends no file to a person either, and comes back when it goes on; another partner gets
// nothing at any time.
func TestDatasetFilesAreForWhoMayRead(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	admin := h.browser().login(t, testEmail)
	h.withHouses(t, admin)
	b, who := h.at(t, "pat@example.nl")
	stranger, _ := h.at(t, "eve@example.nl")
	sub, files := h.follows(t, admin, b)
	row := must(h.db.Subscription(t.Context(), sub))(t)
	sends := func(what string, want bool) {
		t.Helper()
		for _, file := range files {
			a := b.get(file)
			_, _ = io.Copy(io.Discard, a.Body)
			if got := a.StatusCode == http.StatusOK; got != want {
				t.Errorf("%s: %s answers %d", what, file, a.StatusCode)
			}
			wantStatus(t, stranger.get(file), http.StatusNotFound)
		}
		wantStatus(t, b.get("/partner/datasets/houses"), http.StatusOK)
		wantStatus(t, admin.get("/admin/datasets/houses"), http.StatusOK)
	}
	system := registry.SystemActor()
	sends("approved", true)
	for _, step := range []struct {
		what         string
		stop, resume func() error
	}{
		{"partner suspended", func() error { return h.reg.Partners.Suspend(t.Context(), system, who.PartnerID, "because") }, func() error { return h.reg.Partners.Resume(t.Context(), system, who.PartnerID) }},
		{"subscription suspended", func() error { return h.reg.Subscriptions.Suspend(t.Context(), system, sub, "because") }, func() error { return h.reg.Subscriptions.Resume(t.Context(), system, sub) }},
		{"subscription paused", func() error { return h.reg.Subscriptions.Pause(t.Context(), system, sub, "") }, func() error { return h.reg.Subscriptions.Unpause(t.Context(), system, sub) }},
		{"endpoint paused", func() error { return h.reg.Endpoints.Pause(t.Context(), system, row.EndpointID, "") }, func() error { return h.reg.Endpoints.Resume(t.Context(), system, row.EndpointID) }},
	} {
		noError(t, step.stop())
		sends(step.what, false)
		noError(t, step.resume())
		sends(step.what+" no more", true)
	}
	failed := store.MutationDownload{ID: "d1", DatasetID: "houses", PartnerID: who.PartnerID, SubscriptionID: sub, DeltaID: "x", Lineage: "y", Status: store.MutationFailed, Error: "its area is odd"}
	noError(t, h.db.Write(t.Context(), func(tx *store.Tx) error { return tx.InsertMutationDownload(t.Context(), &failed) }))
	wantWords(t, text(admin.get("/admin/datasets")), "1 download failed")
	wantWords(t, text(admin.get("/admin/datasets/houses")), "A file failed: its area is odd", "Others get theirs.")
	noError(t, h.db.Write(t.Context(), func(tx *store.Tx) error { return tx.ExpireMutationDownload(t.Context(), "d1") }))
	lacks(t, text(admin.get("/admin/datasets"))+text(admin.get("/admin/datasets/houses")), "failed")
	noError(t, h.reg.Datasets.End(t.Context(), system, "houses", "It moved."))
	sends("dataset ended", true)
	wantWords(t, text(b.get("/partner/datasets/houses")), "This dataset ended at", "It moved.", "those who followed it can fetch what was cut")
	wantWords(t, text(b.get("/partner/datasets")), "Houses of Deventer", "Ended")
	lacks(t, text(b.get("/partner/subscriptions/"+sub)), "Change the area or the object types")
	lacks(t, text(stranger.get("/partner/datasets")), "Houses of Deventer")
	noError(t, h.reg.Endpoints.End(t.Context(), system, row.EndpointID, ""))
	sends("endpoint ended", false)
}

// Nothing of datasets changes by a request from another site.
func TestDatasetFormsOfAnotherSite(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	admin := h.browser().login(t, testEmail)
	h.withHouses(t, admin)
	admin.header.Set("Sec-Fetch-Site", "cross-site")
	admin.header.Set("Origin", "https://evil.example")
	for _, path := range []string{"", "/houses/edit", "/houses/deltas", "/houses/snapshots", "/houses/lineage", "/houses/end", "/houses/import", "/houses/publications/none/cancel"} {
		wantStatus(t, admin.post("/admin/datasets"+path, url.Values{"reason": {"because"}}), http.StatusForbidden)
	}
	if set, err := h.db.Dataset(t.Context(), "houses"); err != nil || set.Status != store.DatasetActive || !set.DeltaAskedAt.IsZero() {
		t.Errorf("the dataset is %+v, %v", set, err)
	}
}
