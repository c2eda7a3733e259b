package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/store"
)

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
	s, err := ours.reg.Mirrors.Create(ctx, registry.SystemActor(), contracts.MirrorInput{
		Name: "Noord", Kind: store.MirrorCatalog, URL: apiTestBase, Schedule: "@daily", Enabled: true,
	})
	noError(t, err)
	run := func(want string) {
		t.Helper()
		row, err := ours.reg.Mirrors.Run(ctx, s.ID, "Ada")
		noError(t, err)
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
