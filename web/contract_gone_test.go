package web

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"schakel/registry"
	"schakel/registry/contracts"
	webcontracts "schakel/web/contracts"
)

// A withdrawn version answers 410 with its reason, in all its forms, also when the contract has no other version; who could
// not see the contract is not told. Any site may read public contracts, also the refusals.
//
// Rules: EDU-06b, EDU-06e
func TestWithdrawnVersionIsGone(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	writer := h.writer(t)
	publishedContract(t, writer, "public")
	target := contractTarget + "/versions/1.0.0"
	forms := []string{"", "/original", "/content", "/content.json", "/content.yaml"}
	for _, form := range forms {
		if answer := h.anyone().get(t, target+form).want(t, 200); answer.header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: no other site may read it", form)
		}
	}
	for _, path := range []string{"/registry/v1/contracts", contractTarget, contractTarget + "/versions", contractTarget + "/releases", "/.well-known/api-catalog"} {
		if answer := h.anyone().get(t, path).want(t, 200); answer.header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: no other site may read it", path)
		}
	}
	writer.do(t, http.MethodPost, target+"/withdrawal", `{"reason":"It leaked."}`, "Content-Type", "application/json").want(t, 200)
	for _, form := range forms {
		p := h.anyone().get(t, target+form).problem(t, http.StatusGone, registry.CodeGone)
		if !strings.Contains(p.Detail, "It leaked.") {
			t.Errorf("%s: %s", form, p.Detail)
		}
	}
	for _, form := range forms[1:] {
		writer.get(t, target+form).problem(t, http.StatusGone, registry.CodeGone)
	}
	writer.get(t, target).want(t, 200) // who maintains it sees what became of it
	h.anyone().get(t, contractTarget+"/versions/9.9.9").problem(t, http.StatusNotFound, "not-found")
	writer.do(t, http.MethodPut, contractTarget+"/visibility", `{"visibility":"internal","acceptLoss":true,"reason":"It leaked."}`, "Content-Type", "application/json").want(t, 200)
	h.anyone().get(t, target+"/original").problem(t, http.StatusNotFound, "not-found")
}

// The page of a withdrawn version says so.
func TestWithdrawnVersionPageIsGone(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	_, err := o.reg.Contracts.Withdraw(t.Context(), registry.SystemActor(), "student-events", "1.0.0", "It was wrong.")
	noError(t, err)
	page := o.browser().get("/contracts/student-events/versions/1.0.0")
	wantStatus(t, page, http.StatusGone)
	wantText(t, text(page), "withdrawn", "It was wrong.")
	wantStatus(t, o.browser().get("/contracts/student-events/versions/1.0.0/original"), http.StatusGone)
}

// Versions with reserved characters are found however a client encodes them, and our own addresses lead to them.
//
// Rules: EDU-06e
func TestEncodedPaths(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	writer := h.writer(t)
	writer.postJSON(t, "/registry/v1/contracts", `{"id":"student-events","kind":"asyncapi","title":"Student events","visibility":"public"}`).want(t, 201)
	document := strings.Replace(sampleContract, "version: 1.0.0", "version: 1.0.0+build.5", 1)
	location := upload(t, writer, document).want(t, 201).header.Get("Location")
	writer.publishVersion(t, location, "").want(t, 200)
	for _, version := range []string{"1.0.0+build.5", "1.0.0%2Bbuild.5", "1.0.0%2bbuild%2E5", "%31.0.0%2Bbuild.5"} {
		target := "/registry/v1/contracts/student%2Devents/versions/" + version + "/original"
		if got := h.anyone().get(t, target).want(t, 200); string(got.body) != document {
			t.Errorf("%s: %s", version, got.body)
		}
	}
	h.anyone().get(t, contractTarget+"/versions/1.0.0%2Fbuild").problem(t, http.StatusNotFound, "not-found")
	var releases webcontracts.ReleasesAnswer
	h.anyone().get(t, contractTarget+"/releases").want(t, 200).decode(t, &releases)
	at, err := url.Parse(releases.Releases[0].ChangelogURL)
	noError(t, err)
	if at.Path != "/contracts/student-events/versions/1.0.0+build.5" {
		t.Errorf("changelog at %s", at)
	}
}

// A long feed has pages, which together hold each version once (RFC 5005).
//
// Rules: EDU-N06
func TestFeedHasPages(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	const more = 120
	for i := range more {
		version := fmt.Sprintf("1.0.%d", i+1)
		_, err := o.reg.Contracts.Upload(t.Context(), registry.SystemActor(), "student-events", contracts.Upload{Version: version, Content: []byte(sampleContract)})
		noError(t, err)
		_, err = publishDraft(t.Context(), o.reg, registry.SystemActor(), "student-events", version, "")
		noError(t, err)
	}
	for _, target := range []string{"/contracts/student-events/feed.atom", "/contracts/feed.atom"} {
		seen := map[string]bool{}
		next, pages, id := target, 0, ""
		for next != "" {
			answer := o.browser().get(next)
			wantStatus(t, answer, http.StatusOK)
			var feed webcontracts.AtomFeed
			noError(t, xml.Unmarshal([]byte(text(answer)), &feed))
			if id = feed.ID; pages > 0 && id != feed.ID {
				t.Errorf("page %d is another feed: %s", pages, feed.ID)
			}
			for _, e := range feed.Entries {
				if seen[e.ID] {
					t.Errorf("%s is there twice", e.ID)
				}
				seen[e.ID] = true
			}
			next, pages = "", pages+1
			for _, l := range feed.Links {
				if l.Rel == "next" {
					at, err := url.Parse(l.Href)
					noError(t, err)
					next = at.RequestURI()
				}
			}
		}
		if pages != 3 || len(seen) != more+1 {
			t.Errorf("%s: %d pages with %d entries", target, pages, len(seen))
		}
		wantStatus(t, o.browser().get(target+"?page=4"), http.StatusNotFound)
	}
}

// The overview counts the publications that wait for approval, as the page behind the tile lists them.
//
// Rules: EDU-22
func TestRequestedPublicationsWaitOnTheOverview(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	owner := o.asPartner(t)
	owner.post("/partner/contracts", url.Values{"id": {"grade-events"}, "kind": {"asyncapi"}, "title": {"Grades"}, "visibility": {"partners"}})
	owner.upload(t, "/partner/contracts/grade-events/versions", nil, "grades.yaml", []byte(strings.ReplaceAll(sampleContract, "student.", "grade.")))
	v, err := o.db.ContractVersion(t.Context(), "grade-events", "1.0.0")
	noError(t, err)
	if strings.Contains(o.page(t, "/admin"), "wait for you") {
		t.Error("something waits before it was asked for")
	}
	owner.post("/partner/contracts/grade-events/versions/1.0.0/publication", url.Values{"digest": {v.Digest}})
	wantText(t, o.page(t, "/admin"), "Publications", `href="/contracts#requested"`, "wait for you")
	wantText(t, o.page(t, "/contracts"), `id="requested"`, "1 version")
}
