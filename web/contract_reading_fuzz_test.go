package web

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
	"golang.org/x/net/html"
	"schakel/static"
	"schakel/store"
	view "schakel/templates/contracts"
	"schakel/templates/ui"
	webcontracts "schakel/web/contracts"
)

// hostileDocuments put what a browser would run in every text there is.
func hostileDocuments() []string {
	var list []string
	for _, text := range []string{
		"<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg/onload=alert(1)>", "[a](javascript:alert(1))", "![a](data:text/html;base64,PHNjcmlwdD4=)",
		"\\\" onmouseover=\\\"alert(1)", "<svg><style><img src=x onerror=alert(1)></style></svg>", "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
		"[a](data:image/svg+xml,<svg onload=alert(1)>)", "<a href=javascript&colon;alert(1)>x</a>", "'-alert(1)-'", "</title><script>alert(1)</script>",
	} {
		openAPI := `{"openapi":"3.1.0","info":{"title":"X","version":"1.0.0","description":"X"},"servers":[{"url":"X","description":"X"}],"tags":[{"name":"X"}],` +
			`"paths":{"/X":{"get":{"summary":"X","description":"X","operationId":"X","tags":["X"],"parameters":[{"name":"X","in":"query","description":"X","schema":{"type":"string","enum":["X"],"pattern":"X"}}],` +
			`"responses":{"200":{"description":"X","content":{"X":{"schema":{"$ref":"#/components/schemas/X"},"example":"X"}}}}}}},` +
			`"components":{"schemas":{"X":{"title":"X","description":"X","type":"object","properties":{"X":{"type":"string","default":"X","description":"X"}}}},"securitySchemes":{"X":{"type":"http","scheme":"X","description":"X"}}}}`
		asyncAPI := `{"asyncapi":"3.0.0","info":{"title":"X","version":"1.0.0","description":"X"},"channels":{"X":{"address":"X","title":"X","messages":{"X":{"name":"X","title":"X","summary":"X","contentType":"X",` +
			`"payload":{"type":"object","properties":{"X":{"description":"X"}}},"examples":[{"name":"X","payload":"X"}]}}}},"operations":{"X":{"action":"send","channel":{"$ref":"#/channels/X"},"summary":"X"}}}`
		list = append(list, strings.ReplaceAll(openAPI, "X", text), strings.ReplaceAll(asyncAPI, "X", text))
	}
	return list
}

// readingOf is the reading view of a document, as HTML.
func readingOf(t testing.TB, content []byte) []byte {
	t.Helper()
	about, version := store.Contract{ID: "hostile", Kind: "openapi"}, store.ContractVersion{ContractID: "hostile", Version: "1.0.0"}
	c := echo.New().NewContext(httptest.NewRequest(http.MethodGet, "/contracts/hostile/versions/1.0.0/reading", nil), httptest.NewRecorder())
	v, err := webcontracts.ReadingView(c, about, version, content)
	noError(t, err)
	var page bytes.Buffer
	noError(t, view.ReadingPage(ui.Page{Asset: static.Path}, v).Render(t.Context(), &page))
	return page.Bytes()
}

// wantTame fails on anything in a page that a browser would run or load, other
// than what the frame of our pages has.
func wantTame(t testing.TB, page []byte) {
	t.Helper()
	own := []string{static.Path("htmx.min.js"), static.Path("app.js")}
	for z := html.NewTokenizer(bytes.NewReader(page)); ; {
		kind := z.Next()
		if kind == html.ErrorToken {
			return
		}
		token := z.Token()
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			continue
		}
		if slices.Contains([]string{"img", "iframe", "object", "embed", "style", "base", "math"}, token.Data) {
			t.Fatalf("the page has <%s>: %s", token.Data, token)
		}
		for _, a := range token.Attr {
			address := strings.ToLower(strings.TrimSpace(a.Val))
			switch {
			case strings.HasPrefix(a.Key, "on"), a.Key == "style", a.Key == "srcdoc":
				t.Fatalf("the page has %s", token)
			case token.Data == "script" && (a.Key != "src" || !slices.Contains(own, a.Val)) && a.Key != "defer":
				t.Fatalf("the page has %s", token)
			case (a.Key == "href" || a.Key == "src" || a.Key == "action") && (strings.HasPrefix(address, "javascript:") || strings.HasPrefix(address, "data:") || strings.HasPrefix(address, "vbscript:")):
				t.Fatalf("the page has %s", token)
			}
		}
	}
}

// Whatever the author of a document writes in it, its reading view shows text.
func TestReadingIsTame(t *testing.T) {
	t.Parallel()
	for _, document := range hostileDocuments() {
		page := readingOf(t, []byte(document))
		if !bytes.Contains(page, []byte(`class="schakel-part"`)) {
			t.Errorf("nothing is shown of %.200s", document)
		}
		wantTame(t, page)
	}
}

func FuzzReading(f *testing.F) {
	for _, document := range hostileDocuments() {
		f.Add([]byte(document))
	}
	f.Add([]byte(readableContract))
	f.Add([]byte(sampleContract))
	f.Fuzz(func(t *testing.T, content []byte) {
		if len(content) < 64<<10 {
			wantTame(t, readingOf(t, content))
		}
	})
}
