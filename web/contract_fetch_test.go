package web

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
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
	wantText(t, o.page(t, "/admin/contracts/student-events/upload"), "Fetch what the document refers to on other servers", "once")
	wantRedirect(t, o.admin.upload(t, to, nil, "students.yaml", at("/student.yaml")), here)
	if asked.Load() != 0 {
		t.Fatal("it was fetched without consent")
	}
	wantText(t, o.page(t, here), "It cannot be published yet")

	consent := url.Values{"fetch": {"on"}}
	gone := o.admin.upload(t, to, consent, "students.yaml", at("/gone.yaml"))
	wantStatus(t, gone, http.StatusUnprocessableEntity)
	wantText(t, text(gone), "students.yaml, line 7", "/gone.yaml", "answers 404", "Correct the reference", `name="fetch"`)
	wantRedirect(t, o.admin.upload(t, to, consent, "students.yaml", at("/student.yaml")), here)
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(schema)))
	page := o.page(t, here)
	wantText(t, page, "Publish this version", "Files of the upload", "Fetched", server.URL+"/student.yaml", digest, "Tells which file stands for which address", "students.zip")
	before := asked.Load()
	v, err := o.db.ContractVersion(t.Context(), "student-events", "2.0.0")
	noError(t, err)
	server.Close()
	wantStatus(t, o.admin.post(to+"/2.0.0/publication", url.Values{"digest": {v.Digest}, "reason": {"needed"}}), http.StatusSeeOther)
	if asked.Load() != before {
		t.Error("publishing asked the server")
	}
	wantText(t, text(o.admin.get(here+"/yaml")), "#/components/schemas/student")
	wantText(t, text(o.admin.get("/admin/audit")), "student-events")
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
	wantText(t, o.page(t, here), warning, server.URL+"/school.json", "Publish this version")

	consent := url.Values{"fetch": {"on"}}
	wantRedirect(t, o.admin.upload(t, to, consent, "schools.yaml", at("/gone.json")), here)
	page := o.page(t, here)
	wantText(t, page, warning, server.URL+"/gone.json", "Publish this version")
	lacks(t, page, "Files of the upload")

	asked.Store(0)
	wantRedirect(t, o.admin.upload(t, to, consent, "schools.yaml", at("/school.json")), here)
	page = o.page(t, here)
	wantText(t, page, "Files of the upload", "Fetched", server.URL+"/school.json", fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(school))))
	lacks(t, page, warning)
	v, err := o.db.ContractVersion(t.Context(), "schools", "2.0.0")
	noError(t, err)
	server.Close()
	wantStatus(t, o.admin.post(to+"/2.0.0/publication", url.Values{"digest": {v.Digest}, "reason": {"needed"}}), http.StatusSeeOther)
	if asked.Load() != 1 {
		t.Errorf("the example was asked for %d times", asked.Load())
	}
	document := text(o.admin.get(here + "/yaml"))
	wantText(t, document, "De Berkel")
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
	answer := owner.upload(t, "/partner/contracts/grade-events/versions", url.Values{"fetch": {"on"}}, "a.yaml", []byte(document))
	wantStatus(t, answer, http.StatusForbidden)
	wantText(t, text(answer), "fetches nothing for you", "schakel contract bundle")
}
