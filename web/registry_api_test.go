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
	file := must(form.CreateFormFile("document", "students.yaml"))(t)
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
	got := decoded[webcontracts.ReleasesAnswer](t, answer)
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

// Metadata is changed in parts, and a new owner comes with what was agreed.
//
// Rules: EDU-06c, EDU-22, EDU-25, CE-07, CE-20.
func TestContractPatch(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	writer := h.writer(t)
	publishedContract(t, writer, "partners")
	patch := func(c *apiClient, body string) apiAnswer {
		return c.do(t, http.MethodPatch, contractTarget, body, "Content-Type", "application/merge-patch+json")
	}
	changed := patch(writer, `{"classification":"BIV 2-2-2","basedOn":"OSO 2.4","idMeaning":"A random UUID.","timeMeaning":"When we wrote it down.","contact":{"name":"Ada"}}`).want(t, 200)
	for name, want := range map[string]any{
		"title": "Student events", "classification": "BIV 2-2-2", "basedOn": "OSO 2.4", "idMeaning": "A random UUID.", "timeMeaning": "When we wrote it down.",
	} {
		if got := changed.member(t, name); got != want {
			t.Errorf("%s is %v", name, got)
		}
	}
	patch(writer, `{"title":"x"}`).problem(t, 400, "invalid")
	patch(writer, `{"contact":{"email":"nobody"}}`).problem(t, 400, "invalid")
	patch(writer, `{"agreedOn":"soon"}`).problem(t, 400, "invalid")
	patch(writer, `{"visibility":"public"}`).problem(t, 400, "invalid")
	school := h.newPartner(t, "School")
	reads := h.newClient(t, school.ID, registryWrite())
	patch(reads, `{"title":"Mine now"}`).problem(t, 404, "not-found")
	patch(writer, `{"ownerPartnerId":"`+school.ID+`"}`).problem(t, 400, "invalid")
	moved := patch(writer, `{"ownerPartnerId":"`+school.ID+`","agreement":"Chain board","agreedOn":"2026-05-01"}`).want(t, 200)
	if moved.member(t, "owner") != "School" || moved.member(t, "agreedOn") != "2026-05-01" {
		t.Errorf("moved %s", moved.body)
	}
	patch(writer, `{"title":"Still mine"}`).problem(t, 404, "not-found")
	patch(reads, `{"title":"Mine now","owner":"Nobody"}`).want(t, 200)
	if got := reads.get(t, contractTarget).want(t, 200); got.member(t, "owner") != "School" || got.member(t, "title") != "Mine now" {
		t.Errorf("got %s", got.body)
	}
}

// Who sees a contract is changed with a reason, and taken away only when that is accepted.
//
// Rules: EDU-06d.
func TestContractVisibilityOverTheAPI(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	writer := h.writer(t)
	publishedContract(t, writer, "internal")
	named, other := h.newPartner(t, "School"), h.newPartner(t, "Other")
	put := func(c *apiClient, body string) apiAnswer {
		return c.do(t, http.MethodPut, contractTarget+"/visibility", body, "Content-Type", "application/json")
	}
	sees := func(visitor, first, second int) {
		t.Helper()
		for c, want := range map[*apiClient]int{h.anyone(): visitor, h.consumer(t, named.ID): first, h.consumer(t, other.ID): second} {
			for _, rest := range []string{"", "/versions", "/releases", "/versions/latest/content", "/versions/1.0.0/original", "/versions/1.0.0/changes?from=1.0.0"} {
				if got := c.get(t, contractTarget+rest); got.status != want {
					t.Errorf("%s: %d, want %d", rest, got.status, want)
				}
			}
			if list := c.get(t, "/registry/v1/contracts").want(t, 200); strings.Contains(string(list.body), "student-events") != (want == 200) {
				t.Errorf("list %s", list.body)
			}
		}
		for c, want := range map[*apiClient]int{h.consumer(t, named.ID): first, h.consumer(t, other.ID): second} {
			if got := c.get(t, "/events/v1/event-types/nl.example.student.left"); got.status != want {
				t.Errorf("event type: %d, want %d", got.status, want)
			}
			if list := c.get(t, "/events/v1/event-types").want(t, 200); strings.Contains(string(list.body), "student-events") != (want == 200) {
				t.Errorf("catalogue %s", list.body)
			}
		}
	}
	sees(404, 404, 404)
	put(writer, `{"visibility":"public"}`).problem(t, 400, "invalid")
	put(writer, `{"visibility":"named","reason":"the board said so"}`).problem(t, 400, "invalid")
	shown := put(writer, `{"visibility":"named","partnerIds":["`+named.ID+`"],"reason":"the board said so"}`).want(t, 200)
	if ids, ok := shown.member(t, "partnerIds").([]any); !ok || len(ids) != 1 {
		t.Errorf("shown %s", shown.body)
	}
	sees(404, 200, 404)
	if got := h.consumer(t, named.ID).get(t, contractTarget).want(t, 200); strings.Contains(string(got.body), "partnerIds") {
		t.Error("a partner sees who else sees it")
	}
	put(writer, `{"visibility":"public","reason":"the board said so"}`).want(t, 200)
	sees(200, 200, 200)
	narrow := `"visibility":"named","partnerIds":["` + other.ID + `"],"reason":"it leaked"`
	lost := put(writer, "{"+narrow+"}").problem(t, http.StatusConflict, "sight-lost")
	if len(lost.Errors) != 2 || lost.Errors[0].Code != "everybody" || lost.Errors[1].Code != named.ID {
		t.Errorf("told %+v", lost.Errors)
	}
	put(writer, "{"+narrow+`,"acceptLoss":true}`).want(t, 200)
	sees(404, 404, 200)
	put(h.newClient(t, other.ID, registryWrite()), "{"+narrow+"}").problem(t, 404, "not-found")
}

