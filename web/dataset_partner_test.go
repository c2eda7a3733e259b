package web

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"schakel/delivery/mutation/export"
	"schakel/registry"
	"schakel/store"
)

// deventer holds the first house of withHouses and not the second; it has a hole.
const deventer = "POLYGON((206000 473000,208000 473000,208000 475000,206000 475000,206000 473000),(206100 473100,206200 473100,206200 473200,206100 473100))"

// subscribePairs is a form that is right, without its file; pairs of name and value change it.
func subscribePairs(pairs ...string) []string {
	form := changed(url.Values{
		"purpose": {"To draw our own map."}, "name": {"Our houses"}, "newEndpoint": {"Our copy"}, "areaName": {"Deventer"}, "area": {deventer}, "areaCrs": {"0"}, "do": {"ask"},
	}, pairs...)
	var list []string
	for name, values := range form {
		list = append(list, name, values[0])
	}
	return list
}

// A partner asks for its area of a dataset and fetches what lies in it; no page of it has an id of a state.
//
// Rules: MUT-18, MUT-40, MUT-41, MUT-42.
func TestDatasetSubscription(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	admin := h.browser().login(t, testEmail)
	h.withHouses(t, admin)
	b, who := h.at(t, "pat@example.nl")
	wantWords(t, text(b.get("/partner/datasets")), "Houses of Deventer", "by a polygon", "none yet")
	wantWords(t, text(b.get("/partner/datasets?q=zzz")), "No dataset matches this filter.")
	wantWords(t, text(b.get("/partner/datasets/houses")), "You do not follow this dataset.", "Ask for a subscription")
	wantWords(t, text(b.get("/partner/datasets/houses/subscribe")), "You have no endpoint of kind files yet.", "Show it on the map first")

	page := text(b.uploadFile("/partner/datasets/houses/subscribe", "areaFile", "", nil, subscribePairs("do", "preview")...))
	wantWords(t, page, "The area as it would be used", "from x 206,000 to 208,000", "9 points", "Nothing is asked for yet.", `fill-rule="evenodd"`, "<title", "<desc")
	if n, err := h.reg.Endpoints.List(t.Context(), registry.ScopeOf(who.PartnerID), who.PartnerID); err != nil || len(n) != 0 {
		t.Errorf("a look at the map made an endpoint: %v, %v", n, err)
	}
	wantRedirect(t, b.uploadFile("/partner/datasets/houses/subscribe", "areaFile", "", nil, subscribePairs()...), "/partner/datasets/houses")
	page = text(b.get("/partner/datasets/houses"))
	wantWords(t, page, "Your request is sent: Our houses.", "Not approved yet", "waits for approval")
	sub := idOf(match(t, `/partner/subscriptions/sub_\w+`, page))
	wantWords(t, text(b.get("/partner/subscriptions/"+sub)), "Houses of Deventer", "Deventer", "Change the area or the object types")
	wantWords(t, text(b.get("/partner/subscriptions")), "Our houses", "Dataset houses")

	page = text(admin.get("/admin/subscriptions/" + sub))
	wantWords(t, page, "Houses of Deventer", "You decide on the dataset, the area and the object types.", "To draw our own map.", "from x 206,000 to 208,000")
	wantStatus(t, admin.post("/admin/subscriptions/"+sub+"/approve", nil), http.StatusSeeOther)
	h.deliver(t)
	page = text(b.get("/partner/datasets/houses"))
	wantWords(t, page, "schakel mutations follow", "http://schakel.example.nl/mutations/v1/datasets/houses", "Has not begun", "You have no client that may read mutations.")
	got := h.checkZip(t, b.get(match(t, `/partner/datasets/houses/subscriptions/sub_\w+/deltas/[-0-9a-f]+/content`, page)), 1)
	if got.Area == "" {
		t.Error("the delivery does not say its area")
	}
	h.checkZip(t, b.get(match(t, `/partner/datasets/houses/subscriptions/sub_\w+/snapshots/[-0-9a-f]+/content`, page)), 1)
	h.checkFollower(t, admin, b, sub)
	h.checkNoStateIDs(t, b, sub)
}

