package web

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"schakel/registry"
	"schakel/templates/ui"
)

// Large pages and large JSON go out compressed to those that take it, and are the same text; nothing is for a page of another site.
func TestLargeAnswersAreCompressed(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	large, small := strings.Repeat("one line of a list\n", 2000), "one line"
	pages := h.app.Pages("", registry.Anyone)
	pages.PublicGET("/large", func(c echo.Context) error { return h.app.Render(c, http.StatusAccepted, ui.Text(large)) })
	pages.PublicGET("/small", func(c echo.Context) error { return h.app.Render(c, http.StatusOK, ui.Text(small)) })
	machines := h.app.API(10, "/events/v1")
	machines.PublicGET("/large", func(c echo.Context) error { return c.JSON(http.StatusAccepted, large) })
	machines.PublicGET("/tagged", func(c echo.Context) error {
		c.Response().Header().Set("ETag", `"1"`)
		return c.JSON(http.StatusOK, large)
	})
	for _, tt := range []struct {
		name, path, accepts, site string
		status                    int
		zipped                    bool
	}{
		{"a large page", "/large", "gzip, br", "same-origin", 202, true},
		{"a typed address", "/large", "gzip", "none", 202, true},
		{"a client that takes no gzip", "/large", "br, gzip;q=0", "same-origin", 202, false},
		{"a page of another site", "/large", "gzip", "cross-site", 202, false},
		{"a page of a neighbouring host", "/large", "gzip", "same-site", 202, false},
		{"a small page", "/small", "gzip", "same-origin", 200, false},
		{"large JSON", "/events/v1/large", "gzip", "", 202, true},
		{"JSON with an ETag", "/events/v1/tagged", "gzip", "", 200, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := h.browser()
			b.header.Set("Accept-Encoding", tt.accepts)
			b.header.Set("Sec-Fetch-Site", tt.site)
			answer := b.get(tt.path)
			wantStatus(t, answer, tt.status)
			var body io.Reader = answer.Body
			if coding := answer.Header.Get("Content-Encoding"); (coding == "gzip") != tt.zipped {
				t.Errorf("Content-Encoding %q", coding)
			} else if tt.zipped {
				body = must(gzip.NewReader(answer.Body))(t)
			}
			text := string(must(io.ReadAll(body))(t))
			if !strings.Contains(text, "one line") || tt.path != "/small" && strings.Count(text, "one line of a list") != 2000 {
				t.Errorf("the answer has %d bytes: %.80q", len(text), text)
			}
			if varies := strings.Join(answer.Header.Values("Vary"), ", "); tt.zipped && !strings.Contains(varies, "Accept-Encoding") {
				t.Errorf("Vary %q", varies)
			}
		})
	}
}
