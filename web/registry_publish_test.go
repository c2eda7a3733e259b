package web

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/store"
)

func tagOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return `"sha256:` + hex.EncodeToString(sum[:]) + `"`
}

// A draft is published only under the digest of its bytes: 428 without one, 412 with that of other bytes, and the bytes that
// are published are the bytes that the digest names.
//
// Rules: EDU-06b, EDU-06e
func TestPublishNamesTheReviewedBytes(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	writer := h.writer(t)
	writer.postJSON(t, "/registry/v1/contracts", `{"id":"student-events","kind":"asyncapi","title":"Student events","visibility":"public"}`).want(t, 201)
	upload(t, writer, sampleContract).want(t, 201)
	draft := contractTarget + "/versions/1.0.0"
	reviewed := writer.get(t, draft+"/original").want(t, 200).header.Get("ETag")
	if reviewed != tagOf(sampleContract) {
		t.Fatalf("tag %s", reviewed)
	}
	publish := func(pairs ...string) apiAnswer {
		return writer.do(t, http.MethodPost, draft+"/publication", "", pairs...)
	}
	for _, none := range [][]string{nil, {"If-Match", ""}, {"If-Match", "*"}, {"If-Match", reviewed + `, "sha256:0"`}} {
		publish(none...).problem(t, http.StatusPreconditionRequired, registry.CodeDigestMissing)
	}
	for _, other := range []string{"W/" + reviewed, `"sha256:0"`, `"x"`, strings.ToUpper(reviewed)} {
		publish("If-Match", other).problem(t, http.StatusPreconditionFailed, registry.CodeDraftChanged)
	}
	changed := strings.Replace(sampleContract, "title: ", "title: Swapped ", 1)
	upload(t, writer, changed).want(t, 201)
	publish("If-Match", reviewed).problem(t, http.StatusPreconditionFailed, registry.CodeDraftChanged)
	if got := writer.get(t, draft).member(t, "status"); got != store.VersionDraft {
		t.Fatalf("the swapped draft is %s", got)
	}
	publish("If-Match", tagOf(changed)).want(t, 200)
	if got := h.anyone().get(t, draft+"/original").want(t, 200); string(got.body) != changed {
		t.Errorf("published %d other bytes", len(got.body))
	}
	// What is published already is a conflict of state, whatever bytes the request names.
	publish("If-Match", tagOf(changed)).problem(t, http.StatusConflict, "conflict")
	publish("If-Match", reviewed).problem(t, http.StatusConflict, "conflict")
}

// A repeated request with another condition is another request.
//
// Rules: IDEM-08
func TestPublishKeyCoversTheCondition(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	writer := h.writer(t)
	writer.postJSON(t, "/registry/v1/contracts", `{"id":"student-events","kind":"asyncapi","title":"Student events","visibility":"public"}`).want(t, 201)
	upload(t, writer, sampleContract).want(t, 201)
	publication, key := contractTarget+"/versions/1.0.0/publication", freshKey()
	writer.do(t, http.MethodPost, publication, "", "Idempotency-Key", key, "If-Match", tagOf(sampleContract)).want(t, 200)
	writer.do(t, http.MethodPost, publication, "", "Idempotency-Key", key, "If-Match", tagOf(sampleContract)).want(t, 200)
	writer.do(t, http.MethodPost, publication, "", "Idempotency-Key", key, "If-Match", `"x"`).problem(t, 422, "key-reused")
}

// The page publishes the bytes that it showed, for an administrator who publishes and for one who approves what a partner
// asked for.
func TestPublishPageNamesTheReviewedBytes(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	ctx, system := t.Context(), registry.SystemActor()
	_, err := o.reg.Contracts.Upload(ctx, system, "student-events", contracts.Upload{Version: "2.0.0", Content: []byte(nextContract("2.0.0"))})
	noError(t, err)
	base := "/admin/contracts/student-events/versions/2.0.0/publication"
	page := o.page(t, base)
	v, err := o.db.ContractVersion(ctx, "student-events", "2.0.0")
	noError(t, err)
	if !strings.Contains(page, `name="digest" value="`+v.Digest+`"`) {
		t.Error("the form does not name the bytes")
	}
	wantStatus(t, o.admin.post(base, url.Values{}), http.StatusPreconditionRequired)
	swapped := strings.Replace(nextContract("2.0.0"), "title: ", "title: Swapped ", 1)
	_, err = o.reg.Contracts.Upload(ctx, system, "student-events", contracts.Upload{Version: "2.0.0", Content: []byte(swapped)})
	noError(t, err)
	stale := o.admin.post(base, url.Values{"digest": {v.Digest}, "reason": {"needed"}})
	wantStatus(t, stale, http.StatusPreconditionFailed)
	now, err := o.db.ContractVersion(ctx, "student-events", "2.0.0")
	noError(t, err)
	wantText(t, text(stale), "replaced since you looked at it", now.Digest)
	if now.Status != store.VersionDraft {
		t.Errorf("the swapped draft is %s", now.Status)
	}
	wantStatus(t, o.admin.post(base, url.Values{"digest": {now.Digest}, "reason": {"needed"}}), http.StatusSeeOther)
}