// deliver cuts a delta and a snapshot, and makes what subscribers get of them.
func (d *portalHarness) deliver(t *testing.T) store.MutationDelta {
	t.Helper()
	delta := must(d.exporter.MakeDelta(t.Context(), "houses", export.Options{Empty: true}))(t)
	must(d.exporter.Snapshot(t.Context(), "houses"))(t)
	followers := must(d.reg.Datasets.Followers(t.Context(), registry.Scope{All: true}, "houses"))(t)
	set := must(d.db.Dataset(t.Context(), "houses"))(t)
	for _, f := range followers {
		must(d.exporter.Latest(t.Context(), export.View{Dataset: set, PartnerID: f.Partner.ID, Follower: &f.Follower}))(t)
	}
	for more := true; more; {
		more = must(d.exporter.Work(t.Context()))(t)
	}
	return delta
}

// checkFollower has the copy fetch the first delta, and a second come behind it.
func (d *portalHarness) checkFollower(t *testing.T, admin, b *browser, sub string) {
	t.Helper()
	last := must(d.db.LastMutationDelta(t.Context(), "houses"))(t)
	follower := must(d.db.MutationFollower(t.Context(), sub))(t)
	noError(t, d.db.Write(t.Context(), func(tx *store.Tx) error { return tx.FollowedDelta(t.Context(), follower, last) }))
	wantWords(t, text(admin.get("/admin/datasets/houses")), "Up to date", "Areas of followers", "Areas of those who follow")
	must(d.exporter.MakeDelta(t.Context(), "houses", export.Options{Empty: true}))(t)
	for _, page := range []string{text(admin.get("/admin/datasets/houses/followers")), text(b.get("/partner/datasets/houses")), text(admin.get("/admin/datasets/houses/followers?status=approved"))} {
		wantWords(t, page, "1 delta behind", "Deventer")
	}
	wantWords(t, text(admin.get("/admin/datasets/houses/followers?status=paused")), "No follower matches this filter.")
}

// checkNoStateIDs looks at all pages of a partner about its dataset: those of its files belong on none of them.
func (d *portalHarness) checkNoStateIDs(t *testing.T, b *browser, sub string) {
	t.Helper()
	set := must(d.db.Dataset(t.Context(), "houses"))(t)
	states := d.db.OpenStates(set, set.LastSeq)
	var ids []string
	for {
		s, err := states.Next(t.Context())
		if err != nil {
			break
		}
		ids = append(ids, s.ID, s.SourceID)
	}
	if len(ids) != 4 {
		t.Fatalf("ids %q", ids)
	}
	base := "/partner/datasets/houses"
	for _, path := range []string{"/partner/datasets", base, base + "/subscribe", base + "/subscriptions/" + sub + "/area", base + "/subscriptions/" + sub + "/deltas", "/partner/subscriptions/" + sub} {
		page := text(b.get(path))
		for _, id := range ids {
			if strings.Contains(page, id) {
				t.Errorf("%s shows the id %s of a state", path, id)
			}
		}
	}
}

// What is wrong with a request is told at its field; an endpoint that was made stays.
func TestDatasetSubscriptionRefused(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	admin := h.browser().login(t, testEmail)
	h.withHouses(t, admin)
	b, _ := h.at(t, "pat@example.nl")
	const path = "/partner/datasets/houses/subscribe"
	for name, pairs := range map[string][]string{
		"purpose": {"purpose", ""}, "area": {"area", "POLYGON((0 0,1 1,0 1))"}, "areaCrs": {"areaCrs", "1"}, "newEndpoint": {"newEndpoint", ""},
	} {
		answer := b.uploadFile(path, "areaFile", "", nil, subscribePairs(pairs...)...)
		wantStatus(t, answer, http.StatusUnprocessableEntity)
		if page := text(answer); !strings.Contains(page, `href="#`+name+`"`) && name != "newEndpoint" {
			t.Errorf("%s: no error leads to the field", name)
		}
	}
	wantStatus(t, b.uploadFile(path, "areaFile", "", nil, subscribePairs("do", "preview", "area", "POLYGON((0 0,1 1,0 1))")...), http.StatusUnprocessableEntity)
	wantStatus(t, b.uploadFile(path, "areaFile", "", nil, subscribePairs("do", "preview", "area", "")...), http.StatusUnprocessableEntity)
	wantWords(t, text(b.get(path)), "Our copy", "Or make another one")
	wantStatus(t, b.post(path, url.Values{"purpose": {"x"}}), http.StatusUnsupportedMediaType)
	wantStatus(t, b.get("/partner/datasets/none"), http.StatusNotFound)
	wantStatus(t, b.uploadFile("/partner/datasets/none/subscribe", "areaFile", "", nil, subscribePairs()...), http.StatusNotFound)
	file := []byte(`{"type":"Polygon","coordinates":[[[6.1,52.2],[6.2,52.2],[6.2,52.3],[6.1,52.2]]]}`)
	wantStatus(t, b.uploadFile(path, "areaFile", "area.json", file, subscribePairs("area", "", "newEndpoint", "Another")...), http.StatusSeeOther)
}

