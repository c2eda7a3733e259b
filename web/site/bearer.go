package site

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/registry/identity/token"
	"schakel/templates/i18n"
)

// The scopes of access tokens (api.md, SEC-10).
const (
	ScopeEventsPublish      = "events.publish"
	ScopeEventsConsume      = "events.consume"
	ScopeSubscriptionsWrite = "subscriptions.write"
	ScopeRegistryRead       = "registry.read"
	ScopeRegistryWrite      = "registry.write"
	ScopeMutationsRead      = "mutations.read"
	ScopeMutationsPublish   = "mutations.publish"
)

// TokenVerifier checks an access token and tells whose it is.
type TokenVerifier interface {
	Verify(ctx context.Context, bearer string) (token.Claims, error)
}

// ContextClaims names the claims of the access token in the context of a request.
const ContextClaims = "claims"

// RequireScope lets a request with a valid access token with one of these scopes
// pass (SEC-07). The token comes in the Authorization header and nowhere else: one in
// the query string is refused, because addresses end up in logs (CE-68, SEC-08).
func (a *App) RequireScope(scopes ...string) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			claims, err := a.claims(c)
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(scopes, func(s string) bool { return slices.Contains(claims.Scopes, s) }) {
				return NewProblem(http.StatusForbidden, "insufficient-scope", i18n.Message("This needs a token with the scope "+strings.Join(scopes, " or ")+".")).
					With("WWW-Authenticate", `Bearer error="insufficient_scope", scope=`+strconv.Quote(strings.Join(scopes, " ")))
			}
			c.Set(ContextClaims, claims)
			return next(c)
		}
	}
}

// OptionalToken lets everyone pass, but a token that is sent must be valid.
func (a *App) OptionalToken(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if c.Request().Header.Get("Authorization") == "" && !HasQueryToken(c) {
			return next(c)
		}
		claims, err := a.claims(c)
		if err != nil {
			return err
		}
		c.Set(ContextClaims, claims)
		return next(c)
	}
}

// CallerOf returns the claims of the token of a request; ok is false when it has none.
func CallerOf(c echo.Context) (claims token.Claims, ok bool) {
	claims, ok = c.Get(ContextClaims).(token.Claims)
	return claims, ok
}

// HasQueryToken reports whether a request has its token in the address, where logs would show it.
func HasQueryToken(c echo.Context) bool {
	// Only a query that can hold the key is parsed: this is on the hot path.
	return strings.Contains(c.Request().URL.RawQuery, "token") && c.QueryParams().Has("access_token")
}

func (a *App) claims(c echo.Context) (token.Claims, error) {
	if HasQueryToken(c) {
		return token.Claims{}, NewProblem(http.StatusBadRequest, "token-in-query",
			"Send the access token in the Authorization header; in the address it would end up in logs.")
	}
	values := c.Request().Header.Values("Authorization")
	if len(values) == 0 {
		return token.Claims{}, NewProblem(http.StatusUnauthorized, "token-missing",
			"Send an access token as Authorization: Bearer.").With("WWW-Authenticate", "Bearer")
	}
	scheme, bearer, _ := strings.Cut(values[0], " ")
	if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") || bearer == "" {
		return token.Claims{}, InvalidToken("send one Authorization header with the scheme Bearer")
	}
	claims, err := a.Cfg.Tokens.Verify(c.Request().Context(), bearer)
	if e, ok := errors.AsType[*token.InvalidTokenError](err); ok {
		return token.Claims{}, InvalidToken(e.Reason)
	}
	return claims, err
}

// InvalidToken is a 401 that says why; WWW-Authenticate only informs (CE-69).
func InvalidToken(reason string) *Problem {
	return NewProblem(http.StatusUnauthorized, "token-invalid", i18n.Message("The access token was not accepted: "+reason+".")).
		With("WWW-Authenticate", `Bearer error="invalid_token", error_description=`+strconv.QuoteToASCII(reason))
}
