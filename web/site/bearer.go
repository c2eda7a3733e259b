package site

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

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
	// Prove checks the proof that a request brings for a token that is bound to a key, and returns the thumbprint of the key.
	Prove(ctx context.Context, p token.Proof) (thumbprint string, err error)
}

// issuerRest is after how long a token may be tried again whose issuer could not be asked.
const issuerRest = 10 * time.Second

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
			c.Set(ContextClaims, claims) // the log names who is refused too
			if !slices.ContainsFunc(scopes, func(s string) bool { return slices.Contains(claims.Scopes, s) }) {
				return ScopeNeeded(scopes...)
			}
			return next(c)
		}
	}
}

// ScopeNeeded is the answer to a token that has none of scopes.
func ScopeNeeded(scopes ...string) error {
	return NewProblem(http.StatusForbidden, "insufficient-scope", i18n.M("site.scope-needed", anyScope(scopes))).
		With("WWW-Authenticate", `Bearer error="insufficient_scope", scope=`+strconv.Quote(strings.Join(scopes, " ")))
}

// OptionalToken lets everyone pass, but a token that is sent must be valid, and so must a certificate; an API that requires one requires it of
// visitors too (SEC-25).
func (a *App) OptionalToken(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if c.Request().Header.Get("Authorization") == "" && !HasQueryToken(c) {
			if _, err := a.Certificate(c); err != nil {
				return err
			}
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

// whoAsked is the id of the account or client of a request, also of one that was refused for want of a role or scope; empty for a visitor.
func (a *App) whoAsked(c echo.Context) string {
	if account := a.CurrentAccount(c); account != nil {
		return account.ID
	}
	claims, _ := CallerOf(c)
	return claims.ClientID
}

// HasQueryToken reports whether a request has its token in the address, where logs would show it.
func HasQueryToken(c echo.Context) bool {
	// Only a query that can hold the key is parsed: this is on the hot path.
	return strings.Contains(c.Request().URL.RawQuery, "token") && c.QueryParams().Has("access_token")
}

func (a *App) claims(c echo.Context) (token.Claims, error) {
	if HasQueryToken(c) {
		return token.Claims{}, NewProblem(http.StatusBadRequest, "token-in-query",
			"site.token-in-query")
	}
	values := c.Request().Header.Values("Authorization")
	if len(values) == 0 {
		return token.Claims{}, NewProblem(http.StatusUnauthorized, "token-missing",
			"site.token-missing").With("WWW-Authenticate", "Bearer")
	}
	scheme, bearer, _ := strings.Cut(values[0], " ")
	proves := strings.EqualFold(scheme, "DPoP")
	if len(values) > 1 || !proves && !strings.EqualFold(scheme, "Bearer") || bearer == "" {
		return token.Claims{}, InvalidToken("site.token-header")
	}
	cert, err := a.Certificate(c)
	if err != nil {
		return token.Claims{}, err
	}
	claims, err := a.Cfg.Tokens.Verify(c.Request().Context(), bearer)
	if e, ok := errors.AsType[*token.InvalidTokenError](err); ok {
		return token.Claims{}, refusedToken(cmp.Or(e.Code, "token-invalid"), i18n.Message(e.Reason))
	}
	if out, ok := errors.AsType[*token.UnavailableError](err); ok {
		a.LogFailure(c, err)
		return token.Claims{}, RetryLater(http.StatusServiceUnavailable, "token-issuer-unavailable", i18n.M("site.token-issuer-unavailable", out.Issuer), issuerRest)
	}
	if err == nil {
		err = a.bound(c, claims, cert)
	}
	if err == nil && (proves || claims.Key != "") {
		err = a.proven(c, claims, bearer, proves)
	}
	return claims, err
}

// InvalidToken is a 401 that says why; WWW-Authenticate only informs (CE-69).
func InvalidToken(reason i18n.Message) *Problem { return refusedToken("token-invalid", reason) }

func refusedToken(code string, reason i18n.Message) *Problem {
	return NewProblem(http.StatusUnauthorized, code, i18n.M("site.token-invalid", reason)).
		With("WWW-Authenticate", `Bearer error="invalid_token", error_description=`+strconv.QuoteToASCII(reason.String()))
}

// anyScope names scopes of which one is needed.
func anyScope(scopes []string) i18n.Message {
	text := i18n.Raw(scopes[0])
	for _, s := range scopes[1:] {
		text = i18n.M("site.or", text, s)
	}
	return text
}
