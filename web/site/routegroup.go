package site

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/registry"
)

// RouteGroup is a set of routes under one prefix that share who may enter, and which permission that needs. It
// stands in for echo's own groups, which answer 404 where 405 is due.
type RouteGroup struct {
	app    *App
	Prefix string
	// frame comes before the check of the permission, with after it.
	frame, with []echo.MiddlewareFunc
	needs       []registry.Permission
	named       bool // a permission beyond that of the group was named for these routes
}

// Pages makes the group of routes that know a session, for who has a permission.
func (a *App) Pages(prefix string, needs registry.Permission, with ...echo.MiddlewareFunc) RouteGroup {
	return a.PagesUpTo(MaxFormBytes, prefix, needs, with...)
}

// PagesUpTo is pages for forms of another size, such as uploads.
func (a *App) PagesUpTo(limit int64, prefix string, needs registry.Permission, with ...echo.MiddlewareFunc) RouteGroup {
	frame := []echo.MiddlewareFunc{bodyLimit(limit), a.withLocale, a.sameOrigin, a.withSession, a.withAccount, a.toConfirmation}
	return RouteGroup{app: a, Prefix: prefix, frame: frame, with: with, needs: []registry.Permission{needs}}
}

// API makes a group of routes for machines, with bodies of at most limit bytes; 0 for those that bound what they read themselves. A
// body over it is refused when it is read, after the token and the Idempotency-Key
// were looked at (IDEM-18).
func (a *App) API(limit int64, prefix string, with ...echo.MiddlewareFunc) RouteGroup {
	g := RouteGroup{app: a, Prefix: prefix, with: with, needs: []registry.Permission{registry.ByToken}}
	if limit > 0 {
		g.frame = []echo.MiddlewareFunc{lateBodyLimit(limit)}
	}
	return g
}

// Needs is the group for routes that need further permissions, or that change nothing although they are posted: then those of the
// group are named again.
func (g RouteGroup) Needs(all ...registry.Permission) RouteGroup {
	g.needs, g.named = slices.Concat(g.needs, all), true
	return g
}

// add registers a route. A route that names no permission is a mistake of the programmer: it panics at the start.
func (g RouteGroup) add(method, path string, h echo.HandlerFunc, with []echo.MiddlewareFunc) {
	route := Route{Method: method, Path: g.Prefix + path, Needs: g.needs}
	if slices.ContainsFunc(g.needs, func(p registry.Permission) bool { return !p.Known() }) {
		panic(fmt.Sprintf("%s %s needs a permission of the table, not %q", method, route.Path, g.needs))
	}
	if method != http.MethodGet && g.needs[0].Reads() && !g.named {
		panic(fmt.Sprintf("%s %s changes something and must name the permission that it needs: see RouteGroup.Needs", method, route.Path))
	}
	g.app.mount(route, together(h, slices.Concat([]echo.MiddlewareFunc{decodedParams}, g.frame, []echo.MiddlewareFunc{g.app.require(g.needs)}, g.with, with)...))
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
