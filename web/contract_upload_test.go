package web

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	webcontracts "schakel/web/contracts"
)

// Whoever uploads a document decides whether what it refers to is fetched. Then it is fetched once, can be published, and the
// page and the API show from where, when and with which digest; publishing asks no server again.
//
// Rules: EDU-21
func TestUploadFetchesWithConsent(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	var asked atomic.Int64
	schema := "type: object\nproperties: {name: {type: string}}\n"
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.URL.Path != "/student.yaml" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, schema)
	}))
	t.Cleanup(server.Close)
	o.servers.Client = server.Client()
	to, here := "/admin/contracts/student-events/versions", "/contracts/student-events/versions/2.0.0"
	at := func(path string) []byte {
		return []byte(strings.Replace(splitContract("2.0.0"), "schemas/student.yaml", server.URL+path, 1))
	}
	wantWords(t, o.page(t, "/admin/contracts/student-events/upload"), "Fetch what the document refers to on other servers", "once")
	wantRedirect(t, o.admin.upload(t, to, nil, "students.yaml", at("/student.yaml")), here)
	if asked.Load() != 0 {
		t.Fatal("it was fetched without consent")
	}
	wantWords(t, o.page(t, here), "It cannot be published yet")

	consent := url.Values{"fetch": {"on"}}
	wantPage(t, o.admin.upload(t, to, consent, "students.yaml", at("/gone.yaml")), http.StatusUnprocessableEntity, "students.yaml, line 7", "/gone.yaml", "answers 404", "Correct the reference", `name="fetch"`)
	wantRedirect(t, o.admin.upload(t, to, consent, "students.yaml", at("/student.yaml")), here)
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(schema)))
	page := o.page(t, here)
	wantWords(t, page, "Publish this version", "Files of the upload", "Fetched", server.URL+"/student.yaml", digest, "Tells which file stands for which address", "students.zip")
	before := asked.Load()
	v := must(o.db.ContractVersion(t.Context(), "student-events", "2.0.0"))(t)
	server.Close()
	wantStatus(t, o.admin.post(to+"/2.0.0/publication", url.Values{"digest": {v.Digest}, "reason": {"needed"}}), http.StatusSeeOther)
	if asked.Load() != before {
		t.Error("publishing asked the server")
	}
	wantWords(t, text(o.admin.get(here+"/yaml")), "#/components/schemas/student")
	wantWords(t, text(o.admin.get("/admin/audit")), "student-events")
}

// An example at an address warns until whoever uploads lets it be fetched; then it is part of the contract, as it was on that
// day. One that cannot be fetched keeps its warning and stops nothing.
//
// Rules: EDU-21
func TestUploadFetchesExamples(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	var asked atomic.Int64
	const school = `{"name":"De Berkel"}`
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.URL.Path != "/school.json" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, school)
	}))
	t.Cleanup(server.Close)
	o.servers.Client = server.Client()
	o.openAPI(t, "schools", readableContract)
	to, here := "/admin/contracts/schools/versions", "/contracts/schools/versions/2.0.0"
	at := func(path string) []byte {
		return []byte(strings.NewReplacer("version: 1.0.0", "version: 2.0.0", "schema: {$ref: '#/components/schemas/School'}}}",
			"schema: {type: object}, examples: {berkel: {externalValue: '"+server.URL+path+"'}}}}").Replace(readableContract))
	}
	const warning = "outside of this contract, and may change or go there"
	wantRedirect(t, o.admin.upload(t, to, nil, "schools.yaml", at("/school.json")), here)
	if asked.Load() != 0 {
		t.Fatal("it was fetched without consent")
	}
	wantWords(t, o.page(t, here), warning, server.URL+"/school.json", "Publish this version")

	consent := url.Values{"fetch": {"on"}}
	wantRedirect(t, o.admin.upload(t, to, consent, "schools.yaml", at("/gone.json")), here)
	page := o.page(t, here)
	wantWords(t, page, warning, server.URL+"/gone.json", "Publish this version")
	lacks(t, page, "Files of the upload")

	asked.Store(0)
	wantRedirect(t, o.admin.upload(t, to, consent, "schools.yaml", at("/school.json")), here)
	page = o.page(t, here)
	wantWords(t, page, "Files of the upload", "Fetched", server.URL+"/school.json", fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(school))))
	lacks(t, page, warning)
	v := must(o.db.ContractVersion(t.Context(), "schools", "2.0.0"))(t)
	server.Close()
	wantStatus(t, o.admin.post(to+"/2.0.0/publication", url.Values{"digest": {v.Digest}, "reason": {"needed"}}), http.StatusSeeOther)
	if asked.Load() != 1 {
		t.Errorf("the example was asked for %d times", asked.Load())
	}
	document := text(o.admin.get(here + "/yaml"))
	wantWords(t, document, "De Berkel")
	lacks(t, document, "externalValue")
}

