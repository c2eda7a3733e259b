package web

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/registry/identity"
	"schakel/store"
	"schakel/store/needs"
	webcontracts "schakel/web/contracts"
)

// An administrator changes who sees a contract with a reason, and is warned who
// loses sight.
//
// Rules: EDU-06d.
func TestVisibilityPage(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	o.setVisibility(t, "student-events", store.VisibilityPublic)
	target := "/admin/contracts/student-events/visibility"
	wantWords(t, o.page(t, "/contracts/student-events"), "Change who sees it", target)
	wantWords(t, o.page(t, target), "Now it is shown to: Everybody", o.partner.Name)
	for field, form := range map[string]url.Values{
		"visibility": {"visibility": {"all"}, "reason": {"It leaked."}},
		"partners":   {"visibility": {"named"}, "reason": {"It leaked."}},
		"reason":     {"visibility": {"internal"}},
	} {
		wantPage(t, o.admin.post(target, form), http.StatusUnprocessableEntity, `href="#`+field)
	}
	form := url.Values{"visibility": {"internal"}, "reason": {"It leaked."}}
	wantPage(t, o.admin.post(target, form), http.StatusConflict, "Visitors without an account would not see it any more", "Who would not see it any more", "/admin/partners/"+o.partner.ID, `name="accept"`, "It leaked.")
	form.Set("accept", "on")
	wantRedirect(t, o.admin.post(target, form), "/contracts/student-events")
	wantWords(t, o.page(t, "/contracts/student-events"), "Own organisation only", "from public to internal: “It leaked.”")

	named := url.Values{"visibility": {"named"}, "partners": {o.partner.ID}, "reason": {"The pilot begins."}}
	wantRedirect(t, o.admin.post(target, named), "/contracts/student-events")
	wantWords(t, o.page(t, "/contracts/student-events"), "Some partners: "+o.partner.Name)
	wantStatus(t, o.asPartner(t).get("/contracts/student-events"), http.StatusOK)
	o.harness.partner(t, "zus@zuid.example")
	other := o.browser().login(t, "zus@zuid.example")
	for _, path := range []string{"/contracts/student-events", "/contracts/student-events/versions/1.0.0/reading", "/event-types/" + officeType} {
		wantStatus(t, other.get(path), http.StatusNotFound)
	}
	// As for a contract that is not there: a feed reader is asked for a key.
	for _, id := range []string{"student-events", "none"} {
		wantStatus(t, o.browser().get("/contracts/"+id+"/feed.atom"), http.StatusUnauthorized)
	}
	wantStatus(t, o.asPartner(t).post(target, named), http.StatusForbidden)
	wantStatus(t, o.admin.get("/admin/contracts/none/visibility"), http.StatusNotFound)
}

