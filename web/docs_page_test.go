package web

import (
	"net/http"
	"strings"
	"testing"

	"schakel/templates/ui/uitest"
	webdocs "schakel/web/docs"
	"schakel/web/site"
)

// sampleDocs are guides that link to each other, to other sites and to what is not served.
func sampleDocs() []site.Doc {
	return []site.Doc{
		{
			Name: "run", File: "server/run.md", Audience: "For operators", Answers: "How to run it.",
			Markdown: "# Running\n\nSee [copies](../copy/copies.md#keep), [here](#start), [contracts](/contracts), [site](https://example.nl/a), [code](../copy), " +
				"[plain](http://example.nl), [bad](javascript:alert(1)), [other](//example.nl) and [none](other.md).\n\n## Start\n\n## Start\n",
		},
		{Name: "copies", File: "copy/copies.md", Audience: "For integrators", Answers: "How to keep one.", Markdown: "# Copies\n\n[Back](../server/run.md)\n\n## Keep\n"},
		{Name: "flags", File: "server/flags.md", Audience: "For operators", Answers: "Which there are.", Markdown: "# Flags\n"},
	}
}

func newDocsHarness(t *testing.T) *portalHarness {
	t.Helper()
	return newPortalHarness(t, func(cfg *site.PortalConfig) { cfg.Docs = sampleDocs() })
}

func TestDocsIndex(t *testing.T) {
	t.Parallel()
	d := newDocsHarness(t)
	page := text(d.browser().get("/docs"))
	wantWords(t, page, `href="/docs/run"`, `href="/docs/copies"`, `href="/docs/flags"`, "How to keep one.", ">Documentation<")
	if strings.Count(page, "For operators") != 1 || strings.Index(page, "For operators") > strings.Index(page, "For integrators") {
		t.Error("the groups do not stand in the order of their first guides, once each")
	}
	wantWords(t, text(d.browser().get("/")), `href="/docs">Documentation</a>`)
	wantWords(t, text(newPortalHarness(t).browser().get("/docs")), "There are no guides here.")
}

func TestDocPage(t *testing.T) {
	t.Parallel()
	d := newDocsHarness(t)
	for _, doc := range sampleDocs() {
		answer := d.browser().get("/docs/" + doc.Name)
		wantStatus(t, answer, http.StatusOK)
		all := uitest.Elements(uitest.Parse(t, text(answer)))
		uitest.CheckPolicy(t, all)
		uitest.CheckReferences(t, all) // heading ids are unique, and what the contents lead to is there
		uitest.CheckNames(t, all)
		uitest.CheckHeadings(t, all)
	}
	wantStatus(t, d.browser().get("/docs/none"), http.StatusNotFound)
	wantStatus(t, d.browser().post("/docs/run", nil), http.StatusMethodNotAllowed)
	page := text(d.browser().get("/docs/run"))
	wantWords(t, page, `href="/docs/copies#keep"`, `href="#start"`, `href="/contracts"`, `href="https://example.nl/a"`, "code, plain, bad, other and none.", `id="start-1"`)
	for _, address := range []string{"javascript:", "http://example.nl", `"//example.nl`, "other.md"} {
		if strings.Contains(page, address) {
			t.Errorf("the guide leads to %s", address)
		}
	}
}

func TestDocsAreTagged(t *testing.T) {
	t.Parallel()
	d := newDocsHarness(t)
	d.partner(t, "pat@example.nl")
	for _, path := range []string{"/docs", "/docs/run"} {
		visitor := d.browser()
		first := visitor.get(path)
		tag := first.Header.Get("ETag")
		wantStatus(t, first, http.StatusOK)
		if tag == "" || first.Header.Get("Cache-Control") != "private, no-cache" {
			t.Errorf("%s: ETag %q, Cache-Control %q", path, tag, first.Header.Get("Cache-Control"))
		}
		head := visitor.do(http.MethodHead, path, "")
		wantStatus(t, head, http.StatusOK)
		if head.Header.Get("ETag") != tag {
			t.Errorf("%s: HEAD has ETag %q, GET %q", path, head.Header.Get("ETag"), tag)
		}
		visitor.header.Set("If-None-Match", tag)
		same := visitor.get(path)
		wantStatus(t, same, http.StatusNotModified)
		if body := text(same); body != "" {
			t.Errorf("%s: 304 with %q", path, body)
		}
		known := d.browser()
		known.login(t, "pat@example.nl")
		known.header.Set("If-None-Match", tag)
		answer := known.get(path)
		wantStatus(t, answer, http.StatusOK) // the frame is theirs
		if answer.Header.Get("Cache-Control") != "no-store" || answer.Header.Get("ETag") != "" {
			t.Errorf("%s: the frame of an account may be kept: %v", path, answer.Header)
		}
	}
}

func TestGuidesAreChecked(t *testing.T) {
	t.Parallel()
	for _, list := range [][]site.Doc{
		{{Name: "a", Markdown: "# A"}, {Name: "a", Markdown: "# A"}},
		{{Name: "a", Markdown: "no title"}},
	} {
		if _, err := webdocs.ReadGuides(list); err == nil {
			t.Errorf("%v was read", list)
		}
	}
}
