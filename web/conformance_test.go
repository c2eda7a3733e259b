package web

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"schakel/registry/profile"
	"schakel/web/site"
)

// The conformance page has every rule of RULES.md with its tests, says when they passed or that this is not recorded, and relates the settings of
// this installation: a relaxed one stands at its rule, on the page and in the JSON, and is gone once it is strict.
func TestConformancePage(t *testing.T) {
	t.Parallel()
	guide := must(os.ReadFile("../server/rules/RULES.md"))(t)
	h := newPortalHarness(t, func(p *site.PortalConfig) {
		p.Docs, p.Tested = []site.Doc{{Name: "rules", File: "server/rules/RULES.md", Markdown: string(guide)}}, "2026-11-27"
	})
	b := h.browser().login(t, testEmail)
	rules := 0
	for _, n := range regexp.MustCompile(`(?m)^(\d+) rules\.$`).FindAllSubmatch(guide, -1) {
		rules += must(strconv.Atoi(string(n[1])))(t)
	}
	type answer struct {
		Tested  string
		Relaxed int `json:"relaxedSettings"`
		Rules   []struct {
			ID, NoTestBecause string
			Tests             []string
			MoreTests         int
			Settings          []struct{ Key, Value, Asked, Standing string }
		}
	}
	read := func() (a answer, relaxed string) {
		t.Helper()
		noError(t, json.Unmarshal([]byte(text(b.get("/admin/conformance.json"))), &a))
		for _, r := range a.Rules {
			if (len(r.Tests) == 0) == (r.NoTestBecause == "") {
				t.Errorf("%s has tests %v and the reason %q", r.ID, r.Tests, r.NoTestBecause)
			}
			for _, s := range r.Settings {
				if s.Standing == "relaxed" {
					relaxed += r.ID + " " + s.Key + ";"
				}
			}
		}
		return a, relaxed
	}
	wantRedirect(t, b.post("/admin/settings", h.settingsOf(t, "tokens.client_auth", "client_secret_basic", "reason", "a partner cannot")), "/admin/settings")
	before, relaxed := read()
	if before.Tested != "2026-11-27" || len(before.Rules) != rules || rules < 300 || before.Relaxed == 0 || !strings.Contains(relaxed, "SEC-02 tokens.client_auth;") {
		t.Errorf("tested %q, %d of %d rules, relaxed %d: %s", before.Tested, len(before.Rules), rules, before.Relaxed, relaxed)
	}
	page := text(b.get("/admin/conformance"))
	wantWords(t, page, "2026-11-27", ">EDU-10<", "outbox.TestMachine", "How clients prove who they are: Also a secret in the header (client_secret_basic), where the rules ask for: private_key_jwt alone (SEC-02)")
	dutch := h.browser().login(t, testEmail)
	dutch.header.Set("Accept-Language", "nl")
	wantWords(t, text(dutch.get("/admin/conformance")), "Conformiteit")
	for _, s := range profile.Settings() {
		for _, id := range s.Rules {
			if !strings.Contains(page, ">"+id+"<") {
				t.Errorf("%s is about %s, which is no rule", s.Key, id)
			}
		}
	}
	partner, _ := h.at(t, "pat@example.nl")
	for _, path := range []string{"/admin/conformance", "/admin/conformance.json"} {
		wantStatus(t, partner.get(path), http.StatusForbidden)
	}
	unknown := newPortalHarness(t)
	wantWords(t, text(unknown.browser().login(t, testEmail).get("/admin/conformance")), "Not recorded in this build")
}
