package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A page of another site that sends If-None-Match asks first whether it may: yes for public documents and catalogues, with the
// methods and headers that reading needs, and no for all else; a request that is no preflight is refused as before (EDU-03f).
//
// Rules: EDU-06e, EDU-03f
func TestPreflightOfPublicDocuments(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	publishedContract(t, h.writer(t), "public")
	version := contractTarget + "/versions/1.0.0"
	ask := func(target, method, headers string) apiAnswer {
		t.Helper()
		return h.anyone().do(t, http.MethodOptions, target, "", "Origin", "https://docs.example", "Access-Control-Request-Method", method, "Access-Control-Request-Headers", headers)
	}
	for _, target := range []string{
		"/registry/v1/contracts", "/registry/v1/contracts?page=2", contractTarget, contractTarget + "/releases", contractTarget + "/versions", version,
		version + "/changes", version + "/original", version + "/content", version + "/content.json", version + "/content.yaml", contractTarget + "/versions/1.0.0%2Bbuild.5",
		"/.well-known/api-catalog", "/registry/v1/openapi.json", "/events/v1/openapi.yaml", "/oauth/openapi.json", "/mutations/v1/openapi.json",
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			answer := ask(target, method, "if-none-match").want(t, http.StatusNoContent)
			for name, want := range map[string]string{"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Methods": "GET, HEAD", "Access-Control-Max-Age": "86400", "Access-Control-Allow-Credentials": ""} {
				if got := answer.header.Get(name); got != want {
					t.Errorf("%s %s: %s is %q, want %q", method, target, name, got, want)
				}
			}
			if allowed := answer.header.Get("Access-Control-Allow-Headers"); !strings.Contains(allowed, "If-None-Match") || strings.Contains(allowed, "Authorization") || strings.Contains(allowed, "*") {
				t.Errorf("%s %s: allows %q", method, target, allowed)
			}
		}
		wantClosed(t, ask(target, http.MethodPost, "content-type"), target)
		wantClosed(t, h.anyone().do(t, http.MethodOptions, target, "", "WebHook-Request-Origin", "sender.example"), target)
	}
	for _, target := range []string{
		"/events/v1/events", "/events/v1/deliveries", "/events/v1/subscriptions", "/events/v1/quarantined-requests", "/registry/v1/mirrors", "/registry/v1/validations",
		version + "/withdrawal", version + "/publication", contractTarget + "/visibility", "/mutations/v1/datasets", "/oauth/token", "/oauth/jwks",
	} {
		wantClosed(t, ask(target, http.MethodGet, "authorization"), target)
		if answer := h.anyone().get(t, target); answer.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: any site may read it", target)
		}
	}
	if answer := ask("/registry/v1/nothing", http.MethodGet, ""); answer.status != http.StatusNotFound {
		t.Errorf("an unknown path: %d", answer.status)
	}
}

func wantClosed(t *testing.T, answer apiAnswer, target string) {
	t.Helper()
	if answer.status != http.StatusMethodNotAllowed || answer.header.Get("Allow") == "" {
		t.Errorf("%s: %d, Allow %q", target, answer.status, answer.header.Get("Allow"))
	}
	for name := range answer.header {
		if strings.HasPrefix(name, "Access-Control-") {
			t.Errorf("%s: %s: %s", target, name, answer.header.Get(name))
		}
	}
}

// The feeds and documents of the pages may be read from anywhere too, and what a login shows may not.
func TestPreflightOfPages(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	for target, public := range map[string]bool{
		"/contracts/feed.atom": true, "/contracts/student-events/feed.atom": true, "/contracts/student-events/versions/1.0.0/original": true,
		"/contracts/student-events/versions/1.0.0/json": true, "/contracts": false, "/contracts/student-events": false, "/admin": false, "/login": false,
	} {
		r := httptest.NewRequest(http.MethodOptions, apiTestBase+target, nil)
		r.Header.Set("Origin", "https://docs.example")
		r.Header.Set("Access-Control-Request-Method", http.MethodGet)
		w := httptest.NewRecorder()
		o.app.Handler().ServeHTTP(w, r)
		if got := w.Header().Get("Access-Control-Allow-Methods"); (got == "GET, HEAD") != public {
			t.Errorf("%s: %q", target, got)
		}
	}
}
