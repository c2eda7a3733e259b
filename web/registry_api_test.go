package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"schakel/registry"
	"schakel/registry/contracts/contract"
	"schakel/web/api"
	webcontracts "schakel/web/contracts"
)

const contractTarget = "/registry/v1/contracts/student-events"

// publishedContract makes a public contract with one published version.
func publishedContract(t *testing.T, writer *apiClient, visibility string) {
	t.Helper()
	writer.postJSON(t, "/registry/v1/contracts", `{"id":"student-events","kind":"asyncapi","title":"Student events","visibility":"`+visibility+`"}`).want(t, 201)
	upload(t, writer, sampleContract).want(t, 201)
	writer.publishVersion(t, contractTarget+"/versions/1.0.0", "").want(t, 200)
}

func upload(t *testing.T, writer *apiClient, document string) apiAnswer {
	t.Helper()
	return writer.do(t, http.MethodPost, contractTarget+"/versions", document, "Content-Type", "application/yaml")
}

// Rules: EDU-06b, EDU-06e.
func TestContractOriginal(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	publishedContract(t, h.writer(t), "public")
	sum := sha256.Sum256([]byte(sampleContract))
	tag := `"sha256:` + hex.EncodeToString(sum[:]) + `"`
	for _, version := range []string{"1.0.0", "latest"} {
		target := contractTarget + "/versions/" + version + "/original"
		answer := h.anyone().get(t, target).want(t, 200)
		if string(answer.body) != sampleContract || answer.header.Get("ETag") != tag {
			t.Fatalf("%s: tag %s, %d bytes", version, answer.header.Get("ETag"), len(answer.body))
		}
		if got := answer.header.Get("Repr-Digest"); got != "sha-256=:"+base64.StdEncoding.EncodeToString(sum[:])+":" {
			t.Errorf("Repr-Digest %s", got)
		}
		if answer.header.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(answer.header.Get("Content-Disposition"), "attachment") {
			t.Errorf("a browser might show it: %v", answer.header)
		}
		for _, given := range []string{tag, "W/" + tag, `"x", ` + tag, "*"} {
			same := h.anyone().do(t, http.MethodGet, target, "", "If-None-Match", given).want(t, http.StatusNotModified)
			if len(same.body) != 0 || same.header.Get("ETag") != tag {
				t.Errorf("304 with %d bytes, tag %q", len(same.body), same.header.Get("ETag"))
			}
		}
		h.anyone().do(t, http.MethodGet, target, "", "If-None-Match", `"x"`).want(t, 200)
		if head := h.anyone().do(t, http.MethodHead, target, "").want(t, 200); head.header.Get("ETag") != tag {
			t.Errorf("HEAD %v", head.header)
		}
	}
}

func TestContractContent(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	publishedContract(t, h.writer(t), "public")
	original, _, err := contract.Parse([]byte(sampleContract), contract.Limits{})
	noError(t, err)
	for _, tc := range []struct{ suffix, accept, media string }{
		{"content", "", "application/yaml"},
		{"content", "*/*", "application/yaml"},
		{"content", "application/json", "application/json"},
		{"content", "application/yaml;q=0.5, application/json;q=0.9", "application/json"},
		{"content", "application/vnd.oai.openapi+json, text/yaml;q=0.1", "application/json"},
		{"content", "text/yaml", "application/yaml"},
		{"content.json", "application/yaml", "application/json"},
		{"content.yaml", "application/json", "application/yaml"},
	} {
		headers := []string{}
		if tc.accept != "" {
			headers = append(headers, "Accept", tc.accept)
		}
		answer := h.anyone().do(t, http.MethodGet, contractTarget+"/versions/latest/"+tc.suffix, "", headers...).want(t, 200)
		if got := answer.header.Get("Content-Type"); got != tc.media {
			t.Errorf("%s for %q as %s", tc.suffix, tc.accept, got)
		}
		same, _, err := contract.Parse(answer.body, contract.Limits{})
		noError(t, err)
		if same == nil || !reflect.DeepEqual(same.Root, original.Root) {
			t.Errorf("%s for %q is another document: %s", tc.suffix, tc.accept, answer.body)
		}
		h.anyone().do(t, http.MethodGet, contractTarget+"/versions/1.0.0/"+tc.suffix, "",
			append(headers, "If-None-Match", answer.header.Get("ETag"))...).want(t, http.StatusNotModified)
	}
}

