package site

import (
	"io"
	"net/http"

	"github.com/labstack/echo/v4"
)

// maxDrained bounds how much of an unread body is read and dropped before the answer goes out: a little more than
// the largest document by default. The time for it is that of the server for any body.
const maxDrained = 32 << 20

const contextBody = "body"

// rememberBody keeps the body as it came, before anything that limits it.
func rememberBody(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if r := c.Request(); r.Body != nil && r.Body != http.NoBody {
			c.Set(contextBody, r.Body)
		}
		return next(c)
	}
}

// drainBody reads on what is left of a body that is refused. A client that first sends all and then reads would find the
// connection broken, and never learn why; and the connection can be used again (CE-32). A client that asks first (Expect:
// 100-continue) sends nothing after a refusal.
func drainBody(c echo.Context) {
	body, ok := c.Get(contextBody).(io.Reader)
	if !ok || c.Request().Header.Get("Expect") != "" {
		return
	}
	_, _ = io.CopyN(io.Discard, body, maxDrained)
}