// A partner registers its contract over the API, and asks for publication.
//
// Rules: EDU-21.
func TestPartnerContractOverTheAPI(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	school := h.newPartner(t, "School")
	partner := h.newClient(t, school.ID, registryWrite())
	made := partner.postJSON(t, "/registry/v1/contracts", `{"id":"student-events","kind":"asyncapi","title":"Student events","visibility":"public"}`).want(t, 201)
	if made.member(t, "owner") != "School" {
		t.Errorf("made %s", made.body)
	}
	upload(t, partner, sampleContract).want(t, 201)
	stranger := h.newClient(t, h.newPartner(t, "Other").ID, registryWrite())
	draft := contractTarget + "/versions/1.0.0"
	stranger.do(t, http.MethodPost, draft+"/publication", "").problem(t, 404, "not-found")
	upload(t, stranger, sampleContract).problem(t, 404, "not-found")
	asked := partner.publishVersion(t, draft, "").want(t, http.StatusAccepted)
	if asked.member(t, "status") != "draft" || asked.member(t, "publicationRequestedAt") == nil {
		t.Errorf("asked %s", asked.body)
	}
	partner.publishVersion(t, draft, "").problem(t, http.StatusConflict, "conflict")
	h.anyone().get(t, contractTarget).problem(t, 404, "not-found")
	must(publishDraft(t.Context(), h.reg, registry.SystemActor(), "student-events", "1.0.0", ""))(t)
	h.anyone().get(t, contractTarget).want(t, 200)
	partner.do(t, http.MethodPost, contractTarget+"/versions/1.0.0/deprecation", `{"sunset":"2030-01-01"}`, "Content-Type", "application/json").want(t, 200)
	for _, form := range []string{"content", "content.json", "content.yaml", "original"} {
		answer := h.anyone().get(t, contractTarget+"/versions/latest/"+form).want(t, 200)
		if !strings.HasPrefix(answer.header.Get("Deprecation"), "@") || answer.header.Get("Sunset") != "Tue, 01 Jan 2030 23:59:59 GMT" || !strings.Contains(answer.header.Get("Link"), `rel="deprecation"`) {
			t.Errorf("%s: %v", form, answer.header)
		}
	}
	partner.do(t, http.MethodDelete, contractTarget+"/versions/1.0.0/deprecation", "").want(t, 200)
	if answer := h.anyone().get(t, contractTarget+"/versions/1.0.0/original").want(t, 200); answer.header.Get("Deprecation")+answer.header.Get("Sunset") != "" {
		t.Errorf("after the reversal: %v", answer.header)
	}
}

// Advice comes with a version and with the dry run of an upload, the same in both.
//
// Rules: EDU-21.
func TestLintOverTheAPI(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	writer := h.writer(t)
	publishedContract(t, writer, "public")
	version := decoded[struct{ Lint webcontracts.LintAnswer }](t, h.anyone().get(t, contractTarget+"/versions/1.0.0").want(t, 200))
	if version.Lint.Score <= 0 || version.Lint.Score > 100 || len(version.Lint.Sets) != 1 || len(version.Lint.Rules) == 0 || len(version.Lint.Findings) == 0 {
		t.Fatalf("lint %+v", version.Lint)
	}
	for _, f := range version.Lint.Findings {
		if f.Line == 0 || f.Code == "" || f.Remedy == "" {
			t.Errorf("finding %+v", f)
		}
	}
	dry := decoded[webcontracts.ValidationAnswer](t, writer.do(t, http.MethodPost, "/registry/v1/validations", sampleContract, "Content-Type", "application/yaml").want(t, 200))
	if dry.Lint == nil || dry.Lint.Score != version.Lint.Score || !dry.Publishable {
		t.Errorf("dry run %+v", dry)
	}
}
