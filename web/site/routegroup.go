package site

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
)

// RouteGroup is a set of routes under one prefix that share who may enter. It
// stands in for echo's own groups, which answer 404 where 405 is due.
type RouteGroup struct {
	Echo   *echo.Echo
	public map[string]bool // the paths of App.public
	Prefix string
	with   []echo.MiddlewareFunc
}

// Pages makes the group of routes that know a session; with limits access.
func (a *App) Pages(prefix string, with ...echo.MiddlewareFunc) RouteGroup {
	return a.PagesUpTo(MaxFormBytes, prefix, with...)
}

// PagesUpTo is pages for forms of another size, such as uploads.
func (a *App) PagesUpTo(limit int64, prefix string, with ...echo.MiddlewareFunc) RouteGroup {
	frame := []echo.MiddlewareFunc{bodyLimit(limit), a.withLocale, a.sameOrigin, a.withSession, a.withAccount}
	return RouteGroup{a.Echo, a.public, prefix, append(frame, with...)}
}

// Api makes a group of routes for machines, with bodies of at most limit bytes. A
// body over it is refused when it is read, after the token and the Idempotency-Key
// were looked at (IDEM-18).
func (a *App) API(limit int64, prefix string, with ...echo.MiddlewareFunc) RouteGroup {
	return RouteGroup{a.Echo, a.public, prefix, append([]echo.MiddlewareFunc{lateBodyLimit(limit)}, with...)}
}

func (g RouteGroup) add(method, path string, h echo.HandlerFunc, with []echo.MiddlewareFunc) {
	g.Echo.Add(method, g.Prefix+path, together(h, slices.Concat([]echo.MiddlewareFunc{decodedParams}, g.with, with)...))
}

// decodedParams decodes what stands in a path percent-encoded, such as 1.0.0%2Bbuild. The router matches the path as it was
// sent when it has signs encoded that need not be, so that an encoded slash does not divide it, and leaves the parts so.
func decodedParams(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if c.Request().URL.RawPath == "" {
			return next(c)
		}
		values := slices.Clone(c.ParamValues())
		for i, value := range values {
			if decoded, err := url.PathUnescape(value); err == nil {
				values[i] = decoded
			}
		}
		c.SetParamValues(values...)
		return next(c)
	}
}

// GET registers a route; HEAD comes with it.
func (g RouteGroup) GET(path string, h echo.HandlerFunc, with ...echo.MiddlewareFunc) {
	g.add(http.MethodGet, path, h, with)
}

// POST registers a route.
func (g RouteGroup) POST(path string, h echo.HandlerFunc, with ...echo.MiddlewareFunc) {
	g.add(http.MethodPost, path, h, with)
}

// PUT registers a route.
func (g RouteGroup) PUT(path string, h echo.HandlerFunc, with ...echo.MiddlewareFunc) {
	g.add(http.MethodPut, path, h, with)
}

// PATCH registers a route.
func (g RouteGroup) PATCH(path string, h echo.HandlerFunc, with ...echo.MiddlewareFunc) {
	g.add(http.MethodPatch, path, h, with)
}

// DELETE registers a route.
func (g RouteGroup) DELETE(path string, h echo.HandlerFunc, with ...echo.MiddlewareFunc) {
	g.add(http.MethodDelete, path, h, with)
}

// APIArea is one of our APIs: its base path, its name and its semantic version,
// which goes into the API-Version header of every answer (NL API Design Rules).
type APIArea struct {
	Base, Name, version string
}

// APIs lists our APIs; what lies under their bases answers with problem+json.
func APIs() []APIArea {
	return []APIArea{
		{"/events/v1", "events", "1.0.0"},
		{"/registry/v1", "registry", "1.0.0"},
		{"/mutations/v1", "mutations", "1.0.0"},
		{"/oauth", "oauth", "1.0.0"},
		{"/.well-known", "discovery", "1.0.0"},
	}
}

// FindAPI returns the API that a path belongs to, if any.
func FindAPI(path string) (APIArea, bool) { return areaIn(APIs(), path) }

// areaIn is apiArea for who has the list at hand.
func areaIn(areas []APIArea, path string) (APIArea, bool) {
	for _, a := range areas {
		if rest, ok := strings.CutPrefix(path, a.Base); ok && (rest == "" || rest[0] == '/') {
			return a, true
		}
	}
	return APIArea{}, false
}

// MutationsBase begins the paths of the API for mutation files.
const MutationsBase = "/mutations/v1"

// ObjectsPath begins the addresses of oversize data.
const ObjectsPath = "/events/v1/objects/"
