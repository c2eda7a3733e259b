package site

import (
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
)

// Headers of requests and answers by which pages of other sites use public documents and catalogues.
const (
	corsReadable = "API-Version, ETag, Link, Repr-Digest, Total-Count, Content-Location, Deprecation, Sunset"
	corsSendable = "Accept, Accept-Language, Cache-Control, If-Modified-Since, If-None-Match"
	corsSeconds  = "86400"
)

// publicCORS lets any site read the answer, without a login of its visitor: for API descriptions, contracts and catalogues.
func publicCORS(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.Response().Header().Set("Access-Control-Allow-Origin", "*")
		c.Response().Header().Set("Access-Control-Expose-Headers", corsReadable)
		return next(c)
	}
}

// preflight answers a browser that asks, by OPTIONS, whether a page of another site may read a public route. A page may not
// send a token: Authorization is not among the headers, so that a token that leaked is of no use in a foreign page. All other
// OPTIONS requests are answered as before, without a header of CORS.
func (a *App) preflight(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		wanted := r.Header.Get("Access-Control-Request-Method")
		if r.Method != http.MethodOptions || r.Header.Get("Origin") == "" || wanted != http.MethodGet && wanted != http.MethodHead || !a.public[c.Path()] {
			return next(c)
		}
		h := c.Response().Header()
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Access-Control-Allow-Methods", "GET, HEAD")
		h.Set("Access-Control-Allow-Headers", corsSendable)
		h.Set("Access-Control-Max-Age", corsSeconds)
		return c.NoContent(http.StatusNoContent)
	}
}

// PublicGET registers a route that pages of other sites may read, with GET and HEAD.
func (g RouteGroup) PublicGET(path string, h echo.HandlerFunc, with ...echo.MiddlewareFunc) {
	g.app.public[g.Prefix+path] = true
	g.frame = slices.Concat([]echo.MiddlewareFunc{publicCORS}, g.frame) // first, so that refusals can be read too
	g.add(http.MethodGet, path, h, with)
}

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
