package web

import (
	"net/http"
	"strings"
	"testing"

	"schakel/static"
	"schakel/web/site"
)

// An organisation gives the portal its name, logo and style sheet: every page names them, after ours, and they are served.
func TestBrandingOfAnOrganisation(t *testing.T) {
	t.Parallel()
	theme := ".schakel-theme { --s-accent: #a00 }"
	branding := static.NewBranding(map[string][]byte{site.BrandingTheme: []byte(theme), site.BrandingSVG: []byte("<svg/>")})
	h := newHarness(t, func(cfg *Config) { cfg.Name, cfg.Branding = "Gemeente Zaanstad", branding })
	page := wantPage(t, h.browser().get("/login"), http.StatusOK, "<title>Log in - Gemeente Zaanstad</title>", branding.Path(site.BrandingSVG))
	if ours, own := strings.Index(page, "schakel.css"), strings.Index(page, branding.Path(site.BrandingTheme)); ours < 0 || own < ours {
		t.Errorf("style sheets at %d and %d; want the organisation's after ours", ours, own)
	}
	answer := h.browser().get(branding.Path(site.BrandingTheme))
	if got := text(answer); answer.StatusCode != http.StatusOK || got != theme || answer.Header.Get("Content-Type") != "text/css; charset=utf-8" {
		t.Errorf("%d %q %v", answer.StatusCode, got, answer.Header)
	}
	wantStatus(t, h.browser().get("/branding/0123/theme.css"), http.StatusNotFound)
	plain := newHarness(t, nil).browser()
	if page := wantPage(t, plain.get("/login"), http.StatusOK, " - Schakel</title>"); strings.Contains(page, "/branding/") {
		t.Error("a page without a branding names its files")
	}
	wantStatus(t, plain.get("/branding/theme.css"), http.StatusNotFound)
}
