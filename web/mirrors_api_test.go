package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"schakel/store"
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
		_, err := h.reg.Mirrors.Run(t.Context(), id, "Ada")
		noError(t, err)
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
