package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/store"
	webcontracts "schakel/web/contracts"
)

// mirrorClient is the client of a source that a test starts after the harness.
type mirrorClient struct{ *http.Client }

// mirrorBody returns the document of the source below, which can change.
func mirrorBody(word string) string {
	return `{"openapi":"3.1.0","info":{"title":"Students","version":"1.0.0","description":"` + word + `"},"paths":{}}`
}

// newMirrorSource serves one document and gives the address of it.
func newMirrorSource(t *testing.T) (url string, body *atomic.Value, client *http.Client) {
	body = &atomic.Value{}
	body.Store(mirrorBody("first"))
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(body.Load().(string)))
	}))
	t.Cleanup(s.Close)
	return s.URL + "/students.json", body, s.Client()
}

// A machine of the own organisation does with mirrors what its administrators do, and
// to others they are closed.
//
// Rules: EDU-06e, EDU-N05, EDU-N06.
func TestMirrorsOverTheAPI(t *testing.T) {
	t.Parallel()
	address, body, client := newMirrorSource(t)
	h := newAPIHarness(t, nil)
	h.mirror.Client = client
	writer := h.writer(t)
	const base = "/registry/v1/mirrors"
	writer.postJSON(t, base, `{"name":"N","kind":"ftp","schedule":"always"}`).problem(t, 400, "invalid")
	writer.postJSON(t, base, `{"name":"Noord","kind":"urls","urls":["`+address+`"],"schedule":"@daily","key":"two words"}`).problem(t, 400, "invalid")
	made := writer.postJSON(t, base, `{"name":"Noord","kind":"urls","urls":["`+address+`"],"schedule":"@daily","key":"not-to-be-told"}`).want(t, 201)
	id := made.member(t, "mirrorId").(string)
	one := base + "/" + id
	if strings.Contains(string(made.body), "not-to-be-told") || made.member(t, "hasKey") != true || made.header.Get("Location") != one {
		t.Errorf("made %s", made.body)
	}
	change := func(body string) apiAnswer {
		return writer.do(t, http.MethodPatch, one, body, "Content-Type", "application/merge-patch+json")
	}
	change(`{"prefix":"other"}`).problem(t, 400, "invalid")
	change(`{"urls":["https://elsewhere.example/x"]}`).problem(t, 400, "invalid")
	if changed := change(`{"schedule":"@every 6h","key":""}`).want(t, 200); changed.member(t, "hasKey") != false {
		t.Errorf("changed %s", changed.body)
	}
	writer.postJSON(t, one+"/runs", "").want(t, 202)
	for _, word := range []string{"first", "second"} {
		body.Store(mirrorBody(word))
		must(h.reg.Mirrors.Run(t.Context(), id, "Ada"))(t)
	}
	h.checkMirrored(t, writer, one)
	copies := writer.get(t, one+"/copies?perPage=1").want(t, 200)
	if copies.header.Get("Total-Count") != "1" || !strings.Contains(string(copies.body), `"contractId":"noord-students","contract":"students"`) {
		t.Errorf("copies %s", copies.body)
	}

	partner := h.newPartner(t, "School")
	reads, writes := h.consumer(t, partner.ID), h.newClient(t, partner.ID, registryWrite())
	for _, path := range []string{base, one, one + "/copies", one + "/runs", one + "/runs/x", one + "/alarms", one + "/alarms/x", one + "/alarms/x/content"} {
		reads.get(t, path).problem(t, 403, "forbidden")
		h.anyone().get(t, path).want(t, 401)
	}
	writes.postJSON(t, base, `{"name":"Mine","kind":"schakel","url":"https://x.example","schedule":"@daily"}`).problem(t, 403, "forbidden")
	writes.postJSON(t, one+"/runs", "").problem(t, 403, "forbidden")
	writes.postJSON(t, one+"/alarms/x/settlement", `{"reason":"because"}`).problem(t, 403, "forbidden")
	writes.do(t, http.MethodDelete, one, "").problem(t, 403, "forbidden")
	for _, path := range []string{base + "/x", base + "/x/copies", one + "/runs/x", one + "/alarms/x", one + "/alarms/x/content"} {
		writer.get(t, path).problem(t, 404, "not-found")
	}
	writer.get(t, one+"/alarms?status=loud").want(t, 400)

	writer.do(t, http.MethodDelete, one, "").want(t, 204)
	writer.get(t, one).problem(t, 404, "not-found")
	if got, _ := json.Marshal(writer.get(t, "/registry/v1/contracts/noord-students").want(t, 200).member(t, "copyOf")); !strings.Contains(string(got), "https://127.0.0.1") {
		t.Errorf("without its mirror the copy is one of %s", got)
	}
}

