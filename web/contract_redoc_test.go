package web

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"schakel/registry"
)

// The page of the extra view lets Redoc write styles with a nonce of this answer,
// and reach nothing but us.
func TestRedocPage(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	o.openAPI(t, "schools", readableContract)
	target := "/contracts/schools/versions/1.0.0/redoc"
	wantStatus(t, o.browser().get(target), http.StatusNotFound) // a draft
	_, err := publishDraft(t.Context(), o.reg, registry.SystemActor(), "schools", "1.0.0", "")
	noError(t, err)
	nonces := map[string]bool{}
	for range 2 {
		answer := o.browser().get(target)
		wantStatus(t, answer, http.StatusOK)
		policy, page := answer.Header.Get("Content-Security-Policy"), text(answer)
		found := regexp.MustCompile(`script-src 'nonce-(\w{20,})';`).FindStringSubmatch(policy)
		if found == nil || strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") || strings.Contains(policy, "allow-popups") {
			t.Fatalf("policy %s", policy)
		}
		nonces[found[1]] = true
		wantText(t, page, `nonce="`+found[1]+`"`, `spec-url="/contracts/schools/versions/1.0.0/json"`, `disable-telemetry="true"`, "<noscript>", `href="/contracts/schools/versions/1.0.0/reading"`)
		if strings.Contains(page, `"https:`) || strings.Contains(page, "<style") {
			t.Errorf("page %s", page)
		}
		if answer.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("it is kept: %v", answer.Header)
		}
	}
	if len(nonces) != 2 {
		t.Error("two answers have one nonce")
	}
	wantText(t, text(o.browser().get("/contracts/schools/versions/1.0.0/reading")), "Another view: Redoc", target)
}

func TestReadingLeadsToOtherVersions(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	o.secondVersion(t, "2.0.0")
	here := "/contracts/student-events/versions/"
	wantText(t, o.page(t, here+"1.0.0/reading"), "Other versions", `href="`+here+`2.0.0/reading"`, here+"2.0.0/changes?from=1.0.0")
	wantText(t, o.page(t, here+"2.0.0/reading"), here+"2.0.0/changes?from=1.0.0", `href="`+here+`1.0.0/reading"`)
	if page := text(o.asPartner(t).get(here + "1.0.0/reading")); strings.Contains(page, "2.0.0") {
		t.Error("a partner sees a draft")
	}
}
