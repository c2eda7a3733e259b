package site

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// Route is a route with the permissions that it needs, all of them.
type Route struct {
	Method, Path string
	Needs        []registry.Permission
}

// mount registers a route, the only way to get one: so each has permissions that it needs.
func (a *App) mount(r Route, h echo.HandlerFunc) {
	a.routes[r.Method+" "+r.Path] = r
	a.Echo.Add(r.Method, r.Path, h)
}

// RouteOf finds what a route of echo needs.
func (a *App) RouteOf(method, path string) (Route, bool) {
	r, ok := a.routes[method+" "+path]
	return r, ok
}

// Allows reports whether an account may use a route. Parts of the portal that are of the organisation are not for partners, nor the
// other way round, whatever both may do in their own.
func (r Route) Allows(account store.Account) bool { return registry.Allows(account.Role, r.Needs...) }

// require lets those pass who have all of the permissions.
func (a *App) require(needs []registry.Permission) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		switch needs[0] {
		case registry.Anyone, registry.ByToken:
			return next
		case registry.OwnFactors:
			return a.requireLogin(next)
		}
		return a.requireAccount(func(c echo.Context) error {
			account := AccountOf(c)
			for _, p := range needs {
				if !registry.Allows(account.Role, p) {
					return a.refuseRole(c, account, p)
				}
			}
			return next(c)
		})
	}
}

// refuseRole answers who may not do this: which role may, and who can give it.
func (a *App) refuseRole(c echo.Context, account store.Account, p registry.Permission) error {
	switch {
	case p == registry.ReadOrganisation:
		return echo.NewHTTPError(http.StatusForbidden, i18n.Message("site.page-administrators"))
	case p == registry.ReadPartner:
		return echo.NewHTTPError(http.StatusForbidden, i18n.Message("site.page-partners"))
	}
	who, err := a.Cfg.Accounts.WhoGivesRoles(c.Request().Context(), account.PartnerID)
	if err != nil {
		return err
	}
	return echo.NewHTTPError(http.StatusForbidden, i18n.M("site.role-needed", registry.AnyRole(p, registry.OfOrganisation(account)), who))
}

// allowed tells pages what to offer to an account: a form or a link to a route that would refuse it is left out. It is nil for who may
// use all of its part of the portal.
func (a *App) allowed(account store.Account) func(method, href string) bool {
	if account.Role == store.RoleAdministrator || account.Role == store.RoleManager {
		return nil
	}
	return func(method, href string) bool {
		r, ok := a.routeTo(method, href)
		return !ok || r.Allows(account)
	}
}

// May reports whether the reader may use the route of ours that an address leads to.
func (a *App) May(c echo.Context, method, href string) bool {
	r, ok := a.routeTo(method, href)
	account := a.CurrentAccount(c)
	return ok && account != nil && r.Allows(*account)
}

func (a *App) routeTo(method, href string) (Route, bool) {
	if !strings.HasPrefix(href, "/") {
		return Route{}, false
	}
	path := href[:strings.IndexAny(href+"?", "?#")]
	c := a.Echo.AcquireContext()
	defer a.Echo.ReleaseContext(c)
	c.Reset(nil, nil)
	a.Echo.Router().Find(method, path, c)
	return a.RouteOf(method, c.Path())
}