func (h *apiHarness) checkMirrored(t *testing.T, writer *apiClient, one string) {
	t.Helper()
	var runs struct {
		Runs []struct {
			RunID        string
			New, Changed int
		}
	}
	writer.get(t, one+"/runs").want(t, 200).decode(t, &runs)
	if len(runs.Runs) != 2 || runs.Runs[0].Changed != 1 || runs.Runs[1].New != 1 {
		t.Fatalf("runs %+v", runs)
	}
	if run := writer.get(t, one+"/runs/"+runs.Runs[0].RunID).want(t, 200); !strings.Contains(string(run.body), `"outcome":"changed"`) {
		t.Errorf("run %s", run.body)
	}
	var list struct {
		Alarms []struct{ AlarmID, ContractID string }
	}
	writer.get(t, one+"/alarms?status=open").want(t, 200).decode(t, &list)
	if len(list.Alarms) != 1 || list.Alarms[0].ContractID != "noord-students" {
		t.Fatalf("alarms %+v", list)
	}
	alarm := one + "/alarms/" + list.Alarms[0].AlarmID
	if got := writer.get(t, alarm).want(t, 200); got.member(t, "changes") == nil {
		t.Errorf("alarm %s", got.body)
	}
	if got := writer.get(t, alarm+"/content").want(t, 200); string(got.body) != mirrorBody("second") {
		t.Errorf("kept aside %s", got.body)
	}
	writer.postJSON(t, alarm+"/settlement", `{"reason":"x"}`).problem(t, 400, "invalid")
	writer.postJSON(t, alarm+"/settlement", `{"reason":"They mended a word."}`).want(t, 200)
	writer.postJSON(t, alarm+"/settlement", `{"reason":"Once more."}`).problem(t, 409, "conflict")
	if got := writer.get(t, one).want(t, 200); fmt.Sprint(got.member(t, "openAlarms"), got.member(t, "copies")) != "0 1" {
		t.Errorf("mirror %s", got.body)
	}
	// The copy names its origin; its bytes are the first ones.
	const contract = "/registry/v1/contracts/noord-students"
	if got := writer.get(t, contract+"/versions/1.0.0/original").want(t, 200); string(got.body) != mirrorBody("first") {
		t.Errorf("copy %s", got.body)
	}
	for _, path := range []string{contract, contract + "/versions/1.0.0"} {
		if got, _ := json.Marshal(writer.get(t, path).want(t, 200).member(t, "copyOf")); !strings.Contains(string(got), `"url":"https://127.0.0.1`) {
			t.Errorf("%s is a copy of %s", path, got)
		}
	}
	if list := writer.get(t, "/registry/v1/contracts?q=noord").want(t, 200); !strings.Contains(string(list.body), `"copyOf"`) {
		t.Errorf("list %s", list.body)
	}
	c, err := h.db.Contract(t.Context(), "noord-students")
	if noError(t, err); c.Visibility != store.VisibilityInternal {
		t.Errorf("a copy is %s", c.Visibility)
	}
}

