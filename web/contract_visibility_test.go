package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"schakel/store"
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
	wantText(t, o.page(t, "/contracts/student-events"), "Change who sees it", target)
	wantText(t, o.page(t, target), "Now it is shown to: Everybody", o.partner.Name)
	for field, form := range map[string]url.Values{
		"visibility": {"visibility": {"all"}, "reason": {"It leaked."}},
		"partners":   {"visibility": {"named"}, "reason": {"It leaked."}},
		"reason":     {"visibility": {"internal"}},
	} {
		answer := o.admin.post(target, form)
		wantStatus(t, answer, http.StatusUnprocessableEntity)
		wantText(t, text(answer), `href="#`+field)
	}
	form := url.Values{"visibility": {"internal"}, "reason": {"It leaked."}}
	warned := o.admin.post(target, form)
	wantStatus(t, warned, http.StatusConflict)
	wantText(t, text(warned), "Visitors without an account would not see it any more", "Who would not see it any more", "/admin/partners/"+o.partner.ID, `name="accept"`, "It leaked.")
	form.Set("accept", "on")
	wantRedirect(t, o.admin.post(target, form), "/contracts/student-events")
	wantText(t, o.page(t, "/contracts/student-events"), "Own organisation only", "from public to internal: “It leaked.”")

	named := url.Values{"visibility": {"named"}, "partners": {o.partner.ID}, "reason": {"The pilot begins."}}
	wantRedirect(t, o.admin.post(target, named), "/contracts/student-events")
	wantText(t, o.page(t, "/contracts/student-events"), "Some partners: "+o.partner.Name)
	wantStatus(t, o.asPartner(t).get("/contracts/student-events"), http.StatusOK)
	o.harness.partner(t, "zus@zuid.example")
	other := o.browser()
	other.login(t, "zus@zuid.example")
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
	wantText(t, text(owner.get("/contracts")), `href="/partner/contracts/new"`)
	form := text(owner.get("/partner/contracts/new"))
	wantText(t, form, "What the id of an event is")
	for _, hidden := range []string{`name="ownerPartner"`, `value="named"`, `name="agreement"`} {
		if strings.Contains(form, hidden) {
			t.Errorf("a partner is asked for %s", hidden)
		}
	}
	wantRedirect(t, owner.post("/partner/contracts", url.Values{"id": {"grade-events"}, "kind": {"asyncapi"}, "title": {"Grades"}, "visibility": {"partners"}}), "/partner/contracts/grade-events/upload")
	document := strings.ReplaceAll(sampleContract, "student.", "grade.")
	here, base := "/contracts/grade-events/versions/1.0.0", "/partner/contracts/grade-events/versions"
	wantStatus(t, owner.upload(t, base, nil, "grades.yaml", []byte("asyncapi: 3.1.0\n")), http.StatusUnprocessableEntity)
	wantRedirect(t, owner.upload(t, base, nil, "grades.yaml", []byte(document)), here)
	wantText(t, text(owner.get(here)), "Ask for its publication", "Delete this draft")
	wantText(t, text(owner.get("/contracts?status=draft")), "Grades")
	base += "/1.0.0"
	wantText(t, text(owner.get(base+"/publication")), "Ask for publication", "An administrator looks at it")
	version, err := o.db.ContractVersion(t.Context(), "grade-events", "1.0.0")
	noError(t, err)
	digest := url.Values{"digest": {version.Digest}}
	wantRedirect(t, owner.post(base+"/publication", digest), here)
	wantText(t, text(owner.get(here)), "asked for its publication", "No mail was sent")
	wantText(t, o.page(t, "/contracts"), "Partners ask for publication", "Grades 1.0.0", o.partner.Name)
	wantText(t, o.page(t, here), "asked for its publication", "Turn the publication down")

	o.harness.partner(t, "zus@zuid.example")
	other := o.browser()
	other.login(t, "zus@zuid.example")
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
	wantText(t, text(owner.get(here)), "Ask for its publication")
	wantRedirect(t, owner.post(base+"/publication", digest), here)
	wantRedirect(t, o.admin.post("/admin/contracts/grade-events/versions/1.0.0/publication", digest), here)
	wantText(t, text(owner.get(here)), "Deprecate this version", "Withdraw this version")
	wantStatus(t, other.get(here), http.StatusOK)
	wantRedirect(t, owner.post("/partner/contracts/grade-events", url.Values{"title": {"Marks"}}), "/contracts/grade-events")
	wantRedirect(t, owner.post(base+"/deprecation", url.Values{"sunset": {"2999-12-31"}}), here)
	wantRedirect(t, owner.post(base+"/undeprecation", url.Values{}), here)
}
