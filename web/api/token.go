package api

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/registry/identity/token"
	"schakel/web/site"
)

// MaxTokenForm bounds the form of a token request. An assertion is part of it, with a chain of certificates up to 16 KiB.
const MaxTokenForm = 32 << 10

// postToken gives a client an access token (SEC-01). Its errors have the shape
// of RFC 6749, 5.2, for OAuth clients read those.
func (m *API) postToken(c echo.Context) error {
	c.Response().Header().Set("Cache-Control", "no-store")
	request, fail := readTokenRequest(c.Request())
	if fail != nil {
		return m.tokenRefused(c, fail)
	}
	cert, err := m.App.Certificate(c)
	if p, ok := errors.AsType[*site.Problem](err); ok {
		return m.tokenRefused(c, &token.OAuthError{Status: p.Status, Code: oauthCode(p.Status), Description: p.Detail.String(), Err: err})
	} else if err != nil {
		return err
	}
	request.Certificate, request.Proofs = cert, c.Request().Header.Values("DPoP")
	answer, fail := m.Issuer.Exchange(c.Request().Context(), request)
	if len(request.Proofs) > 0 && fail == nil {
		site.OfferNonce(c, m.Issuer.Nonce(c.Request().Context()))
	}
	if fail != nil {
		return m.tokenRefused(c, fail)
	}
	return c.JSON(http.StatusOK, answer)
}

// oauthCode is the error code of RFC 6749 for a certificate that is refused with a status.
func oauthCode(status int) string {
	if status == http.StatusServiceUnavailable {
		return "temporarily_unavailable"
	}
	return "invalid_client"
}

func (m *API) tokenRefused(c echo.Context, fail *token.OAuthError) error {
	if fail.Challenge != "" {
		c.Response().Header().Set("WWW-Authenticate", fail.Challenge)
	}
	site.OfferNonce(c, fail.Nonce)
	if fail.Status == http.StatusServiceUnavailable {
		c.Response().Header().Set("Retry-After", "5")
		m.App.LogFailure(c, fail)
	} else {
		m.App.Cfg.Log.LogAttrs(c.Request().Context(), slog.LevelInfo, "token refused",
			slog.String("id", site.RequestIDOf(c)), slog.String("code", fail.Code), slog.String("reason", fail.Description))
	}
	return c.JSON(fail.Status, fail)
}

// readTokenRequest reads the form of the body, and the query apart from it:
// secrets may not stand there (SEC-08).
func readTokenRequest(r *http.Request) (token.Request, *token.OAuthError) {
	request := token.Request{Query: r.URL.Query()}
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/x-www-form-urlencoded" {
		return request, invalidTokenRequest("send the body as application/x-www-form-urlencoded")
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, MaxTokenForm+1))
	if err != nil {
		return request, invalidTokenRequest("the body broke off before its end")
	}
	if len(body) > MaxTokenForm {
		return request, &token.OAuthError{Status: http.StatusRequestEntityTooLarge, Code: "invalid_request", Description: fmt.Sprintf("the body may hold at most %d bytes", MaxTokenForm)}
	}
	if request.Form, err = url.ParseQuery(string(body)); err != nil {
		return request, invalidTokenRequest("the form cannot be read")
	}
	return withBasic(request, r.Header.Values("Authorization"))
}

// withBasic adds the credentials of the Authorization header, still form-encoded
// (RFC 6749, 2.3.1). It decodes by hand: another scheme must not pass for none.
func withBasic(request token.Request, values []string) (token.Request, *token.OAuthError) {
	if len(values) == 0 {
		return request, nil
	}
	scheme, encoded, _ := strings.Cut(values[0], " ")
	if len(values) > 1 || !strings.EqualFold(scheme, "Basic") {
		return request, invalidTokenRequest("the Authorization header may only hold Basic credentials here")
	}
	plain, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
	user, password, ok := strings.Cut(string(plain), ":")
	if err != nil || !ok {
		return request, invalidTokenRequest("the Basic credentials cannot be read")
	}
	request.HasBasic, request.BasicUser, request.BasicPassword = true, user, password
	return request, nil
}

func invalidTokenRequest(description string) *token.OAuthError {
	return &token.OAuthError{Status: http.StatusBadRequest, Code: "invalid_request", Description: description}
}

// showJWKS publishes the keys our tokens are signed with (SEC-05).
func (m *API) showJWKS(c echo.Context) error {
	keys, err := m.Issuer.JWKS(c.Request().Context())
	if err != nil {
		return err
	}
	c.Response().Header().Set("Cache-Control", "public, max-age=300")
	return c.Blob(http.StatusOK, "application/jwk-set+json", keys)
}

// showMetadata describes the token endpoint to clients (SEC-12).
func (m *API) showMetadata(c echo.Context) error {
	c.Response().Header().Set("Cache-Control", "public, max-age=300")
	return c.JSON(http.StatusOK, m.Issuer.Metadata(c.Request().Context()))
}