// An administrator mirrors a list of addresses in the portal, and settles the alarm
// about bytes that changed.
//
// Rules: EDU-06e, EDU-N05, EDU-N06.
func TestMirrorPages(t *testing.T) {
	t.Parallel()
	address, body, client := newMirrorSource(t)
	h := newPortalHarness(t)
	h.mirror.Client = client
	b := h.browser().login(t, testEmail)
	wantWords(t, text(b.get(webcontracts.MirrorPages)), "No register is mirrored yet", "Mirror a register")
	wantWords(t, text(b.get(webcontracts.MirrorPages+"/new")), "Apicurio Registry 3", "15 4 * * *")
	form := url.Values{"name": {"Noord"}, "kind": {"urls"}, "urls": {"http://noord.example/x"}, "schedule": {"soon"}, "enabled": {"on"}, "secret": {"two words"}}
	wantPage(t, b.post(webcontracts.MirrorPages, form), http.StatusUnprocessableEntity, "must begin with https://", "Write it as cron does", "without spaces", "http://noord.example/x")
	form.Set("urls", address)
	form.Set("schedule", "@daily")
	form.Set("secret", "not-to-be-told")
	one := redirected(t, b.post(webcontracts.MirrorPages, form))
	page := text(b.get(one))
	wantWords(t, page, "Noord is mirrored on its schedule", "Run it now", "there is one", "start with noord-", "It did not run yet")
	if strings.Contains(page, "not-to-be-told") || strings.Contains(text(b.get(one+"/edit")), "not-to-be-told") {
		t.Error("a page shows the key")
	}
	wantStatus(t, b.post(one+"/runs", nil), http.StatusSeeOther)
	id := strings.TrimPrefix(one, webcontracts.MirrorPages+"/")
	for _, word := range []string{"first", "second"} {
		body.Store(mirrorBody(word))
		must(h.reg.Mirrors.Run(t.Context(), id, "schedule"))(t)
	}
	h.checkAlarmPages(t, b, one, id)

	form.Set("name", "Noordwest")
	form.Del("enabled")
	form.Set("secret", "")
	wantStatus(t, b.post(one+"/edit", form), http.StatusSeeOther)
	wantWords(t, text(b.get(one)), "Noordwest", "it is switched off")
	form.Set("name", "x")
	wantStatus(t, b.post(one+"/edit", form), http.StatusUnprocessableEntity)
	wantWords(t, text(b.get(webcontracts.MirrorPages)), "Noordwest", "1 with other bytes")
	wantStatus(t, b.get(webcontracts.MirrorPages+"/none"), http.StatusNotFound)
	h.checkMirrorCopies(t, b, id)
	partner, _ := h.at(t, "pat@example.nl")
	for _, path := range []string{webcontracts.MirrorPages, webcontracts.MirrorPages + "/new", one, one + "/edit", one + "/copies"} {
		wantStatus(t, partner.get(path), http.StatusForbidden)
	}
	wantStatus(t, partner.post(one+"/runs", nil), http.StatusForbidden)
	wantStatus(t, partner.post(one+"/removal", nil), http.StatusForbidden)

	wantStatus(t, b.post(one+"/removal", url.Values{"reason": {strings.Repeat("x", 1001)}}), http.StatusUnprocessableEntity)
	wantStatus(t, b.post(one+"/removal", url.Values{"reason": {"Noord stops."}}), http.StatusSeeOther)
	wantWords(t, text(b.get(webcontracts.MirrorPages)), "Noordwest is not mirrored any more. Its copies stay.", "No register is mirrored yet")
	wantStatus(t, b.get(one), http.StatusNotFound)
	wantWords(t, text(b.get("/contracts/noord-students")), "A copy of https://127.0.0.1", "not mirrored any more")
}

