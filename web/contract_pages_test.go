package web

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"schakel/registry"
	"schakel/registry/contracts"
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
	wantText(t, o.page(t, here), "This is a draft", "grades.yaml", "Delete this draft")
	wantStatus(t, o.browser().get(here), http.StatusNotFound)
	wantStatus(t, o.browser().get("/contracts/grade-events"), http.StatusNotFound)

	version, err := o.db.ContractVersion(t.Context(), "grade-events", "1.0.0")
	noError(t, err)
	wantText(t, o.page(t, base+"/publication"), "nl.example.grade.enrolled", "It joins the catalogue", version.Digest)
	stale := o.admin.post(base+"/publication", url.Values{"digest": {"another"}})
	wantStatus(t, stale, http.StatusPreconditionFailed)
	wantText(t, text(stale), "was replaced since you looked")
	wantRedirect(t, o.admin.post(base+"/publication", url.Values{"digest": {version.Digest}}), here)
	wantRedirect(t, o.browser().get("/contracts/grade-events/versions/latest"), here)
	wantText(t, o.page(t, base+"/publication"), "only a draft can be published")

	past := o.admin.post(base+"/deprecation", url.Values{"sunset": {"2001-01-01"}})
	wantStatus(t, past, http.StatusUnprocessableEntity)
	wantText(t, text(past), "Choose a day in the future.", `href="#sunset"`, `value="2001-01-01"`)
	wrong := o.admin.post(base+"/deprecation", url.Values{"sunset": {"soon"}})
	wantStatus(t, wrong, http.StatusUnprocessableEntity)
	wantText(t, text(wrong), "Write the day as")
	wantRedirect(t, o.admin.post(base+"/deprecation", url.Values{"sunset": {"2999-12-31"}, "reason": {"Use 2.0.0."}}), here)
	wantText(t, o.page(t, here), "31 Dec 2999", "Use 2.0.0.", "Take the deprecation back")
	wantRedirect(t, o.admin.post(base+"/undeprecation", url.Values{}), here)
	wantText(t, o.page(t, here), "Who is hit when this version is withdrawn", "There is no other version of these event types")
	wantStatus(t, o.admin.post(base+"/withdrawal", url.Values{}), http.StatusUnprocessableEntity)
	wantRedirect(t, o.admin.post(base+"/withdrawal", url.Values{"reason": {"It leaks names."}}), here)
	wantStatus(t, o.browser().get(here), http.StatusGone)
	wantText(t, o.page(t, here), "It leaks names.")
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
		answer := o.admin.post("/admin/contracts", form)
		wantStatus(t, answer, http.StatusUnprocessableEntity)
		page := text(answer)
		wantText(t, page, `href="#`+field+`"`)
		if field != "title" {
			wantText(t, page, "Kept title")
		}
	}
	taken := o.admin.post("/admin/contracts", url.Values{"id": {"student-events"}, "kind": {"openapi"}, "title": {"Again"}, "visibility": {"public"}})
	wantStatus(t, taken, http.StatusConflict)
	wantText(t, text(taken), "There is a contract with id student-events already.")
	bad := o.admin.post("/admin/contracts/student-events", url.Values{"title": {""}, "visibility": {"public"}})
	wantStatus(t, bad, http.StatusUnprocessableEntity)
	good := url.Values{"title": {"Students"}, "ownerPartner": {o.partner.ID}, "agreedOn": {"2026-05-01"}, "idMeaning": {"A random UUID."}, "timeMeaning": {"When we wrote it down."}}
	moved := o.admin.post("/admin/contracts/student-events", good)
	wantStatus(t, moved, http.StatusUnprocessableEntity)
	wantText(t, text(moved), `href="#agreement"`, "Say who decided on the new owner.")
	good.Set("agreement", "Chain council")
	wantRedirect(t, o.admin.post("/admin/contracts/student-events", good), "/contracts/student-events")
	wantText(t, o.page(t, "/contracts/student-events"), "Students", "Chain council, on 2026-05-01", "A random UUID.", "When we wrote it down.", o.partner.Name)
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
		wantText(t, text(answer), u.says...)
	}
	pasted, err := o.db.ContractVersion(t.Context(), "student-events", "1.1.0")
	noError(t, err)
	content, err := o.db.Original(t.Context(), pasted.ID)
	noError(t, err)
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
	wantText(t, page, "It cannot be published", "Contract student-events defines it already.")
	v, err := o.db.ContractVersion(t.Context(), "other-events", "1.0.0")
	noError(t, err)
	answer := o.admin.post(base+"/publication", url.Values{"digest": {v.Digest}})
	wantStatus(t, answer, http.StatusConflict)

	next := strings.NewReplacer("version: 1.0.0", "version: 2.0.0", "studentId", "studentNumber", "nl.example.student.left", "nl.example.student.gone").Replace(sampleContract)
	wantStatus(t, o.admin.upload(t, "/admin/contracts/student-events/versions", nil, "next.yaml", []byte(next)), http.StatusSeeOther)
	wantText(t, o.page(t, "/admin/contracts/student-events/versions/2.0.0/publication"),
		"in another way than in version 1.0.0", "It joins the catalogue", "This version does not define it.")
}

// Who may see a contract is the same in the list, on its pages and for its bytes.
func TestContractPagesVisibility(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	_, err := o.reg.Contracts.Update(t.Context(), registry.SystemActor(), "student-events", contracts.ContractInput{Title: "Students"})
	noError(t, err)
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
	t.Parallel()
	files := needs.Files(t, "contracts", "asyncapi")
	o := newAdminHarness(t)
	for _, file := range files {
		content, err := os.ReadFile(file)
		noError(t, err)
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
			wantText(t, text(answer), "What is wrong with the document")
		default:
			t.Errorf("%s: status %d", file, answer.StatusCode)
		}
	}
}
