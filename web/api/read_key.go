package api

import (
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/identity/token"
	"schakel/store"
	"schakel/web/site"
)

// OrReadKey lets a read-only key in as its partner, with the scope registry.read
// and no other; who sends none is looked at as otherwise. A key is a bearer token,
// or the password of Basic with any user name, for programs that know no other way.
func (m *API) OrReadKey(otherwise echo.MiddlewareFunc) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		withToken := otherwise(m.WithCaller(next))
		return func(c echo.Context) error {
			plain, ok := SentReadKey(c.Request())
			if !ok || site.HasQueryToken(c) {
				return withToken(c)
			}
			key, partner, err := m.Registry.ReadKeys.Authenticate(c.Request().Context(), plain)
			if refused, ok := errors.AsType[*registry.Error](err); ok {
				return site.InvalidToken(strings.TrimSuffix(strings.ToLower(refused.Message[:1])+refused.Message[1:], "."))
			}
			if err != nil {
				return err
			}
			c.Set(site.ContextClaims, token.Claims{ClientID: key.ID, Scopes: []string{site.ScopeRegistryRead}})
			c.Set(contextCaller, &Caller{Client: store.Client{ID: key.ID, Name: key.Name, PartnerID: partner.ID}, Partner: partner, readKey: true})
			return next(c)
		}
	}
}

// SentReadKey finds the key in a request, when there is one.
func SentReadKey(r *http.Request) (plain string, ok bool) {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return "", false
	}
	if _, password, basic := r.BasicAuth(); basic {
		return password, token.IsReadKey(password)
	}
	scheme, bearer, _ := strings.Cut(values[0], " ")
	return bearer, strings.EqualFold(scheme, "Bearer") && token.IsReadKey(bearer)
}
