package site

import (
	"bytes"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"
)

// plainText keeps back what no database here has as text: bytes that are not UTF-8,
// and the character U+0000, which PostgreSQL fails on. A path with it leads nowhere,
// a query with it is a mistake of who asks.
func plainText(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		u := c.Request().URL
		if !isPlain(u.Path) {
			return echo.ErrNotFound
		}
		if query, err := url.QueryUnescape(u.RawQuery); err == nil && !isPlain(query) {
			return echo.NewHTTPError(http.StatusBadRequest, "site.query-text")
		}
		return next(c)
	}
}

func isPlain(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

// EscapesNUL reports whether a JSON text has the character U+0000, which can only be
// there as an escape.
func EscapesNUL(body []byte) bool {
	escape := []byte(`\u0000`)
	for {
		at := bytes.Index(body, escape)
		if at < 0 {
			return false
		}
		before := body[:at]
		slashes := len(before) - len(bytes.TrimRight(before, `\`))
		if slashes%2 == 0 {
			return true
		}
		body = body[at+len(escape):]
	}
}