// checkMirrorCopies has more copies than the page of a mirror shows, and publishes one
// that its source deprecated while it waited.
func (h *portalHarness) checkMirrorCopies(t *testing.T, b *browser, id string) {
	t.Helper()
	ctx := t.Context()
	noError(t, h.db.Write(ctx, func(tx *store.Tx) error {
		for i := range 25 {
			contract := store.Contract{ID: fmt.Sprintf("noord-more-%02d", i), Kind: "openapi", Title: "More", Visibility: store.VisibilityInternal}
			copied := store.MirrorContract{ContractID: contract.ID, SourceID: id, OriginID: fmt.Sprintf("more-%02d", i), OriginURL: "https://noord.example"}
			if err := errors.Join(tx.InsertContract(ctx, &contract), tx.InsertMirrorContract(ctx, &copied)); err != nil {
				return err
			}
		}
		return nil
	}))
	one := webcontracts.MirrorPages + "/" + id
	wantWords(t, text(b.get(one)), "26 contracts", "See all 26 copies", one+"/copies")
	wantWords(t, text(b.get(one+"/copies")), "Copies from Noord", "noord-more-24", "26 contracts")
	wantWords(t, text(b.get(one+"/copies?page=2")), "noord-students")

	noError(t, h.db.Write(ctx, func(tx *store.Tx) error {
		draft, err := tx.ContractVersion(ctx, "noord-students", "1.0.0")
		if err != nil {
			return err
		}
		draft.Status = store.VersionDraft
		return errors.Join(tx.SetVersionStatus(ctx, &draft, store.VersionPublished), tx.SetMirrorCopyStatus(ctx, draft.ID, store.VersionDeprecated))
	}))
	publication := "/admin/contracts/noord-students/versions/1.0.0/publication"
	page := text(b.get(publication))
	wantWords(t, page, "this version is deprecated at its source", "it is deprecated at once")
	digest := regexp.MustCompile(`name="digest" value="([^"]+)"`).FindStringSubmatch(page)
	if digest == nil {
		t.Fatal("the form has no digest")
	}
	wantStatus(t, b.post(publication, url.Values{"digest": {digest[1]}}), http.StatusSeeOther)
	wantWords(t, text(b.get("/contracts/noord-students/versions/1.0.0")), "is published, and deprecated as it is at its source")
}

func (h *portalHarness) checkAlarmPages(t *testing.T, b *browser, one, id string) {
	t.Helper()
	ctx := t.Context()
	alarms, _, err := h.db.MirrorAsides(ctx, store.MirrorAsideFilter{SourceID: id})
	noError(t, err)
	runs, _, err := h.db.MirrorRuns(ctx, id, store.Page{})
	noError(t, err)
	if len(alarms) != 1 || len(runs) != 2 {
		t.Fatalf("alarms %+v, runs %+v", alarms, runs)
	}
	alarm := one + "/alarms/" + alarms[0].ID
	wantWords(t, text(b.get(one)), "gives other bytes than it did before", "Not settled", "noord-students", "1 with other bytes")
	wantWords(t, text(b.get(one+"/runs/"+runs[0].ID)), "Other bytes", "our copy stays as it is")
	wantWords(t, text(b.get(alarm)), "Our copy", "The other bytes", alarms[0].Digest, "Settle the alarm")
	download := b.get(alarm + "/content")
	if got := text(download); got != mirrorBody("second") || !strings.HasPrefix(download.Header.Get("Content-Disposition"), "attachment") {
		t.Errorf("kept aside %q, %s", got, download.Header.Get("Content-Disposition"))
	}
	for _, path := range []string{"/contracts/noord-students", "/contracts/noord-students/versions/1.0.0"} {
		wantWords(t, text(b.get(path)), "Copy", "Other bytes at the source", alarm, "127.0.0.1")
	}
	wantStatus(t, b.post(alarm+"/settlement", url.Values{"reason": {"x"}}), http.StatusUnprocessableEntity)
	wantStatus(t, b.post(alarm+"/settlement", url.Values{"reason": {"They mended a word."}}), http.StatusSeeOther)
	wantWords(t, text(b.get(alarm)), "Settled by Ada Admin", "They mended a word.")
	wantWords(t, text(b.get("/admin/audit")), "settled the alarm about other bytes")
	wantStatus(t, b.get(one+"/alarms/none"), http.StatusNotFound)
}

