package web

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	webcontracts "schakel/web/contracts"
)

// zipOf packs pairs of name and content.
func zipOf(t *testing.T, files ...string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i+1 < len(files); i += 2 {
		f, err := w.Create(files[i])
		noError(t, err)
		_, err = f.Write([]byte(files[i+1]))
		noError(t, err)
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
	wantText(t, page, "It cannot be published yet", "What is missing", here+"?line=7#L7", "schemas/student.yaml", "Upload the whole")
	if strings.Contains(page, "Publish this version") {
		t.Error("it can be published")
	}
	publication := "/admin/contracts/student-events/versions/2.0.0/publication"
	wantText(t, o.page(t, publication), "It refers to what was not uploaded")
	draft, err := o.db.ContractVersion(t.Context(), "student-events", "2.0.0")
	noError(t, err)
	forced := o.admin.post(publication, url.Values{"digest": {draft.DocumentDigest()}})
	wantStatus(t, forced, http.StatusConflict)
	wantText(t, text(forced), "cannot be published")

	unclear := o.admin.upload(t, to, nil, "students.zip", []byte(zipOf(t, "a.yaml", "a: 1", "b.yaml", "b: 1")))
	wantStatus(t, unclear, http.StatusUnprocessableEntity)
	wantText(t, text(unclear), "It is not clear which file", "a.yaml, b.yaml")
	broken := o.admin.upload(t, to, nil, "students.zip", []byte(zipOf(t, "asyncapi.yaml", splitContract("2.0.0"), "schemas/student.yaml", "type: object\ntype: string\n")))
	wantStatus(t, broken, http.StatusUnprocessableEntity)
	wantText(t, text(broken), "schemas/student.yaml, line 2", "stands here twice")

	packed := zipOf(t, "docs/a.yaml", splitContract("2.0.0"), "docs/schemas/student.yaml", studentSchema, "b.yaml", "b: 1")
	wantRedirect(t, o.admin.upload(t, to, url.Values{"main": {"docs/a.yaml"}}, "students.zip", []byte(packed)), here)
	wantText(t, o.page(t, here), "Publish this version", "Files of the upload", "docs/schemas/student.yaml", "Referred to", "The document", "Not used")
	if got := o.admin.get(here + "/original"); text(got) != packed || got.Header.Get("Content-Type") != "application/zip" {
		t.Errorf("original is %s", got.Header.Get("Content-Type"))
	}
	wantText(t, text(o.admin.get(here+"/yaml")), "#/components/schemas/student")
	wantText(t, o.page(t, here+"/reading"), "student")
}
