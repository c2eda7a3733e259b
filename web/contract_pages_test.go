package web

import (
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/registry/profile"
	"schakel/store"
	"schakel/store/needs"
	"schakel/web/site"
)

const otherContract = `asyncapi: 3.1.0
info: {title: Other, version: 1.0.0}
channels:
  students:
    address: students
    messages:
      taken: {name: nl.example.student.enrolled, payload: {type: object}}
operations:
  send: {action: send, channel: {$ref: '#/channels/students'}}
`

// An administrator makes a contract, uploads, publishes, deprecates and withdraws.
//
// Rules: EDU-06, EDU-06b.
func TestContractStory(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	form := url.Values{"id": {"grade-events"}, "kind": {"asyncapi"}, "title": {"Grades"}, "visibility": {"public"}, "description": {"All about\r\ngrades."}}
	wantRedirect(t, o.admin.post("/admin/contracts", form), "/admin/contracts/grade-events/upload")
	document := strings.ReplaceAll(sampleContract, "student.", "grade.")
	wantRedirect(t, o.admin.upload(t, "/admin/contracts/grade-events/versions", nil, "grades.yaml", []byte(document)), "/contracts/grade-events/versions/1.0.0")
	here, base := "/contracts/grade-events/versions/1.0.0", "/admin/contracts/grade-events/versions/1.0.0"
	wantWords(t, o.page(t, here), "This is a draft", "grades.yaml", "Delete this draft")
	wantStatus(t, o.browser().get(here), http.StatusNotFound)
	wantStatus(t, o.browser().get("/contracts/grade-events"), http.StatusNotFound)

	version := must(o.db.ContractVersion(t.Context(), "grade-events", "1.0.0"))(t)
	wantWords(t, o.page(t, base+"/publication"), "nl.example.grade.enrolled", "It joins the catalogue", version.Digest)
	wantPage(t, o.admin.post(base+"/publication", url.Values{"digest": {"another"}}), http.StatusPreconditionFailed, "was replaced since you looked")
	wantRedirect(t, o.admin.post(base+"/publication", url.Values{"digest": {version.Digest}}), here)
	wantRedirect(t, o.browser().get("/contracts/grade-events/versions/latest"), here)
	wantWords(t, o.page(t, base+"/publication"), "only a draft can be published")

	wantPage(t, o.admin.post(base+"/deprecation", url.Values{"sunset": {"2001-01-01"}}), http.StatusUnprocessableEntity, "Choose a day in the future.", `href="#sunset"`, `value="2001-01-01"`)
	wantPage(t, o.admin.post(base+"/deprecation", url.Values{"sunset": {"soon"}}), http.StatusUnprocessableEntity, "Write the day as")
	wantRedirect(t, o.admin.post(base+"/deprecation", url.Values{"sunset": {"2999-12-31"}, "reason": {"Use 2.0.0."}}), here)
	wantWords(t, o.page(t, here), "31 Dec 2999", "Use 2.0.0.", "Take the deprecation back")
	wantRedirect(t, o.admin.post(base+"/undeprecation", url.Values{}), here)
	wantWords(t, o.page(t, here), "Who is hit when this version is withdrawn", "There is no other version of these event types")
	wantStatus(t, o.admin.post(base+"/withdrawal", url.Values{}), http.StatusUnprocessableEntity)
	wantRedirect(t, o.admin.post(base+"/withdrawal", url.Values{"reason": {"It leaks names."}}), here)
	wantStatus(t, o.browser().get(here), http.StatusGone)
	wantWords(t, o.page(t, here), "It leaks names.")
}