// TestContractNeverChanges is guarantee G8.
//
// Rules: EDU-06b.
func TestContractNeverChanges(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	writer := h.writer(t)
	publishedContract(t, writer, "public")
	other := strings.Replace(sampleContract, "A student was enrolled", "Something else", 1)
	upload(t, writer, other).problem(t, http.StatusConflict, "conflict")
	upload(t, writer, sampleContract).want(t, 200)
	writer.publishVersion(t, contractTarget+"/versions/1.0.0", "").problem(t, http.StatusConflict, "conflict")
	writer.do(t, http.MethodPost, contractTarget+"/versions/1.0.0/deprecation", `{"sunset":"2030-01-01","reason":"Use 2.0.0."}`, "Content-Type", "application/json").want(t, 200)
	if answer := h.anyone().get(t, contractTarget+"/versions/1.0.0/original").want(t, 200); string(answer.body) != sampleContract || answer.header.Get("Sunset") == "" {
		t.Errorf("deprecated: %v", answer.header)
	}
	writer.do(t, http.MethodPost, contractTarget+"/versions/1.0.0/deprecation", `{"sunset":"soon"}`, "Content-Type", "application/json").problem(t, 400, "invalid")
	writer.do(t, http.MethodDelete, contractTarget+"/versions/1.0.0/deprecation", "").want(t, 200)
	if answer := writer.get(t, contractTarget+"/versions/1.0.0/withdrawal").want(t, 200); !strings.Contains(string(answer.body), `"lastVersionOf":["nl.`) {
		t.Errorf("whom a withdrawal hits: %s", answer.body)
	}
	writer.do(t, http.MethodPost, contractTarget+"/versions/1.0.0/withdrawal", `{"reason":"It leaked."}`, "Content-Type", "application/json").want(t, 200)
	h.anyone().get(t, contractTarget+"/versions/1.0.0/original").problem(t, 410, registry.CodeGone)
	upload(t, writer, other).problem(t, http.StatusConflict, "conflict")
}

func TestContractUploadRefused(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, func(c *api.Config) { c.DocumentBytes = 64 << 10 })
	writer := h.writer(t)
	writer.postJSON(t, "/registry/v1/contracts", `{"id":"student-events","kind":"asyncapi","title":"Student events"}`).want(t, 201)
	broken := strings.Replace(sampleContract, "title: Example of student events", "titel: Example", 1)
	for _, target := range []string{contractTarget + "/versions", "/registry/v1/validations"} {
		p := writer.do(t, http.MethodPost, target, broken, "Content-Type", "text/yaml").problem(t, 400, "document-invalid")
		if len(p.Errors) == 0 || p.Errors[0].Line == 0 || !strings.HasPrefix(p.Errors[0].Pointer, "/info") || p.Errors[0].Severity != "error" {
			t.Errorf("errors %+v", p.Errors)
		}
		writer.do(t, http.MethodPost, target, "", "Content-Type", "text/yaml").problem(t, 400, "document-invalid")
		writer.do(t, http.MethodPost, target, "x", "Content-Type", "application/pdf").problem(t, 415, "not-a-document")
		writer.do(t, http.MethodPost, target, strings.Repeat("#", 100<<10), "Content-Type", "text/yaml").problem(t, 413, "too-large")
	}
	openapi := `{"openapi":"3.1.0","info":{"title":"t","version":"1.0.0"},"paths":{}}`
	writer.do(t, http.MethodPost, contractTarget+"/versions", openapi, "Content-Type", "application/json").problem(t, 400, "invalid")
	valid := writer.do(t, http.MethodPost, "/registry/v1/validations", sampleContract, "Content-Type", "application/yaml").want(t, 200)
	if valid.member(t, "kind") != "asyncapi" || !strings.Contains(string(valid.body), "nl.example.student.left") {
		t.Errorf("valid %s", valid.body)
	}
	writer.postJSON(t, "/registry/v1/contracts", `{"id":"Student Events","kind":"raml","title":""}`).problem(t, 400, "invalid")
	writer.postJSON(t, "/registry/v1/contracts", `{"id":"student-events","kind":"asyncapi","title":"Again"}`).problem(t, 409, "conflict")
	partner := h.newClient(t, h.newPartner(t, "School").ID, registryWrite())
	partner.postJSON(t, "/registry/v1/contracts", `{"id":"theirs","kind":"asyncapi","title":"Theirs","ownerPartnerId":"`+h.newPartner(t, "Other").ID+`"}`).problem(t, 403, "forbidden")
}

