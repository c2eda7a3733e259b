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
	webcontracts "schakel/web/contracts"
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
	must(o.reg.Contracts.Upload(ctx, system, "student-events", contracts.Upload{Version: "2.0.0", Content: []byte(nextContract("2.0.0"))}))(t)
	base := "/admin/contracts/student-events/versions/2.0.0/publication"
	page := o.page(t, base)
	v := must(o.db.ContractVersion(ctx, "student-events", "2.0.0"))(t)
	wantWords(t, page, `name="digest" value="`+v.Digest+`"`)
	wantStatus(t, o.admin.post(base, url.Values{}), http.StatusPreconditionRequired)
	swapped := strings.Replace(nextContract("2.0.0"), "title: ", "title: Swapped ", 1)
	must(o.reg.Contracts.Upload(ctx, system, "student-events", contracts.Upload{Version: "2.0.0", Content: []byte(swapped)}))(t)
	stale := o.admin.post(base, url.Values{"digest": {v.Digest}, "reason": {"needed"}})
	wantStatus(t, stale, http.StatusPreconditionFailed)
	now := must(o.db.ContractVersion(ctx, "student-events", "2.0.0"))(t)
	wantWords(t, text(stale), "replaced since you looked at it", now.Digest)
	if now.Status != store.VersionDraft {
		t.Errorf("the swapped draft is %s", now.Status)
	}
	wantStatus(t, o.admin.post(base, url.Values{"digest": {now.Digest}, "reason": {"needed"}}), http.StatusSeeOther)
}

// nextContract is sampleContract after a breaking change and an addition.
func nextContract(version string) string {
	return strings.NewReplacer(
		"version: 1.0.0", "version: "+version, "properties: {studentId: {type: string}}", "properties: {studentId: {type: integer}}",
		"      left:\n", "      moved: {name: nl.example.student.moved, payload: {type: object}}\n      left:\n",
	).Replace(sampleContract)
}

func TestContractChanges(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	writer := h.writer(t)
	publishedContract(t, writer, "public")
	upload(t, writer, nextContract("2.0.0")).want(t, 201)
	target := contractTarget + "/versions/2.0.0/changes"
	h.anyone().get(t, target).problem(t, 404, "not-found") // a draft
	writer.get(t, target).want(t, 200)
	writer.publishVersion(t, contractTarget+"/versions/2.0.0", "").want(t, 200)

	answer := h.anyone().get(t, target).want(t, 200)
	got := decoded[webcontracts.ChangesAnswer](t, answer)
	if got.From != "1.0.0" || got.To != "2.0.0" || got.Level != "breaking" || got.SuggestedVersion != "2.0.0" ||
		got.Counts.Breaking == 0 || got.Counts.Info == 0 || len(got.Causes) < 2 {
		t.Fatalf("changes %s", answer.body)
	}
	first := got.Changes[0]
	if first.Level != "breaking" || len(first.EventTypes) != 1 || first.EventTypes[0] != "nl.example.student.enrolled" || first.Explanation == "" || first.Cause == "" {
		t.Errorf("first change %+v", first)
	}
	h.anyone().do(t, http.MethodGet, target, "", "If-None-Match", answer.header.Get("ETag")).want(t, http.StatusNotModified)
	same := h.anyone().get(t, contractTarget+"/versions/latest/changes?from=1.0.0").want(t, 200)
	if string(same.body) != string(answer.body) {
		t.Errorf("by other names another answer: %s", same.body)
	}
	none := h.anyone().get(t, contractTarget+"/versions/1.0.0/changes?from=1.0.0").want(t, 200)
	if text := string(none.body); !strings.Contains(text, `"changes":[]`) || strings.Contains(text, `"level"`) {
		t.Errorf("with itself: %s", text)
	}
	h.anyone().get(t, contractTarget+"/versions/1.0.0/changes").problem(t, 404, "not-found")
	h.anyone().get(t, target+"?from=0.1.0").problem(t, 404, "not-found")
	h.anyone().get(t, target+"?from=%27--").problem(t, 404, "not-found")
}

// TestContractChangesVisibility: changes are seen by who sees both versions.
func TestContractChangesVisibility(t *testing.T) {
	t.Parallel()
	for visibility, tc := range map[string]struct{ anyone, partner int }{
		"public": {200, 200}, "partners": {404, 200}, "internal": {404, 404},
	} {
		h := newAPIHarness(t, nil)
		writer := h.writer(t)
		publishedContract(t, writer, visibility)
		upload(t, writer, nextContract("2.0.0")).want(t, 201)
		writer.publishVersion(t, contractTarget+"/versions/2.0.0", "").want(t, 200)
		upload(t, writer, nextContract("3.0.0")).want(t, 201)
		reads := h.consumer(t, h.newPartner(t, "School").ID)
		for c, want := range map[*apiClient]int{h.anyone(): tc.anyone, reads: tc.partner, writer: 200} {
			if answer := c.get(t, contractTarget+"/versions/2.0.0/changes?from=1.0.0"); answer.status != want {
				t.Errorf("%s: %d, want %d", visibility, answer.status, want)
			}
			draft := c.get(t, contractTarget+"/versions/2.0.0/changes?from=3.0.0").status
			if draft == http.StatusOK != (c == writer) {
				t.Errorf("%s: against a draft %d", visibility, draft)
			}
		}
	}
}

// TestPublishBreaking: a breaking change under a minor version needs a reason.
func TestPublishBreaking(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	writer := h.writer(t)
	publishedContract(t, writer, "public")
	upload(t, writer, nextContract("1.1.0")).want(t, 201)
	target := contractTarget + "/versions/1.1.0"
	refused := writer.publishVersion(t, target, "")
	refused.problem(t, http.StatusConflict, "breaking-change")
	if text := string(refused.body); !strings.Contains(text, "2.0.0") || !strings.Contains(text, `"errors":[{"pointer":"/`) {
		t.Errorf("it does not say what breaks: %s", text)
	}
	for _, body := range []string{`{"reason":""}`, `{"reason":" "}`} {
		writer.publishVersion(t, target, body).problem(t, http.StatusConflict, "breaking-change")
	}
	writer.publishVersion(t, target, `{"reason":"no"}`).want(t, http.StatusBadRequest)
	writer.publishVersion(t, target, `{"why":"Agreed."}`).want(t, http.StatusBadRequest)
	done := writer.publishVersion(t, target, `{"reason":"Agreed with all partners."}`).want(t, 200)
	if !strings.Contains(string(done.body), "Agreed with all partners.") {
		t.Errorf("the reason is lost: %s", done.body)
	}
}
