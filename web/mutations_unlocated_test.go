package web

import (
	"net/http"
	"strings"
	"testing"

	"schakel/delivery/mutation/format"
	webdatasets "schakel/web/datasets"
)

// A version without geometry, in a dataset whose followers choose an area, is taken in with a warning: the receipt, and what is told
// of the publication later, count such versions and name the first.
//
// Rules: MUT-42.
func TestUnlocatedIsToldToThePublisher(t *testing.T) {
	t.Parallel()
	w := newMutationWorld(t)
	body := `{"groups":[{"mutations":[{"objectType":"` + w.groups(1)[0].Mutations[0].Type() + `","objectId":"7","wordt":{"id":"x","xml":"<a/>"}}]}]}`
	sent := w.send(t, groupsPath, "application/json", freshKey(), []byte(body)).want(t, 201)
	for _, answer := range []apiAnswer{sent, w.publisher.get(t, sent.header.Get("Location")).want(t, 200)} {
		var got webdatasets.PublicationAnswer
		answer.decode(t, &got)
		if got.Unlocated == nil || got.Unlocated.Versions != 1 || !strings.HasSuffix(got.Unlocated.First, "group 1, mutation 1, object 7: no geometry") {
			t.Errorf("%s", answer.body)
		}
	}
	body = strings.Replace(strings.Replace(body, `"id":"x"`, `"id":"y"`, 1), "<a/>", `<a><gml:Point xmlns:gml='http://www.opengis.net/gml/3.2'><gml:pos>155000 463000</gml:pos></gml:Point></a>`, 1)
	if fine := w.send(t, groupsPath, "application/json", freshKey(), []byte(body)).want(t, 201); strings.Contains(string(fine.body), "unlocated") {
		t.Errorf("%s", fine.body)
	}
}

// The page of a publication, and the list, tell of versions that lie in no area.
//
// Rules: MUT-42.
func TestUnlocatedIsToldOnThePage(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	b := h.browser()
	b.login(t, testEmail)
	wantStatus(t, b.post("/admin/datasets", housesForm()), http.StatusSeeOther)
	nowhere := houseState(t, "s-two", 2, 0, 0)
	nowhere.XML = []byte(`<h:House><h:number>2</h:number><h:at><gml:Blob/></h:at></h:House>`)
	zip := housesZip(t, format.Initial,
		format.Mutation{ObjectID: "1", Wordt: houseState(t, "s-one", 1, 207000, 474000)}, format.Mutation{ObjectID: "2", Wordt: nowhere})
	answer := b.uploadFile("/admin/datasets/houses/import", "file", "houses.zip", zip, "key", "k1")
	wantStatus(t, answer, http.StatusSeeOther)
	wantWords(t, text(b.get(answer.Header.Get("Location"))), "1 version of an object was taken in and lies in no area: followers who chose an area do not get it.", "object 2: no geometry that is known (gml:Blob is not).")
	wantWords(t, text(b.get("/admin/datasets/houses/publications")), "1 in no area")
}