func TestContractFormRefusals(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	for field, value := range map[string]string{
		"id": "Not Kebab", "kind": "wsdl", "title": "", "visibility": "all", "contactEmail": "nobody", "owner": strings.Repeat("x", 201),
		"classification": strings.Repeat("x", 201), "basedOn": "two\nlines",
	} {
		form := url.Values{"id": {"grade-events"}, "kind": {"openapi"}, "title": {"Kept title"}, "visibility": {"public"}}
		form.Set(field, value)
		page := wantPage(t, o.admin.post("/admin/contracts", form), http.StatusUnprocessableEntity, `href="#`+field+`"`)
		if field != "title" {
			wantWords(t, page, "Kept title")
		}
	}
	wantPage(t, o.admin.post("/admin/contracts", url.Values{"id": {"student-events"}, "kind": {"openapi"}, "title": {"Again"}, "visibility": {"public"}}), http.StatusConflict, "There is a contract with id student-events already.")
	wantStatus(t, o.admin.post("/admin/contracts/student-events", url.Values{"title": {""}, "visibility": {"public"}}), http.StatusUnprocessableEntity)
	good := url.Values{"title": {"Students"}, "ownerPartner": {o.partner.ID}, "agreedOn": {"2026-05-01"}, "idMeaning": {"A random UUID."}, "timeMeaning": {"When we wrote it down."}}
	wantPage(t, o.admin.post("/admin/contracts/student-events", good), http.StatusUnprocessableEntity, `href="#agreement"`, "Say who decided on the new owner.")
	good.Set("agreement", "Chain council")
	wantRedirect(t, o.admin.post("/admin/contracts/student-events", good), "/contracts/student-events")
	wantWords(t, o.page(t, "/contracts/student-events"), "Students", "Chain council, on 2026-05-01", "A random UUID.", "When we wrote it down.", o.partner.Name)
}

func TestUploadRefusals(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	to := "/admin/contracts/student-events/versions"
	next := strings.ReplaceAll(sampleContract, "version: 1.0.0", "version: 1.1.0")
	for name, u := range map[string]struct {
		fields url.Values
		file   string
		status int
		says   []string
	}{
		"nothing":        {nil, "", 422, []string{"Choose a file, or paste the document."}},
		"blank text":     {url.Values{"text": {" \r\n "}}, "", 422, []string{"Choose a file, or paste the document."}},
		"broken pasted":  {url.Values{"text": {"asyncapi: 3.1.0\r\ninfo: {title: <b>x</b>}\r\n"}}, "", 422, []string{"What is wrong with the document", "2:1", "/info", "&lt;b&gt;x&lt;/b&gt;", `href="#text"`, `href="#L2"`, `id="L2"`}},
		"broken file":    {nil, "{\n  \"asyncapi\": \"3.1.0\",\n", 422, []string{"What is wrong with the document", `href="#document"`}},
		"not a contract": {nil, "hello: world\n", 422, []string{"no member openapi or asyncapi"}},
		"bytes":          {nil, "\xff\xfe\x00", 422, []string{"What is wrong with the document"}},
		"other kind":     {url.Values{"version": {"1.1.0"}}, `{"openapi":"3.1.0","info":{"title":"x","version":"1.1.0"},"paths":{}}`, 422, []string{"This is an openapi document"}},
		"odd version":    {url.Values{"version": {"newest"}}, next, 422, []string{`href="#version"`}},
		"published":      {url.Values{"version": {"1.0.0"}}, next, 409, []string{"is published and can never change"}},
		"bad text":       {url.Values{"text": {"\xff"}}, "", 400, nil},
		"over the limit": {nil, "x: " + strings.Repeat("y", 300_000), 413, nil},
		"the same":       {nil, sampleContract, 303, nil},
		"pasted":         {url.Values{"text": {strings.ReplaceAll(next, "\n", "\r\n")}, "version": {""}}, "", 303, nil},
	} {
		answer := o.admin.upload(t, to, u.fields, "upload.yaml", []byte(u.file))
		if answer.StatusCode != u.status {
			t.Errorf("%s: status %d, want %d", name, answer.StatusCode, u.status)
		}
		wantWords(t, text(answer), u.says...)
	}
	pasted := must(o.db.ContractVersion(t.Context(), "student-events", "1.1.0"))(t)
	content := must(o.db.Original(t.Context(), pasted.ID))(t)
	if string(content) != next {
		t.Errorf("kept %q", content)
	}
	wantStatus(t, o.admin.post(to, url.Values{"text": {next}}), http.StatusUnsupportedMediaType)
	wantRedirect(t, o.admin.post("/admin/contracts/student-events/versions/1.1.0/deletion", url.Values{}), "/contracts/student-events")
}