// served answers requests with the router of another installation, as if it were there.
type served struct{ http.Handler }

func (s served) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Result(), nil
}

// A Schakel can be mirrored by its catalogue at the well-known place, as by who knows
// no other way into a register: the descriptions of its own APIs and its public OpenAPI
// contracts come over, and a new version joins the one before it.
//
// Rules: EDU-06e, EDU-N03, EDU-N06.
func TestCatalogOfASchakelIsMirrored(t *testing.T) {
	t.Parallel()
	theirs, ours := newAPIHarness(t, nil), newAPIHarness(t, nil)
	ours.mirror.Client = &http.Client{Transport: served{theirs.app.Handler()}}
	writer := theirs.writer(t)
	const contract = "/registry/v1/contracts/webhook"
	publish := func(version string) string {
		body := fmt.Sprintf(`{"openapi":"3.1.0","info":{"title":"t","version":%q},"paths":{}}`, version)
		writer.do(t, http.MethodPost, contract+"/versions", body, "Content-Type", "application/json").want(t, 201)
		writer.publishVersion(t, contract+"/versions/"+version, "").want(t, 200)
		return body
	}
	writer.postJSON(t, "/registry/v1/contracts", `{"id":"webhook","kind":"openapi","title":"Webhook","visibility":"public"}`).want(t, 201)
	writer.postJSON(t, "/registry/v1/contracts", `{"id":"hidden","kind":"openapi","title":"Hidden","visibility":"internal"}`).want(t, 201)
	publish("1.0.0")

	ctx := t.Context()
	s := must(ours.reg.Mirrors.Create(ctx, registry.SystemActor(), contracts.MirrorInput{
		Name: "Noord", Kind: store.MirrorCatalog, URL: apiTestBase, Schedule: "@daily", Enabled: true,
	}))(t)
	run := func(want string) {
		t.Helper()
		row := must(ours.reg.Mirrors.Run(ctx, s.ID, "Ada"))(t)
		if got := fmt.Sprintf("%d new, %d unchanged, %d marked, %d refused, %d failed", row.Added, row.Unchanged, row.Marked, row.Refused, row.Failed); got != want || row.Error != "" {
			t.Fatalf("%s %s, want %s: %s", got, row.Error, want, row.Lines)
		}
	}
	run("5 new, 0 unchanged, 0 marked, 0 refused, 0 failed") // the contract and four APIs
	run("0 new, 5 unchanged, 0 marked, 0 refused, 0 failed")
	body := publish("1.1.0")
	run("1 new, 4 unchanged, 1 marked, 0 refused, 0 failed") // 1.0.0 is not offered in its place
	mine := "noord-registry-v1-contracts-webhook"
	reader := ours.writer(t)
	if got := reader.get(t, "/registry/v1/contracts/"+mine).want(t, 200); got.member(t, "title") != "Webhook" {
		t.Errorf("copy %s", got.body)
	}
	if got := reader.get(t, "/registry/v1/contracts/"+mine+"/versions/1.1.0/content.json").want(t, 200); string(got.body) != body {
		t.Errorf("copied %s", got.body)
	}
	reader.get(t, "/registry/v1/contracts/"+mine+"/versions/1.0.0").want(t, 200)
	writer.do(t, http.MethodPatch, contract, `{"title":"Webhook of schools"}`, "Content-Type", "application/merge-patch+json").want(t, 200)
	run("0 new, 5 unchanged, 0 marked, 0 refused, 0 failed")
	if got := reader.get(t, "/registry/v1/contracts/"+mine).want(t, 200); got.member(t, "title") != "Webhook of schools" {
		t.Errorf("after the source was renamed: %s", got.body)
	}
}
