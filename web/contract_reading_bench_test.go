package web

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/static"
	"schakel/store"
	view "schakel/templates/contracts"
	"schakel/templates/ui"
	webcontracts "schakel/web/contracts"
)

// largeOpenAPI is a document of at least size bytes, as JSON: operations that each
// answer a schema of their own.
func largeOpenAPI(size int) string {
	var paths, schemas strings.Builder
	// Documents have texts, or one of 13 MB would have more values than are read.
	text := strings.Repeat("A thing, and what it is for. ", 16)
	for i := 0; paths.Len()+schemas.Len() < size; i++ {
		if i > 0 {
			paths.WriteByte(',')
			schemas.WriteByte(',')
		}
		fmt.Fprintf(&paths, `"/things%d/{id}":{"get":{"operationId":"get%d","summary":"Thing %d","description":"All of **thing** %d, and [more](https://example.nl/%d).",`+
			`"parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"string","maxLength":6}}],`+
			`"responses":{"200":{"description":"The thing.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Thing%d"}}}}}}}`, i, i, i, i, i, i)
		fmt.Fprintf(&schemas, `"Thing%d":{"type":"object","description":"%s","required":["id"],"properties":{"id":{"type":"string"},`+
			`"next":{"$ref":"#/components/schemas/Thing%d"},"list":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"size":{"type":"integer"}}}}}}`, i, text, max(0, i-1))
	}
	return `{"openapi":"3.1.0","info":{"title":"Large","version":"1.0.0"},"paths":{` + paths.String() + `},"components":{"schemas":{` + schemas.String() + `}}}`
}

// The sizes that the reading view is measured at: a small document, one like the
// larger ones of the sector, and one like the largest in public.
var readingSizes = map[string]int{"small": 5_000, "600KB": 600_000, "13MB": 13_000_000}

// A large document is read in parts: the page stays small whatever its size.
func TestReadingOfLargeIsBounded(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	o.openAPI(t, "large", largeOpenAPI(readingSizes["600KB"]))
	_, err := publishDraft(t.Context(), o.reg, registry.SystemActor(), "large", "1.0.0", "")
	noError(t, err)
	for _, query := range []string{"", "?page=3", "?kind=schema&page=2", "?q=thing1", "?page=999999"} {
		answer := o.browser().get("/contracts/large/versions/1.0.0/reading" + query)
		if page := text(answer); answer.StatusCode != http.StatusOK || len(page) > 200_000 {
			t.Errorf("%s: status %d, %d bytes", query, answer.StatusCode, len(page))
		}
	}
	if page := text(o.browser().get("/contracts/large/versions/1.0.0")); len(page) > 200_000 {
		t.Errorf("the source is shown in %d bytes", len(page))
	}
}

// BenchmarkReading makes the first page of a document, from its bytes to HTML.
func BenchmarkReading(b *testing.B) {
	for _, name := range []string{"small", "600KB", "13MB"} {
		b.Run(name, func(b *testing.B) {
			content := []byte(largeOpenAPI(readingSizes[name]))
			about, version := store.Contract{ID: "large", Kind: "openapi"}, store.ContractVersion{ContractID: "large", Version: "1.0.0"}
			b.SetBytes(int64(len(content)))
			b.ReportAllocs()
			for b.Loop() {
				c := echo.New().NewContext(httptest.NewRequest(http.MethodGet, "/contracts/large/versions/1.0.0/reading", nil), httptest.NewRecorder())
				v, err := webcontracts.ReadingView(c, about, version, content)
				noError(b, err)
				if v.Total == 0 {
					b.Fatal("nothing is shown")
				}
				noError(b, view.ReadingPage(ui.Page{Asset: static.Path}, v).Render(b.Context(), io.Discard))
			}
		})
	}
}