func TestContractUploadForm(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	writer := h.writer(t)
	writer.postJSON(t, "/registry/v1/contracts", `{"id":"student-events","kind":"asyncapi","title":"Student events"}`).want(t, 201)
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	noError(t, form.WriteField("version", "2.0.0-rc.1"))
	file, err := form.CreateFormFile("document", "students.yaml")
	noError(t, err)
	_, _ = file.Write([]byte(sampleContract))
	noError(t, form.Close())
	made := writer.do(t, http.MethodPost, contractTarget+"/versions", body.String(), "Content-Type", form.FormDataContentType()).want(t, 201)
	if made.member(t, "version") != "2.0.0-rc.1" || made.header.Get("Location") != contractTarget+"/versions/2.0.0-rc.1" {
		t.Errorf("made %s", made.body)
	}
	writer.get(t, made.header.Get("Location")).want(t, 200)
	h.anyone().get(t, made.header.Get("Location")).problem(t, 404, "not-found")
}

// TestContractVisibility: without a token only what is public is there.
//
// Rules: EDU-06d.
func TestContractVisibility(t *testing.T) {
	t.Parallel()
	for visibility, tc := range map[string]struct{ anyone, partner, own int }{
		"public": {200, 200, 200}, "partners": {404, 200, 200}, "internal": {404, 404, 200},
	} {
		h := newAPIHarness(t, nil)
		publishedContract(t, h.writer(t), visibility)
		school := h.newPartner(t, "School")
		reads, publishes := h.consumer(t, school.ID), h.publisher(t, school.ID)
		for c, want := range map[*apiClient]int{h.anyone(): tc.anyone, publishes: tc.anyone, reads: tc.partner, h.consumer(t, ""): tc.own} {
			for _, rest := range []string{"", "/versions", "/releases", "/versions/latest", "/versions/1.0.0/original", "/versions/1.0.0/content.json"} {
				if answer := c.get(t, contractTarget+rest); answer.status != want {
					t.Errorf("%s%s: %d, want %d", visibility, rest, answer.status, want)
				}
			}
			if list := c.get(t, "/registry/v1/contracts?kind=asyncapi&q=student").want(t, 200); strings.Contains(string(list.body), "student-events") != (want == 200) {
				t.Errorf("%s: list %s", visibility, list.body)
			}
		}
	}
}

// TestReleases checks the shape that Renovate takes: what is absent is not null.
//
// Rules: EDU-06e, EDU-N06.
func TestReleases(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	writer := h.writer(t)
	publishedContract(t, writer, "public")
	for _, version := range []string{"1.1.0", "2.0.0-rc.1"} {
		upload(t, writer, strings.Replace(sampleContract, "version: 1.0.0", "version: "+version, 1)).want(t, 201)
		writer.publishVersion(t, contractTarget+"/versions/"+version, "").want(t, 200)
	}
	upload(t, writer, strings.Replace(sampleContract, "version: 1.0.0", "version: 9.0.0", 1)).want(t, 201)
	answer := h.anyone().get(t, contractTarget+"/releases").want(t, 200)
	var got webcontracts.ReleasesAnswer
	answer.decode(t, &got)
	if len(got.Releases) != 3 || got.Tags["latest"] != "1.1.0" || strings.Contains(string(answer.body), "null") {
		t.Fatalf("releases %s", answer.body)
	}
	for _, r := range got.Releases {
		if r.IsStable == strings.Contains(r.Version, "-") || r.ReleaseTimestamp.IsZero() || !strings.HasPrefix(r.Digest, "sha256:") {
			t.Errorf("release %+v", r)
		}
	}
}

// Rules: EDU-06a, EDU-N03.
func TestCatalog(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	writer := h.writer(t)
	writer.postJSON(t, "/registry/v1/contracts", `{"id":"webhook","kind":"openapi","title":"Webhook","visibility":"public"}`).want(t, 201)
	writer.do(t, http.MethodPost, "/registry/v1/contracts/webhook/versions", `{"openapi":"3.1.0","info":{"title":"t","version":"1.0.0"},"paths":{}}`,
		"Content-Type", "application/json").want(t, 201)
	writer.publishVersion(t, "/registry/v1/contracts/webhook/versions/1.0.0", "").want(t, 200)
	answer := h.anyone().get(t, "/.well-known/api-catalog").want(t, 200)
	var got struct{ Linkset []webcontracts.LinkContext }
	noError(t, json.Unmarshal(answer.body, &got))
	if len(got.Linkset) != 6 || len(got.Linkset[0].Item) != 5 || answer.header.Get("Content-Type") != webcontracts.CatalogType {
		t.Fatalf("catalog %s", answer.body)
	}
	for _, c := range got.Linkset[1:] {
		h.anyone().get(t, strings.TrimPrefix(c.ServiceDesc[0].Href, apiTestBase)).want(t, 200)
	}
}
