package web

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/registry/identity/token"
)

// The scopes of access tokens (api.md, SEC-10).
const (
	scopeEventsPublish      = "events.publish"
	scopeEventsConsume      = "events.consume"
	scopeSubscriptionsWrite = "subscriptions.write"
	scopeRegistryRead       = "registry.read"
	scopeRegistryWrite      = "registry.write"
	scopeMutationsRead      = "mutations.read"
	scopeMutationsPublish   = "mutations.publish"
)

// TokenVerifier checks an access token and tells whose it is.
type TokenVerifier interface {
	Verify(ctx context.Context, bearer string) (token.Claims, error)
}

const contextClaims = "claims"

// requireScope lets a request with a valid access token with one of these scopes
// pass (SEC-07). The token comes in the Authorization header and nowhere else: one in
// the query string is refused, because addresses end up in logs (CE-68, SEC-08).
func (a *App) requireScope(scopes ...string) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			claims, err := a.claims(c)
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(scopes, func(s string) bool { return slices.Contains(claims.Scopes, s) }) {
				return newProblem(http.StatusForbidden, "insufficient-scope", "This needs a token with the scope "+strings.Join(scopes, " or ")+".").
					with("WWW-Authenticate", `Bearer error="insufficient_scope", scope=`+strconv.Quote(strings.Join(scopes, " ")))
			}
			c.Set(contextClaims, claims)
			return next(c)
		}
	}
}

// optionalToken lets everyone pass, but a token that is sent must be valid.
func (a *App) optionalToken(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if c.Request().Header.Get("Authorization") == "" && !hasQueryToken(c) {
			return next(c)
		}
		claims, err := a.claims(c)
		if err != nil {
			return err
		}
		c.Set(contextClaims, claims)
		return next(c)
	}
}

// callerOf returns the claims of the token of a request; ok is false when it has none.
func callerOf(c echo.Context) (claims token.Claims, ok bool) {
	claims, ok = c.Get(contextClaims).(token.Claims)
	return claims, ok
}

func hasQueryToken(c echo.Context) bool {
	// Only a query that can hold the key is parsed: this is on the hot path.
	return strings.Contains(c.Request().URL.RawQuery, "token") && c.QueryParams().Has("access_token")
}

func (a *App) claims(c echo.Context) (token.Claims, error) {
	if hasQueryToken(c) {
		return token.Claims{}, newProblem(http.StatusBadRequest, "token-in-query",
			"Send the access token in the Authorization header; in the address it would end up in logs.")
	}
	values := c.Request().Header.Values("Authorization")
	if len(values) == 0 {
		return token.Claims{}, newProblem(http.StatusUnauthorized, "token-missing",
			"Send an access token as Authorization: Bearer.").with("WWW-Authenticate", "Bearer")
	}
	scheme, bearer, _ := strings.Cut(values[0], " ")
	if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") || bearer == "" {
		return token.Claims{}, invalidToken("send one Authorization header with the scheme Bearer")
	}
	claims, err := a.cfg.Tokens.Verify(c.Request().Context(), bearer)
	if e, ok := errors.AsType[*token.InvalidTokenError](err); ok {
		return token.Claims{}, invalidToken(e.Reason)
	}
	return claims, err
}

// invalidToken is a 401 that says why; WWW-Authenticate only informs (CE-69).
func invalidToken(reason string) *Problem {
	return newProblem(http.StatusUnauthorized, "token-invalid", "The access token was not accepted: "+reason+".").
		with("WWW-Authenticate", `Bearer error="invalid_token", error_description=`+strconv.QuoteToASCII(reason))
}
