package web

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"schakel/registry"
	"schakel/store"
)

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
	admin := h.browser()
	admin.login(t, testEmail)
	h.withHouses(t, admin)
	b, who := h.at(t, "pat@example.nl")
	stranger, _ := h.at(t, "eve@example.nl")
	sub, files := h.follows(t, admin, b)
	row, err := h.db.Subscription(t.Context(), sub)
	noError(t, err)
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
	if page := text(admin.get("/admin/datasets")) + text(admin.get("/admin/datasets/houses")); strings.Contains(page, "failed") {
		t.Error("a failed file that is gone is still told")
	}
	noError(t, h.reg.Datasets.End(t.Context(), system, "houses", "It moved."))
	sends("dataset ended", true)
	wantWords(t, text(b.get("/partner/datasets/houses")), "This dataset ended at", "It moved.", "those who followed it can fetch what was cut")
	wantWords(t, text(b.get("/partner/datasets")), "Houses of Deventer", "Ended")
	if page := text(b.get("/partner/subscriptions/" + sub)); strings.Contains(page, "Change the area or the object types") {
		t.Error("the area of a dataset that ended can be changed")
	}
	if page := text(stranger.get("/partner/datasets")); strings.Contains(page, "Houses of Deventer") {
		t.Error("a dataset that ended can still be followed")
	}
	noError(t, h.reg.Endpoints.End(t.Context(), system, row.EndpointID, ""))
	sends("endpoint ended", false)
}

// Nothing of datasets changes by a request from another site.
func TestDatasetFormsOfAnotherSite(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	admin := h.browser()
	admin.login(t, testEmail)
	h.withHouses(t, admin)
	admin.header.Set("Sec-Fetch-Site", "cross-site")
	admin.header.Set("Origin", "https://evil.example")
	for _, path := range []string{"", "/houses/edit", "/houses/deltas", "/houses/snapshots", "/houses/lineage", "/houses/end", "/houses/import", "/houses/publications/none/cancel"} {
		a := admin.post("/admin/datasets"+path, url.Values{"reason": {"because"}})
		wantStatus(t, a, http.StatusForbidden)
	}
	if set, err := h.db.Dataset(t.Context(), "houses"); err != nil || set.Status != store.DatasetActive || !set.DeltaAskedAt.IsZero() {
		t.Errorf("the dataset is %+v, %v", set, err)
	}
}