// An event type that another contract defines stops a publication before it is tried.
func TestPublishSummary(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	o.draft(t, "other-events", otherContract)
	base := "/admin/contracts/other-events/versions/1.0.0"
	page := o.page(t, base+"/publication")
	wantWords(t, page, "It cannot be published", "Contract student-events defines it already.")
	v := must(o.db.ContractVersion(t.Context(), "other-events", "1.0.0"))(t)
	wantStatus(t, o.admin.post(base+"/publication", url.Values{"digest": {v.Digest}}), http.StatusConflict)

	next := strings.NewReplacer("version: 1.0.0", "version: 2.0.0", "studentId", "studentNumber", "nl.example.student.left", "nl.example.student.gone").Replace(sampleContract)
	wantStatus(t, o.admin.upload(t, "/admin/contracts/student-events/versions", nil, "next.yaml", []byte(next)), http.StatusSeeOther)
	wantWords(t, o.page(t, "/admin/contracts/student-events/versions/2.0.0/publication"),
		"in another way than in version 1.0.0", "It joins the catalogue", "This version does not define it.")
}

// Who may see a contract is the same in the list, on its pages and for its bytes.
func TestContractPagesVisibility(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	must(o.reg.Contracts.Update(t.Context(), registry.SystemActor(), "student-events", contracts.ContractInput{Title: "Students"}))(t)
	readers := map[string]*browser{"visitor": o.browser(), "partner": o.asPartner(t), "administrator": o.admin}
	for visibility, sees := range map[string][]string{
		store.VisibilityPublic:   {"visitor", "partner", "administrator"},
		store.VisibilityPartners: {"partner", "administrator"},
		store.VisibilityInternal: {"administrator"},
	} {
		o.setVisibility(t, "student-events", visibility)
		for who, b := range readers {
			want := http.StatusNotFound
			if strings.Contains(strings.Join(sees, " "), who) {
				want = http.StatusOK
			}
			for _, path := range []string{"", "/versions/1.0.0", "/versions/1.0.0/original", "/versions/1.0.0/json", "/versions/1.0.0/yaml"} {
				if got := b.get("/contracts/student-events" + path); got.StatusCode != want {
					t.Errorf("%s: %s gets %d for %q, want %d", visibility, who, got.StatusCode, path, want)
				}
			}
			list := text(b.get("/contracts"))
			if strings.Contains(list, "Students") != (want == http.StatusOK) {
				t.Errorf("%s: the list of %s is wrong", visibility, who)
			}
		}
	}
}

func TestDownload(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	answer := o.admin.get("/contracts/student-events/versions/1.0.0/original")
	if got := text(answer); got != sampleContract {
		t.Errorf("got %q", got)
	}
	for name, want := range map[string]string{
		"Content-Type": "application/yaml", "Content-Disposition": "attachment; filename=student-events-1.0.0.yaml", "Content-Security-Policy": site.DataCSP,
	} {
		if got := answer.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	again := o.browser()
	again.header.Set("If-None-Match", answer.Header.Get("ETag"))
	wantStatus(t, again.get("/contracts/student-events/versions/1.0.0/original"), http.StatusNotModified)
	asJSON := o.admin.get("/contracts/student-events/versions/1.0.0/json")
	if body := text(asJSON); !strings.HasPrefix(body, "{") || asJSON.Header.Get("Content-Type") != "application/json" {
		t.Errorf("as JSON: %s %q", asJSON.Header.Get("Content-Type"), body)
	}
}

// Every real document that is at hand can be uploaded or is refused with places, and its pages are shown.
func TestRealDocuments(t *testing.T) {
	needs.Unraced(t)
	t.Parallel()
	files := needs.Files(t, "contracts", "asyncapi")
	o := newAdminHarness(t)
	for _, file := range files {
		content := must(os.ReadFile(file))(t)
		id := strings.Trim(strings.Map(func(r rune) rune {
			if strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789", r) {
				return r
			}
			return '-'
		}, strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))), "-")
		wantStatus(t, o.admin.post("/admin/contracts", url.Values{"id": {id}, "kind": {"asyncapi"}, "title": {id}, "visibility": {"public"}}), http.StatusSeeOther)
		answer := o.admin.upload(t, "/admin/contracts/"+id+"/versions", url.Values{"version": {"1.0.0"}}, filepath.Base(file), content)
		switch {
		case answer.StatusCode == http.StatusSeeOther:
			wantStatus(t, o.admin.get(answer.Header.Get("Location")), http.StatusOK)
			wantStatus(t, o.admin.get("/admin/contracts/"+id+"/versions/1.0.0/publication"), http.StatusOK)
		case answer.StatusCode == http.StatusUnprocessableEntity:
			wantWords(t, text(answer), "What is wrong with the document")
		default:
			t.Errorf("%s: status %d", file, answer.StatusCode)
		}
	}
}