// A changed area waits for approval and is another area; other partners see neither.
//
// Rules: MUT-41, MUT-49.
func TestDatasetAreaPages(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	admin := h.browser().login(t, testEmail)
	h.withHouses(t, admin)
	b, _ := h.at(t, "pat@example.nl")
	wantStatus(t, b.uploadFile("/partner/datasets/houses/subscribe", "areaFile", "", nil, subscribePairs()...), http.StatusSeeOther)
	page := text(b.get("/partner/datasets/houses"))
	sub := idOf(match(t, `/partner/subscriptions/sub_\w+`, page))
	area := match(t, `/partner/datasets/houses/areas/mar_\w+`, page)
	wantStatus(t, admin.post("/admin/subscriptions/"+sub+"/approve", nil), http.StatusSeeOther)
	wantWords(t, text(b.get(area)), "Deventer", "Download as WKT", "9", "EPSG:28992", "Squares of", "scale")
	wkt := text(b.get(area + "/wkt"))
	if again := text(b.get(area + "/wkt")); again != wkt || !regexp.MustCompile(`^(MULTI)?POLYGON ?\(`).MatchString(wkt) {
		t.Errorf("boundary %q, then %q", wkt, again)
	}
	wantWords(t, text(b.get(area+"/geojson")), `"type":"Feature"`, "coordinates")
	wantWords(t, text(admin.get(strings.Replace(area, "/partner", "/admin", 1))), "Partner of pat@example.nl", "Deventer")

	change := "/partner/datasets/houses/subscriptions/" + sub + "/area"
	wantWords(t, text(b.get(change)), "Another area is another history", "206000 473000", "Ask for this change")
	larger := strings.ReplaceAll(deventer, "208000", "210000")
	wantStatus(t, b.uploadFile(change, "areaFile", "", nil, "area", larger, "areaCrs", "0", "do", "preview"), http.StatusOK)
	wantStatus(t, b.uploadFile(change, "areaFile", "", nil, "area", "POINT(1 1)", "areaCrs", "0", "do", "ask"), http.StatusUnprocessableEntity)
	wantRedirect(t, b.uploadFile(change, "areaFile", "", nil, "area", larger, "areaCrs", "0", "areaName", "More", "do", "ask"), "/partner/datasets/houses")
	page = text(b.get("/partner/datasets/houses"))
	wantWords(t, page, "Your change is sent", "Not approved yet", "More", "Your change waits for approval. Until it is approved you get what you got before", "schakel mutations follow")
	if wkt != text(b.get(area+"/wkt")) {
		t.Error("the old area has changed")
	}
	decide := "/admin/subscriptions/" + sub
	seen := hiddenOf(t, text(admin.get(decide)), decide+"/approve")
	wantStatus(t, b.uploadFile(change, "areaFile", "", nil, "area", strings.ReplaceAll(deventer, "208000", "260000"), "areaCrs", "0", "do", "ask"), http.StatusSeeOther)
	shows(t, admin.post(decide+"/approve", seen), http.StatusConflict, "changed since you looked at it")
	wantStatus(t, admin.post(decide+"/approve", hiddenOf(t, text(admin.get(decide)), decide+"/approve")), http.StatusSeeOther)

	other, _ := h.at(t, "other@example.nl")
	for _, path := range []string{area, area + "/wkt", area + "/geojson", change, "/partner/datasets/houses/subscriptions/" + sub + "/deltas", "/partner/subscriptions/" + sub} {
		wantStatus(t, other.get(path), http.StatusNotFound)
	}
	wantStatus(t, other.uploadFile(change, "areaFile", "", nil, "area", larger), http.StatusNotFound)
	wantStatus(t, h.browser().get(area), http.StatusSeeOther)
	lacks(t, text(other.get("/partner/datasets/houses")), "Deventer (", sub)
}
