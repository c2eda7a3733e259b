package web

import (
	"net/http"
	"strings"
	"testing"

	webcontracts "schakel/web/contracts"
)

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
	var got webcontracts.ChangesAnswer
	answer.decode(t, &got)
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