// The page of advice shows the score, the rules and the lines, for who may see the version.
//
// Rules: EDU-21, EDU-26.
func TestAdvicePage(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	sensitive := strings.Replace(sampleContract, "version: 1.0.0", "version: 2.0.0", 1)
	sensitive = strings.Replace(sensitive, "      left:\n", "      leaked: {name: nl.example.student.leaked, headers: {type: object, properties: {ce-type: {const: nl.example.student.leaked}, ce-subject: {type: string, description: The BSN of the student.}}}, payload: {type: object}}\n      left:\n", 1)
	must(o.reg.Contracts.Upload(t.Context(), registry.SystemActor(), "student-events", contracts.Upload{Content: []byte(sensitive)}))(t)
	target := "/contracts/student-events/versions/2.0.0/advice"
	page := o.page(t, target)
	wantWords(t, page, "of 100", "Edukoppeling", "EDU-26", "The attribute subject is for a citizen service number (BSN).", "/versions/2.0.0?line=", "nothing is needed to publish", "What to do:")
	wantWords(t, o.page(t, "/contracts/student-events/versions/2.0.0"), "Score", "of 100", target)
	wantWords(t, o.page(t, target+"?rule=event-sensitive"), "See all rules", "EDU-26")
	some := o.page(t, target+"?state=holds&severity=error")
	wantWords(t, some, "kept")
	lacks(t, some, "not kept,")
	wantWords(t, o.page(t, target+"?state=%3Cb%3E"), "EDU-26", "nothing is needed to publish") // an unknown state narrows nothing
	wantWords(t, o.page(t, target+"?rule=%3Cb%3E"), "No rule is like this.")

	partner := o.browser().login(t, "pat@noord.example")
	wantStatus(t, partner.get(target), http.StatusNotFound) // a draft
	wantStatus(t, partner.get("/contracts/student-events/versions/1.0.0/advice"), http.StatusOK)
	o.setVisibility(t, "student-events", store.VisibilityInternal)
	wantStatus(t, o.browser().get("/contracts/student-events/versions/1.0.0/advice"), http.StatusNotFound)
}

// What is below the score that a chain asks for is told, and not published.
func TestScoreToPublish(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	o.secondVersion(t, "2.0.0")
	_, _, err := o.reg.Profile.Save(t.Context(), registry.SystemActor(), profile.ProfileChange{Values: map[string]string{"register.min_score": "100"}})
	noError(t, err)
	wantWords(t, o.page(t, "/contracts/student-events/versions/2.0.0/advice"), "100 are needed to publish")
	_, err = publishDraft(t.Context(), o.reg, registry.SystemActor(), "student-events", "2.0.0", "it is needed")
	if err == nil || !strings.Contains(err.Error(), "this chain asks for 100") {
		t.Errorf("got %v", err)
	}
}

