package web

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"schakel/delivery/mutation/export"
	"schakel/delivery/mutation/format"
	"schakel/store"
)

// signOf finds the signs of a kind on a map, as path data.
func signOf(page, sign string) string {
	found := regexp.MustCompile(`schakel-map__sign--` + sign + `" d="([^"]+)"`).FindStringSubmatch(page)
	if found == nil {
		return ""
	}
	return found[1]
}

// newestDelta finds the address of the page of the newest delta on a page that lists it first.
func newestDelta(t *testing.T, page string) string {
	t.Helper()
	found := regexp.MustCompile(`href="(/[a-z]+/datasets/houses/(?:subscriptions/\w+/)?deltas/[-0-9a-f]{36,})"`).FindAllStringSubmatch(page, -1)
	if len(found) == 0 {
		t.Fatal("the page leads to no delta")
	}
	return found[0][1]
}

// The page of a delta shows on the map and in a table which objects were added, changed and deleted: to an administrator all
// of them, to a partner those of its area, and to nobody the id of a state.
//
// Rules: MUT-18, MUT-42.
func TestDeltaOnMap(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	admin := h.browser().login(t, testEmail)
	h.withHouses(t, admin)
	b, _ := h.at(t, "pat@example.nl")
	wantRedirect(t, b.uploadFile("/partner/datasets/houses/subscribe", "areaFile", "", nil, subscribePairs()...), "/partner/datasets/houses")
	sub := idOf(match(t, `/partner/subscriptions/sub_\w+`, text(b.get("/partner/datasets/houses"))))
	wantStatus(t, admin.post("/admin/subscriptions/"+sub+"/approve", nil), http.StatusSeeOther)
	h.deliver(t)
	one, two, three, four := houseState(t, "s-one", 1, 207000, 474000), houseState(t, "s-two", 2, 209000, 474000), houseState(t, "s-three", 3, 207500, 474500), houseState(t, "s-four", 4, 207600, 474500)
	zip := housesZip(t, format.Delta,
		format.Mutation{ObjectID: "1", Was: one, Wordt: houseState(t, "s-one-b", 1, 207300, 474300)}, format.Mutation{ObjectID: "2", Was: two},
		format.Mutation{ObjectID: "3", Wordt: three}, format.Mutation{ObjectID: "4", Wordt: four}, format.Mutation{ObjectID: "4", Was: four})
	wantStatus(t, admin.uploadFile("/admin/datasets/houses/import", "file", "more.zip", zip, "key", "k2"), http.StatusSeeOther)
	h.deliver(t)

	page := text(admin.get(newestDelta(t, text(admin.get("/admin/datasets/houses")))))
	wantWords(t, page, "Delta 2", "2 added, 1 changed, 2 deleted", "1 added, 1 changed, 1 deleted · Came and went (1)", "These 5 versions are of 4 objects", "Added (1)", "Changed (1)", "Deleted (1)", "Came and went", "x 207,305 and y 474,305", "x 209,005 and y 474,005", "4 objects", "Deventer")
	for sign, shape := range map[string]string{"added": "h10m-5-5v10", "changed": "l5 9h-10z", "deleted": "l8 8m0-8l-8 8"} {
		if got := signOf(page, sign); strings.Count(got, shape) != 1 || strings.Count(got, "M") != 1 {
			t.Errorf("signs of what was %s: %q", sign, got)
		}
	}
	own := text(b.get(newestDelta(t, text(b.get("/partner/datasets/houses")))))
	wantWords(t, own, "Delta 2", "2 added, 1 changed, 1 deleted", "Added (1)", "Changed (1)", "3 objects")
	lacks(t, own, "Deleted (1)", "209,005")
	for _, id := range []string{"s-one", "s-two", "s-three", "s-four"} {
		if strings.Contains(page, id) || strings.Contains(own, id) {
			t.Errorf("a page shows the id %s of a state", id)
		}
	}
	set := must(h.db.Dataset(t.Context(), "houses"))(t)
	states := h.db.OpenStates(set, set.LastSeq)
	for s, err := states.Next(t.Context()); err == nil; s, err = states.Next(t.Context()) {
		if strings.Contains(page, s.ID) || strings.Contains(own, s.ID) {
			t.Errorf("a page shows the id %s of a state", s.ID)
		}
	}
	other, _ := h.at(t, "other@example.nl")
	wantStatus(t, other.get("/partner/datasets/houses/subscriptions/"+sub+"/deltas/x"), http.StatusNotFound)
	wantStatus(t, admin.get("/admin/datasets/houses/deltas/none"), http.StatusNotFound)
}

// A delta with very many objects shows the first of them, and says so; one that changes nothing says that.
func TestLargeDeltaOnMap(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	b := h.browser().login(t, testEmail)
	wantStatus(t, b.post("/admin/datasets", housesForm()), http.StatusSeeOther)
	var many []format.Mutation
	for n := range 501 {
		many = append(many, format.Mutation{ObjectID: string(rune('a'+n%26)) + strings.Repeat("x", n/26), Wordt: houseState(t, fmt.Sprint("s-", n), n, 200000+20*n, 470000)})
	}
	wantStatus(t, b.uploadFile("/admin/datasets/houses/import", "file", "houses.zip", housesZip(t, format.Initial, many...), "key", "k1"), http.StatusSeeOther)
	path := func(d store.MutationDelta) string { return "/admin/datasets/houses/deltas/" + d.ID }
	page := text(b.get(path(must(h.exporter.MakeDelta(t.Context(), "houses", export.Options{}))(t))))
	wantWords(t, page, "501 added", "The map and the table show the first 500 objects.", "Added (500)", "500 objects", "page=2")
	wantWords(t, text(b.get(path(must(h.exporter.MakeDelta(t.Context(), "houses", export.Options{Empty: true}))(t)))), "This delta changes nothing.")
}

// A version that ends and the one that follows it are two versions of one object, which changed: the page tells so.
func TestDeltaOfSeveralVersions(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	b := h.browser().login(t, testEmail)
	h.withHouses(t, b)
	h.deliver(t)
	one := houseState(t, "s-one", 1, 207000, 474000)
	zip := housesZip(t, format.Delta, format.Mutation{ObjectID: "1", Was: one, Wordt: houseState(t, "s-ended", 1, 207000, 474000)}, format.Mutation{ObjectID: "1", Wordt: houseState(t, "s-next", 1, 207100, 474100)})
	wantStatus(t, b.uploadFile("/admin/datasets/houses/import", "file", "more.zip", zip, "key", "k2"), http.StatusSeeOther)
	h.deliver(t)
	page := text(b.get(newestDelta(t, text(b.get("/admin/datasets/houses")))))
	wantWords(t, page, "1 added, 1 changed, 0 deleted", "0 added, 1 changed, 0 deleted", "These 2 versions are of 1 object.", "Changed (1)")
	lacks(t, page, "Added (")
}
