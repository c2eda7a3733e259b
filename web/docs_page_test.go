package web

import (
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"schakel/registry"
	access "schakel/registry/identity/token"
	"schakel/templates/i18n"
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
		uitest.CheckPage(t, text(answer)) // heading ids are unique, and what the contents lead to is there
	}
	wantStatus(t, d.browser().get("/docs/none"), http.StatusNotFound)
	wantStatus(t, d.browser().post("/docs/run", nil), http.StatusMethodNotAllowed)
	page := text(d.browser().get("/docs/run"))
	wantWords(t, page, `href="/docs/copies#keep"`, `href="#start"`, `href="/contracts"`, `href="https://example.nl/a"`, "code, plain, bad, other and none.", `id="start-1"`)
	lacks(t, page, "javascript:", "http://example.nl", `"//example.nl`, "other.md")
}

// A guide that is kept in English alone has its title in the language of the reader, in the list, on its page and in the search.
func TestTitleOfEnglishGuide(t *testing.T) {
	t.Parallel()
	d := newPortalHarness(t, func(cfg *site.PortalConfig) {
		cfg.Docs = append(sampleDocs(), site.Doc{Name: "changelog", File: "server/changelog.md", Title: "docs.name.changelog", Answers: "docs.answers.changelog", Markdown: "# Changelog\n\nAll that changed.\n"})
	})
	b := d.browser()
	for lang, want := range map[i18n.Lang][]string{
		i18n.English: {"Changelog", ""}, i18n.Dutch: {"Wijzigingen per versie", "Dit document is er alleen in het Engels."}, i18n.Norwegian: {"Endringslogg", "Dette dokumentet finnes bare på engelsk."},
	} {
		list := text(b.in(t, lang, "/docs"))
		wantWords(t, list, `<span lang="`+string(lang)+`"`, ">"+want[0]+"<")
		page := text(b.in(t, lang, "/docs/changelog"))
		wantWords(t, page, ">"+want[0]+"</h1>", want[1], "All that changed.")
		wantWords(t, text(b.in(t, lang, "/search?q="+url.QueryEscape(strings.ToLower(want[0])))), `href="/docs/changelog"`, want[0])
		if lang != i18n.English {
			lacks(t, list+page, ">Changelog<")
		}
	}
	wantWords(t, text(b.in(t, i18n.Dutch, "/docs/run")), "Deze handleiding is er nog niet in uw taal")
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
		known := d.browser().login(t, "pat@example.nl")
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

// unexplained are codes that never reach a machine: those of pages, and of a client that went away.
func unexplained() []string {
	return []string{"", "client-gone", "link-dead", "profile-refused", "provider-down"}
}

// TestEveryProblemIsExplained reads the code: each code of a problem has a page,
// with advice, and nothing else has one.
//
// Rules: IDEM-I06, CE-67
func TestEveryProblemIsExplained(t *testing.T) {
	t.Parallel()
	used := problemCodes(t)
	for _, text := range site.ProblemTexts() {
		if !slices.Contains(used, text.Code) {
			t.Errorf("%s is explained and never answered", text.Code)
		}
	}
	for _, code := range used {
		text, ok := site.ProblemTextOf(code)
		if ok == slices.Contains(unexplained(), code) {
			t.Errorf("problem %q is explained: %v", code, ok)
		}
		if ok && (!i18n.Has("site.problem-means", code) || !i18n.Has("site.problem-remedy", code) || http.StatusText(text.Status) == "") {
			t.Errorf("%s is not told well", code)
		}
	}
}

// problemCodes are the codes that the package gives to newProblem and retryLater.
func problemCodes(t *testing.T) []string {
	t.Helper()
	files := must(filepath.Glob("*/*.go"))(t)
	codes := []string{
		"method-not-allowed", registry.CodeForbidden, registry.CodeSecondPerson, registry.CodeDigestMissing, registry.CodeDraftChanged, registry.CodeGone,
		"token-invalid", access.CodeOtherIssuer, access.CodeOtherAudience, access.CodeExpired, access.CodeUnverified, access.CodeUnknownClient, access.CodeInactive, "token-proof", "token-proof-nonce",
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file := must(parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution))(t)
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) < 2 {
				return true
			}
			name, ok := call.Fun.(*ast.Ident)
			if of, selected := call.Fun.(*ast.SelectorExpr); selected {
				name, ok = of.Sel, true
			}
			if ok && (name.Name == "NewProblem" || name.Name == "RetryLater") {
				if code, ok := call.Args[1].(*ast.BasicLit); ok {
					text := must(strconv.Unquote(code.Value))(t)
					codes = append(codes, text)
				}
			}
			return true
		})
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

// The type of a problem is the address of a page of ours that explains it.
//
// Rules: IDEM-I05, IDEM-I06
func TestProblemTypeLeadsToItsPage(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	c := h.everything(t)
	p := c.under(t, "wrong", "POST", "/events/v1/resends", "{}").problem(t, http.StatusBadRequest, "key-invalid")
	path, ok := strings.CutPrefix(p.Type, apiTestBase)
	if !ok {
		t.Fatalf("type %q", p.Type)
	}
	page := h.page(t, path)
	if !strings.Contains(page, "Write it like") || !strings.Contains(page, "400 Bad Request") {
		t.Errorf("page %s", page)
	}
	list := h.page(t, "/problems")
	for _, text := range site.ProblemTexts() {
		if !strings.Contains(list, "/problems/"+text.Code) {
			t.Errorf("the list lacks %s", text.Code)
		}
	}
}

func (h *apiHarness) page(t *testing.T, path string) string {
	t.Helper()
	w := httptest.NewRecorder()
	h.app.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %d", path, w.Code)
	}
	return w.Body.String()
}