// An administrator sees what a publication breaks and for whom, and says why.
func TestPublishBreakingPage(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	sub := o.subscription(t, o.endpoint(t, o.partner.ID).ID)
	noError(t, o.reg.Subscriptions.Approve(t.Context(), registry.SystemActor(), sub.ID))
	o.secondVersion(t, "1.1.0")
	target := "/admin/contracts/student-events/versions/1.1.0/publication"
	version := must(o.db.ContractVersion(t.Context(), "student-events", "1.1.0"))(t)
	wantWords(t, o.page(t, target), "What breaks since version 1.0.0", "By its changes this is version 2.0.0", "Who is subscribed to what breaks", o.partner.Name, sub.ID, `name="reason"`)

	for reason, says := range map[string]string{"": "Say why this is published", "no": "Use at least 3 characters."} {
		wantPage(t, o.admin.post(target, url.Values{"digest": {version.Digest}, "reason": {reason}}), http.StatusUnprocessableEntity, says, `href="#reason"`)
	}
	partner := o.browser().login(t, "pat@noord.example")
	wantStatus(t, partner.get(target), http.StatusForbidden)
	wantRedirect(t, o.admin.post(target, url.Values{"digest": {version.Digest}, "reason": {"All partners agreed."}}), "/contracts/student-events/versions/1.1.0")
	wantWords(t, o.page(t, "/contracts/student-events/versions/1.1.0"), "All partners agreed.")
}

// setVisibility changes who sees a contract.
func (o *adminHarness) setVisibility(t *testing.T, id, visibility string, partnerIDs ...string) {
	t.Helper()
	_, err := o.reg.Contracts.SetVisibility(t.Context(), registry.SystemActor(), id, contracts.VisibilityChange{
		Visibility: visibility, PartnerIDs: partnerIDs, Reason: "for the test", AcceptLoss: true,
	})
	if e, ok := errors.AsType[*registry.Error](err); !ok || e.Code != registry.CodeConflict { // it is so already
		noError(t, err)
	}
}

// secondVersion uploads nextContract beside the sample contract.
func (o *adminHarness) secondVersion(t *testing.T, version string) {
	t.Helper()
	must(o.reg.Contracts.Upload(t.Context(), registry.SystemActor(), "student-events", contracts.Upload{Content: []byte(nextContract(version))}))(t)
}

func TestChangesPage(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	wantWords(t, o.page(t, "/contracts/student-events/versions/1.0.0/changes"), "This is the only version")
	o.secondVersion(t, "2.0.0")
	target := "/contracts/student-events/versions/2.0.0/changes"
	page := o.page(t, target)
	wantWords(t, page, "From version 1.0.0 to version 2.0.0.", "make it version 2.0.0", "breaking", "nl.example.student.enrolled", "who reads it or calls it")
	wantWords(t, o.page(t, "/contracts/student-events"), `/versions/2.0.0/changes?from=1.0.0`, "since 1.0.0")
	wantWords(t, o.page(t, "/contracts/student-events/versions/2.0.0"), "What changed")
	wantWords(t, o.page(t, target+"?from=2.0.0"), "Both versions say the same.")
	wantWords(t, o.page(t, "/contracts/student-events/versions/1.0.0/changes"), "There is no version before this one", `value="2.0.0"`)
	wantStatus(t, o.admin.get(target+"?from=7.0.0"), http.StatusNotFound)

	partner := o.browser().login(t, "pat@noord.example")
	wantStatus(t, partner.get(target), http.StatusNotFound) // a draft
	must(publishDraft(t.Context(), o.reg, registry.SystemActor(), "student-events", "2.0.0", ""))(t)
	wantStatus(t, partner.get(target), http.StatusOK)
	o.setVisibility(t, "student-events", store.VisibilityInternal)
	wantStatus(t, partner.get(target), http.StatusNotFound)
	wantStatus(t, o.browser().get(target), http.StatusNotFound)
}

// A page shows the causes in parts, and links to the rest.
func TestChangesPageOfMany(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	var b strings.Builder
	for i := range 60 {
		name := string(rune('a'+i/26)) + string(rune('a'+i%26))
		b.WriteString("      " + name + ": {name: nl.example.student." + name + ", payload: {type: object}}\n")
	}
	many := strings.Replace(nextContract("2.0.0"), "      left:\n", b.String()+"      left:\n", 1)
	must(o.reg.Contracts.Upload(t.Context(), registry.SystemActor(), "student-events", contracts.Upload{Content: []byte(many)}))(t)
	wantWords(t, o.page(t, "/contracts/student-events/versions/2.0.0/changes"), `rel="next"`, "page=2")
	wantWords(t, o.page(t, "/contracts/student-events/versions/2.0.0/changes?page=2"), "Harmless", `rel="prev"`)
}