// A partner does not make this Schakel fetch from the private addresses that it may deliver to.
//
// Rules: SEC-27
func TestPartnersFetchPublicAddressesOnly(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("asked for %s", r.URL) }))
	t.Cleanup(server.Close)
	o.servers.Client = server.Client()
	owner := o.asPartner(t)
	owner.post("/partner/contracts", url.Values{"id": {"grade-events"}, "kind": {"asyncapi"}, "title": {"Grades"}, "visibility": {"partners"}})
	document := strings.Replace(splitContract("1.0.0"), "schemas/student.yaml", server.URL+"/a.yaml", 1)
	wantPage(t, owner.upload(t, "/partner/contracts/grade-events/versions", url.Values{"fetch": {"on"}}, "a.yaml", []byte(document)), http.StatusForbidden, "fetches nothing for you", "schakel contract bundle")
}

// zipOf packs pairs of name and content.
func zipOf(t *testing.T, files ...string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i+1 < len(files); i += 2 {
		f := must(w.Create(files[i]))(t)
		must(f.Write([]byte(files[i+1])))(t)
	}
	noError(t, w.Close())
	return b.String()
}

// splitContract is the sample with the payload of its first message in another file.
func splitContract(version string) string {
	return strings.Replace(`asyncapi: 3.1.0
info: {title: Students, version: VERSION}
channels:
  students:
    address: students
    messages:
      enrolled: {name: nl.example.student.enrolled, payload: {$ref: 'schemas/student.yaml'}}
operations:
  send: {action: send, channel: {$ref: '#/channels/students'}}
`, "VERSION", version, 1)
}

const studentSchema = "type: object\nproperties:\n  name: {type: string, example: 5}\n"

// Rules: EDU-21, EDU-06b.
func TestContractZipByAPI(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	writer := h.writer(t)
	writer.postJSON(t, "/registry/v1/contracts", `{"id":"student-events","kind":"asyncapi","title":"Student events","visibility":"public"}`).want(t, 201)
	target := contractTarget + "/versions"

	var looked struct {
		Publishable bool
		Files       []webcontracts.FileAnswer
		Findings    []webcontracts.FindingAnswer
	}
	alone := writer.do(t, http.MethodPost, "/registry/v1/validations", splitContract("1.0.0"), "Content-Type", "application/yaml").want(t, 200)
	noError(t, json.Unmarshal(alone.body, &looked))
	if looked.Publishable || len(looked.Findings) != 1 || looked.Findings[0].Code != "reference-missing" || looked.Findings[0].Line != 7 {
		t.Errorf("got %s", alone.body)
	}
	upload(t, writer, splitContract("1.0.0")).want(t, 201)
	refused := writer.publishVersion(t, target+"/1.0.0", "").problem(t, 409, "document-incomplete")
	if len(refused.Errors) != 1 || refused.Errors[0].Line != 7 || refused.Errors[0].Code != "reference-missing" {
		t.Errorf("got %+v", refused.Errors)
	}

	packed := zipOf(t, "api/asyncapi.yaml", splitContract("1.0.0"), "api/schemas/student.yaml", studentSchema, "readme.md", "x")
	writer.do(t, http.MethodPost, target, packed, "Content-Type", "application/zip").problem(t, 400, "document-invalid")
	for _, at := range []string{"/registry/v1/validations", target} {
		answer := writer.do(t, http.MethodPost, at+"?main=api/asyncapi.yaml", packed, "Content-Type", "application/zip")
		noError(t, json.Unmarshal(answer.body, &looked))
		f := looked.Findings
		if len(looked.Files) != 3 || len(f) != 1 || f[0].Code != "example-mismatch" || f[0].File != "api/schemas/student.yaml" || f[0].FileLine != 3 || f[0].Line < 4 {
			t.Errorf("%s: %s", at, answer.body)
		}
	}
	writer.publishVersion(t, target+"/1.0.0", "").want(t, 200)

	original := h.anyone().get(t, target+"/latest/original").want(t, 200)
	if string(original.body) != packed || original.header.Get("Content-Type") != "application/zip" || !strings.Contains(original.header.Get("Content-Disposition"), "student-events-1.0.0.zip") {
		t.Errorf("got %v", original.header)
	}
	for suffix, media := range map[string]string{"content": "application/json", "content.json": "application/json", "content.yaml": "application/yaml"} {
		answer := h.anyone().get(t, target+"/latest/"+suffix).want(t, 200)
		if answer.header.Get("Content-Type") != media || !bytes.Contains(answer.body, []byte("#/components/schemas/student")) {
			t.Errorf("%s: %s", suffix, answer.body)
		}
		h.anyone().do(t, http.MethodGet, target+"/latest/"+suffix, "", "If-None-Match", answer.header.Get("ETag")).want(t, http.StatusNotModified)
		h.anyone().do(t, http.MethodGet, target+"/latest/"+suffix, "", "If-None-Match", original.header.Get("ETag")).want(t, 200)
	}
	h.anyone().do(t, http.MethodGet, target+"/latest/original", "", "If-None-Match", original.header.Get("ETag")).want(t, http.StatusNotModified)
}

