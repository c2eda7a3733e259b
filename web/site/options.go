package site

import (
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
)

// UploadTime bounds how long a large document may take on a slow line.
const UploadTime = 2 * time.Minute

// FormOverhead bounds the bytes of a form beside its document. It is sent as
// multipart, so the document itself does not grow.
const FormOverhead = 64 << 10

// refuseOptions answers 405 to OPTIONS, which echo would answer by itself: we take
// no part in the abuse-protection handshake of webhooks (EDU-03f).
func refuseOptions(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		allow, known := c.Get(echo.ContextKeyHeaderAllow).(string)
		if !known {
			return next(c)
		}
		if _, api := FindAPI(c.Request().URL.Path); !api {
			return next(c)
		}
		c.Set(echo.ContextKeyHeaderAllow, strings.TrimPrefix(allow, "OPTIONS, "))
		if c.Request().Method == http.MethodOptions {
			return echo.MethodNotAllowedHandler(c)
		}
		return next(c)
	}
}