// A partner makes a contract, uploads, mends and asks for publication; an
// administrator turns it down and publishes it. Others see and do nothing.
//
// Rules: EDU-21, EDU-22.
func TestPartnerContractInThePortal(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	owner := o.asPartner(t)
	wantWords(t, text(owner.get("/contracts")), `href="/partner/contracts/new"`)
	form := text(owner.get("/partner/contracts/new"))
	wantWords(t, form, "What the id of an event is")
	lacks(t, form, `name="ownerPartner"`, `value="named"`, `name="agreement"`)
	wantRedirect(t, owner.post("/partner/contracts", url.Values{"id": {"grade-events"}, "kind": {"asyncapi"}, "title": {"Grades"}, "visibility": {"partners"}}), "/partner/contracts/grade-events/upload")
	document := strings.ReplaceAll(sampleContract, "student.", "grade.")
	here, base := "/contracts/grade-events/versions/1.0.0", "/partner/contracts/grade-events/versions"
	wantStatus(t, owner.upload(t, base, nil, "grades.yaml", []byte("asyncapi: 3.1.0\n")), http.StatusUnprocessableEntity)
	wantRedirect(t, owner.upload(t, base, nil, "grades.yaml", []byte(document)), here)
	wantWords(t, text(owner.get(here)), "Ask for its publication", "Delete this draft")
	wantWords(t, text(owner.get("/contracts?status=draft")), "Grades")
	base += "/1.0.0"
	wantWords(t, text(owner.get(base+"/publication")), "Ask for publication", "An administrator looks at it")
	version := must(o.db.ContractVersion(t.Context(), "grade-events", "1.0.0"))(t)
	digest := url.Values{"digest": {version.Digest}}
	wantRedirect(t, owner.post(base+"/publication", digest), here)
	wantWords(t, text(owner.get(here)), "asked for its publication", "No mail was sent")
	wantWords(t, o.page(t, "/contracts"), "Partners ask for publication", "Grades 1.0.0", o.partner.Name)
	wantWords(t, o.page(t, here), "asked for its publication", "Turn the publication down")

	o.harness.partner(t, "zus@zuid.example")
	other := o.browser().login(t, "zus@zuid.example")
	for _, path := range []string{"/partner/contracts/grade-events/edit", "/partner/contracts/grade-events/upload", base + "/publication", here, "/contracts/grade-events"} {
		wantStatus(t, other.get(path), http.StatusNotFound)
		wantStatus(t, owner.get(path), http.StatusOK)
	}
	for _, path := range []string{"/partner/contracts/grade-events", base + "/publication", base + "/deletion", base + "/deprecation", base + "/withdrawal"} {
		wantStatus(t, other.post(path, digest), http.StatusNotFound)
	}
	wantStatus(t, other.upload(t, "/partner/contracts/grade-events/versions", nil, "x.yaml", []byte(document)), http.StatusNotFound)
	wantStatus(t, owner.get("/partner/contracts/student-events/edit"), http.StatusNotFound)
	wantStatus(t, owner.get("/admin/contracts/grade-events/edit"), http.StatusForbidden)
	wantStatus(t, owner.post(base+"/refusal", url.Values{"reason": {"no"}}), http.StatusNotFound)

	refusal := "/admin/contracts/grade-events/versions/1.0.0/refusal"
	wantStatus(t, o.admin.post(refusal, url.Values{}), http.StatusUnprocessableEntity)
	wantRedirect(t, o.admin.post(refusal, url.Values{"reason": {"There is no example."}}), here)
	wantWords(t, text(owner.get(here)), "Ask for its publication")
	wantRedirect(t, owner.post(base+"/publication", digest), here)
	wantRedirect(t, o.admin.post("/admin/contracts/grade-events/versions/1.0.0/publication", digest), here)
	wantWords(t, text(owner.get(here)), "Deprecate this version", "Withdraw this version")
	wantStatus(t, other.get(here), http.StatusOK)
	wantRedirect(t, owner.post("/partner/contracts/grade-events", url.Values{"title": {"Marks"}}), "/contracts/grade-events")
	wantRedirect(t, owner.post(base+"/deprecation", url.Values{"sunset": {"2999-12-31"}}), here)
	wantRedirect(t, owner.post(base+"/undeprecation", url.Values{}), here)
}

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
		if !strings.Contains(string(p.Detail), "It leaked.") {
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
	must(o.reg.Contracts.Withdraw(t.Context(), registry.SystemActor(), "student-events", "1.0.0", "It was wrong."))(t)
	wantPage(t, o.browser().get("/contracts/student-events/versions/1.0.0"), http.StatusGone, "withdrawn", "It was wrong.")
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
	releases := decoded[webcontracts.ReleasesAnswer](t, h.anyone().get(t, contractTarget+"/releases").want(t, 200))
	at := must(url.Parse(releases.Releases[0].ChangelogURL))(t)
	if at.Path != "/contracts/student-events/versions/1.0.0+build.5" {
		t.Errorf("changelog at %s", at)
	}
}

