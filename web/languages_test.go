package web

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"schakel/delivery/event"
	"schakel/delivery/webhook"
	"schakel/store"
	"schakel/store/needs"
	"schakel/templates/i18n"
)

// linksOf finds the pages of ours that a page leads to; ids and queries are left out of what counts as the same page.
var (
	linksOf = regexp.MustCompile(`href="(/[^"#]*)"`)
	someID  = regexp.MustCompile(`[a-z]{3}_[0-9A-Z]{26}|\?.*`)
	keyWord = regexp.MustCompile(`[a-z0-9_-]+(?:\.[A-Za-z0-9_-]+)+`)
	markup  = regexp.MustCompile(`<[^>]*>`)
)

// TestPagesInEveryLanguage follows the links of visitors, a partner and an administrator in each language and in the pseudo-language: each
// page is there, names its language, and shows neither a key of the catalogues nor an argument that could not be written.
func TestPagesInEveryLanguage(t *testing.T) {
	needs.Unraced(t)
	t.Parallel()
	w := newQueueWorld(t)
	w.attempt(w.deliver(w.event(event.DataJSON, `{"n":1}`), w.first), store.DeliveryDead, webhook.ReasonRejected, store.Attempt{StatusCode: 400})
	w.attempt(w.deliver(w.event(event.DataJSON, `{"n":2}`), w.first), store.DeliveryRetrying, webhook.ReasonServerError, store.Attempt{StatusCode: 500})
	catalogue, err := os.ReadFile("../templates/i18n/texts/en.txt")
	noError(t, err)
	keys := map[string]bool{}
	for line := range strings.Lines(string(catalogue)) {
		key, _, found := strings.Cut(line, " =")
		key, _, _ = strings.Cut(key, "[")
		keys[key] = found
	}
	for _, lang := range append(i18n.Langs(), i18n.Pseudo) {
		for reader, b := range map[string]*browser{"/": w.browser(), "/partner": w.first.browser, "/admin": w.admin} {
			pages, met := []string{reader}, map[string]bool{}
			for n := 0; n < len(pages); n++ {
				page := text(b.in(t, lang, pages[n]))
				if !strings.Contains(page, `<html lang="`+string(lang)+`"`) {
					continue // a document, a feed, or a way back to the login
				}
				if strings.Contains(page, "%!") || strings.ContainsAny(page, "\x1e\x1f") {
					t.Errorf("%s %s shows an argument that is not written", lang, pages[n])
				}
				for _, word := range keyWord.FindAllString(markup.ReplaceAllString(page, " "), -1) {
					if keys[word] {
						t.Errorf("%s %s shows the key %s", lang, pages[n], word)
					}
				}
				for _, m := range linksOf.FindAllStringSubmatch(page, -1) {
					kind := someID.ReplaceAllString(m[1], "")
					if !met[kind] && !strings.HasPrefix(kind, "/static") && !strings.HasPrefix(kind, "/docs/") {
						met[kind] = true
						pages = append(pages, strings.ReplaceAll(m[1], "&amp;", "&"))
					}
				}
			}
			t.Logf("%s: %d pages from %s", lang, len(pages), reader)
			if len(pages) < 8 {
				t.Errorf("%s: only %v", reader, pages)
			}
		}
	}
}

// in asks for a page in a language, which the cookie of the choice in the header names.
func (b *browser) in(t *testing.T, lang i18n.Lang, path string) *http.Response {
	t.Helper()
	b.cookies[languageCookieName] = string(lang)
	answer := b.get(path)
	if answer.StatusCode >= http.StatusInternalServerError {
		t.Errorf("%s %s answers %d", lang, path, answer.StatusCode)
	}
	return answer
}

const languageCookieName = "schakel-language"

// TestLanguageIsChosen: by the account, else the cookie, else the browser; problems of the APIs honour Accept-Language, and a choice comes
// back to the page where it was made and nowhere else.
func TestLanguageIsChosen(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	visitor := w.browser()
	wantWords(t, text(visitor.get("/login")), `<html lang="en"`, "Log in")
	for _, back := range []string{"/login?a=1", "https://evil.example/", "//evil.example"} {
		answer := visitor.post("/language", url.Values{"language": {"nl"}, "back": {back}})
		if to := answer.Header.Get("Location"); answer.StatusCode != http.StatusSeeOther || strings.Contains(to, "evil") {
			t.Errorf("back to %q: %d %q", back, answer.StatusCode, to)
		}
	}
	wantWords(t, text(visitor.get("/login")), `<html lang="nl"`, "Inloggen")
	wantStatus(t, visitor.post("/language", url.Values{"language": {"xx"}}), http.StatusBadRequest)
	mine := w.first.browser
	wantStatus(t, mine.post("/language", url.Values{"language": {"nb"}, "back": {"/partner"}}), http.StatusSeeOther)
	again := w.browser().login(t, w.first.email) // another browser: the account remembers
	wantWords(t, text(again.get("/partner")), `<html lang="nb"`)
}

// TestProblemsHonourAcceptLanguage: title and detail follow the client, the code does not, and English is for whoever asks for none of ours.
func TestProblemsHonourAcceptLanguage(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	for accept, want := range map[string]string{"": "Not Found", "fr": "Not Found", "nl-BE, en;q=0.5": "Niet gevonden", "no": "Ikke funnet"} {
		r := httptest.NewRequest(http.MethodGet, "/registry/v1/contracts/none", nil)
		r.Header.Set("Accept-Language", accept)
		answer := httptest.NewRecorder()
		h.app.Handler().ServeHTTP(answer, r)
		got, page := answer.Result(), answer.Body.String()
		if !strings.Contains(page, `"title":"`+want+`"`) || !strings.Contains(page, `"code":"not-found"`) || got.Header.Get("Vary") == "" || got.Header.Get("Content-Language") == "" {
			t.Errorf("%q: %s %v", accept, page, got.Header)
		}
	}
}