// A maintainer uploads a document without its files, sees which are missing, and
// uploads the whole.
//
// Rules: EDU-21.
func TestContractZipInThePortal(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	to, here := "/admin/contracts/student-events/versions", "/contracts/student-events/versions/2.0.0"
	wantRedirect(t, o.admin.upload(t, to, nil, "students.yaml", []byte(splitContract("2.0.0"))), here)
	page := o.page(t, here)
	wantWords(t, page, "It cannot be published yet", "What is missing", here+"?line=7#L7", "schemas/student.yaml", "Upload the whole")
	lacks(t, page, "Publish this version")
	publication := "/admin/contracts/student-events/versions/2.0.0/publication"
	wantWords(t, o.page(t, publication), "It refers to what was not uploaded")
	draft := must(o.db.ContractVersion(t.Context(), "student-events", "2.0.0"))(t)
	wantPage(t, o.admin.post(publication, url.Values{"digest": {draft.DocumentDigest()}}), http.StatusConflict, "cannot be published")

	wantPage(t, o.admin.upload(t, to, nil, "students.zip", []byte(zipOf(t, "a.yaml", "a: 1", "b.yaml", "b: 1"))), http.StatusUnprocessableEntity, "It is not clear which file", "a.yaml, b.yaml")
	wantPage(t, o.admin.upload(t, to, nil, "students.zip", []byte(zipOf(t, "asyncapi.yaml", splitContract("2.0.0"), "schemas/student.yaml", "type: object\ntype: string\n"))), http.StatusUnprocessableEntity, "schemas/student.yaml, line 2", "stands here twice")

	packed := zipOf(t, "docs/a.yaml", splitContract("2.0.0"), "docs/schemas/student.yaml", studentSchema, "b.yaml", "b: 1")
	wantRedirect(t, o.admin.upload(t, to, url.Values{"main": {"docs/a.yaml"}}, "students.zip", []byte(packed)), here)
	wantWords(t, o.page(t, here), "Publish this version", "Files of the upload", "docs/schemas/student.yaml", "Referred to", "The document", "Not used")
	if got := o.admin.get(here + "/original"); text(got) != packed || got.Header.Get("Content-Type") != "application/zip" {
		t.Errorf("original is %s", got.Header.Get("Content-Type"))
	}
	wantWords(t, text(o.admin.get(here+"/yaml")), "#/components/schemas/student")
	wantWords(t, o.page(t, here+"/reading"), "student")
}