// A long feed has pages, which together hold each version once (RFC 5005).
//
// Rules: EDU-N06
func TestFeedHasPages(t *testing.T) {
	needs.Unraced(t)
	t.Parallel()
	o := newAdminHarness(t)
	const more = 120
	for i := range more {
		version := fmt.Sprintf("1.0.%d", i+1)
		must(o.reg.Contracts.Upload(t.Context(), registry.SystemActor(), "student-events", contracts.Upload{Version: version, Content: []byte(sampleContract)}))(t)
		must(publishDraft(t.Context(), o.reg, registry.SystemActor(), "student-events", version, ""))(t)
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
					at := must(url.Parse(l.Href))(t)
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
	v := must(o.db.ContractVersion(t.Context(), "grade-events", "1.0.0"))(t)
	lacks(t, o.page(t, "/admin"), ">to handle<")
	owner.post("/partner/contracts/grade-events/versions/1.0.0/publication", url.Values{"digest": {v.Digest}})
	wantWords(t, o.page(t, "/admin"), "Publications", `href="/contracts#requested"`, ">to handle<")
	wantWords(t, o.page(t, "/contracts"), `id="requested"`, "1 version")
}

// Rules: EDU-N06.
func TestFeeds(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	target := "/contracts/student-events/feed.atom"
	o.setVisibility(t, "student-events", store.VisibilityPartners)
	wantStatus(t, o.browser().get(target), http.StatusUnauthorized)
	wantStatus(t, o.admin.get(target), http.StatusOK)
	o.setVisibility(t, "student-events", store.VisibilityPublic)
	must(o.reg.Contracts.Update(t.Context(), registry.SystemActor(), "student-events", contracts.ContractInput{Title: "Students & <events>"}))(t)
	o.secondVersion(t, "2.0.0") // a draft is not told
	for path, entries := range map[string]int{target: 1, "/contracts/feed.atom": 1} {
		answer := o.browser().get(path)
		wantStatus(t, answer, http.StatusOK)
		if media := answer.Header.Get("Content-Type"); !strings.HasPrefix(media, "application/atom+xml") {
			t.Errorf("%s is %s", path, media)
		}
		var feed webcontracts.AtomFeed
		noError(t, xml.Unmarshal([]byte(text(answer)), &feed))
		if len(feed.Entries) != entries || feed.ID == "" || feed.Updated != feed.Entries[0].Updated || feed.Author == "" ||
			feed.Entries[0].Title != "Students & <events> 1.0.0" || !strings.HasPrefix(feed.Entries[0].ID, "http") {
			t.Errorf("%s: %+v", path, feed)
		}
	}
	wantWords(t, text(o.browser().get("/contracts/student-events")), `type="application/atom+xml"`, target)
	wantWords(t, text(o.browser().get("/contracts")), `href="/contracts/feed.atom"`)
	must(publishDraft(t.Context(), o.reg, registry.SystemActor(), "student-events", "2.0.0", ""))(t)
	must(o.reg.Contracts.Withdraw(t.Context(), registry.SystemActor(), "student-events", "1.0.0", "It was wrong."))(t)
	feed := text(o.browser().get(target))
	if !strings.Contains(feed, "Version 1.0.0 is withdrawn. It was wrong.") || !strings.Contains(feed, `term="withdrawn"`) || !strings.Contains(feed, "2.0.0") {
		t.Errorf("the withdrawal is not told: %s", feed)
	}
	if all := text(o.browser().get("/contracts/feed.atom")); !strings.Contains(all, "Version 1.0.0 is withdrawn.") {
		t.Errorf("the feed of the register does not tell the withdrawal: %s", all)
	}
}

// A feed reader cannot log in: it sends a read-only key as its password, and gets
// what its partner may see. Who sends none is asked for one, also for what is not
// there.
//
// Rules: EDU-06e, EDU-N06.
func TestFeedsWithReadKey(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	target := "/contracts/student-events/feed.atom"
	o.setVisibility(t, "student-events", store.VisibilityPartners)
	o.secondVersion(t, "2.0.0") // a draft is not told
	key, plain, err := o.reg.ReadKeys.Create(t.Context(), registry.SystemActor(), o.partner.ID, identity.NewReadKey{Name: "Feed reader"})
	noError(t, err)
	ask := func(path, password string) *http.Response {
		t.Helper()
		b := o.browser()
		if password != "" {
			b.header.Set("Authorization", basicAuth("anyone", password))
		}
		return b.get(path)
	}
	for _, path := range []string{target, "/contracts/feed.atom?all", "/contracts/feed.atom"} {
		answer := ask(path, plain)
		wantStatus(t, answer, http.StatusOK)
		var feed webcontracts.AtomFeed
		noError(t, xml.Unmarshal([]byte(text(answer)), &feed))
		if len(feed.Entries) != 1 || answer.Header.Get("Cache-Control") != "private, no-cache" {
			t.Errorf("%s: %+v, %v", path, feed.Entries, answer.Header)
		}
	}
	for path, password := range map[string]string{
		target: "", "/contracts/not-there/feed.atom": "", "/contracts/feed.atom?all": "", "/contracts/feed.atom": plain + "x", target + "?x": "guess",
	} {
		answer := ask(path, password)
		wantStatus(t, answer, http.StatusUnauthorized)
		if !strings.HasPrefix(answer.Header.Get("WWW-Authenticate"), "Basic ") {
			t.Errorf("%s: %v", path, answer.Header)
		}
	}
	wantStatus(t, ask("/contracts/not-there/feed.atom", plain), http.StatusNotFound)
	o.setVisibility(t, "student-events", store.VisibilityInternal)
	wantStatus(t, ask(target, plain), http.StatusNotFound)
	noError(t, o.reg.ReadKeys.Revoke(t.Context(), registry.SystemActor(), key.ID, "it leaked"))
	wantStatus(t, ask("/contracts/feed.atom", plain), http.StatusUnauthorized)
}

// Who fetches a version over the API is told before it is withdrawn: clients and read-only keys by name, also when they
// are told that nothing changed, and others as a number.
//
// Rules: EDU-06c, EDU-06e.
func TestDownloadsOverTheAPI(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	writer := h.writer(t)
	publishedContract(t, writer, "public")
	partner := h.newPartner(t, "Reader")
	_, plain, err := h.reg.ReadKeys.Create(t.Context(), registry.SystemActor(), partner.ID, identity.NewReadKey{Name: "Renovate"})
	noError(t, err)
	target := contractTarget + "/versions/1.0.0/"
	tag := h.anyone().get(t, target+"original").want(t, 200).header.Get("ETag")
	h.anyone().get(t, target+"content.json").want(t, 200)
	h.anyone().do(t, http.MethodGet, target+"original", "", "If-None-Match", tag).want(t, http.StatusNotModified)
	h.anyone().do(t, http.MethodGet, target+"original", "", "Authorization", "Bearer "+plain, "If-None-Match", tag).want(t, http.StatusNotModified)
	h.consumer(t, partner.ID).get(t, target+"content").want(t, 200)
	noError(t, h.reg.Downloads.Write(t.Context()))
	var effect struct {
		Downloads                          []webcontracts.DownloadAnswer
		OtherDownloads, AnonymousDownloads int
	}
	noError(t, json.Unmarshal(writer.get(t, target+"withdrawal").want(t, 200).body, &effect))
	kinds := map[string]string{}
	for _, d := range effect.Downloads {
		kinds[d.Kind] = d.Partner
	}
	if len(effect.Downloads) != 2 || kinds["client"] != "Reader" || kinds["read-key"] != "Reader" || effect.AnonymousDownloads != 2 || effect.OtherDownloads != 0 {
		t.Errorf("%+v", effect)
	}
}

// The portal lists the downloaders of a version for its maintainer, and for nobody else.
//
// Rules: EDU-06c, EDU-06e.
func TestDownloadsInThePortal(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	o.setVisibility(t, "student-events", "public")
	here := "/contracts/student-events/versions/1.0.0"
	wantWords(t, o.page(t, here+"/reading"), "Who downloaded it: nobody yet")
	own := o.asPartner(t)
	wantStatus(t, own.get(here+"/original"), http.StatusOK)
	wantStatus(t, o.browser().get(here+"/yaml"), http.StatusOK)
	wantStatus(t, o.admin.get(here+"/json"), http.StatusOK)
	noError(t, o.reg.Downloads.Write(t.Context()))
	wantWords(t, o.page(t, here+"/reading"), "Who downloaded it: 1 known reader, and 1 anonymous download", o.partner.Name, "Person")
	wantWords(t, o.page(t, here), "downloaded by 1", "Who downloaded this version")
	for who, page := range map[string]string{"a partner": text(own.get(here + "/reading")), "a visitor": text(o.browser().get(here + "/reading"))} {
		if strings.Contains(page, "Who downloaded") || strings.Contains(page, "anonymous download") {
			t.Errorf("%s sees who downloaded it", who)
		}
	}
}

// A read-only key reads contracts as its partner, and opens nothing else.
//
// Rules: EDU-06e, EDU-N06.
func TestReadKeyReads(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	publishedContract(t, h.writer(t), "partners")
	partner := h.newPartner(t, "Reader")
	key, plain, err := h.reg.ReadKeys.Create(t.Context(), registry.SystemActor(), partner.ID, identity.NewReadKey{Name: "Renovate"})
	noError(t, err)
	for name, authorization := range map[string]string{"bearer": "Bearer " + plain, "basic": basicAuth("anyone", plain)} {
		for _, path := range []string{contractTarget, contractTarget + "/releases", contractTarget + "/versions/latest/original"} {
			if answer := h.anyone().do(t, http.MethodGet, path, "", "Authorization", authorization); answer.status != 200 {
				t.Errorf("%s: GET %s: %d %s", name, path, answer.status, answer.body)
			}
		}
		h.anyone().do(t, http.MethodPost, "/registry/v1/validations", sampleContract, "Authorization", authorization, "Content-Type", "text/yaml").want(t, 200)
	}
	h.anyone().get(t, contractTarget).problem(t, 404, "not-found")
	bearer := []string{"Authorization", "Bearer " + plain, "Content-Type", "application/json"}
	for path, method := range map[string]string{
		"/registry/v1/contracts": http.MethodPost, contractTarget: http.MethodPatch, contractTarget + "/versions/1.0.0/withdrawal": http.MethodPost,
		"/events/v1/events": http.MethodPost, "/events/v1/subscriptions": http.MethodGet, "/events/v1/event-types": http.MethodGet,
	} {
		h.anyone().do(t, method, path, "{}", bearer...).problem(t, 401, "token-invalid")
	}
	h.anyone().do(t, http.MethodGet, contractTarget, "", "Authorization", "Bearer "+plain+"x").problem(t, 401, "token-invalid")
	noError(t, h.reg.ReadKeys.Revoke(t.Context(), registry.SystemActor(), key.ID, "it leaked"))
	h.anyone().do(t, http.MethodGet, contractTarget, "", "Authorization", "Bearer "+plain).problem(t, 401, "token-invalid")
}

func TestReadKeyPages(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	b, pat := h.at(t, "pat@example.nl")
	wantWords(t, text(b.get("/partner/keys")), "There are no keys yet", "hostRules")
	wantStatus(t, b.post("/partner/keys", url.Values{"name": {"R"}, "expires": {"soon"}}), http.StatusUnprocessableEntity)
	page := wantPage(t, b.post("/partner/keys", url.Values{"name": {"Renovate"}, "expires": {""}}), http.StatusOK)
	plain := match(t, `schr_[\w-]+`, page)
	wantWords(t, page, "cannot be shown again", "Renovate", "until revoked", "never")
	if strings.Contains(text(b.get("/partner/keys")), plain) {
		t.Fatal("the key is shown twice")
	}
	keys := must(h.db.ReadKeys(t.Context(), pat.PartnerID))(t)
	revoke := "/partner/keys/" + keys[0].ID + "/revoke"
	other, _ := h.at(t, "sam@example.nl")
	wantStatus(t, other.post(revoke, url.Values{"reason": {"not mine"}}), http.StatusNotFound)
	wantStatus(t, b.post(revoke, url.Values{"reason": {""}}), http.StatusUnprocessableEntity)
	wantRedirect(t, b.post(revoke, url.Values{"reason": {"it leaked"}}), "/partner/keys")
	wantWords(t, text(b.get("/partner/keys")), "it leaked")
}
