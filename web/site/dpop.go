package site

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/registry/identity/token"
	"schakel/templates/i18n"
)

// proven wants the proof that the sender of a request has the key that its token is bound to (RFC 9449, SEC-13).
func (a *App) proven(c echo.Context, claims token.Claims, bearer string, proves bool) error {
	switch {
	case claims.Key == "":
		return refusedProof(token.CodeInvalidProof, "token-proof", "site.proof-unbound")
	case !proves:
		return refusedProof(token.CodeInvalidProof, "token-proof", "site.proof-missing")
	}
	r := c.Request()
	method := r.Method
	if AskedForHead(r.Context()) {
		method = http.MethodHead // the proof is of what was sent, not of the route that answers it
	}
	key, err := a.Cfg.Tokens.Prove(r.Context(), token.Proof{
		Headers: r.Header.Values("DPoP"), Method: method, Token: bearer, URL: strings.TrimSuffix(a.Cfg.BaseURL.String(), "/") + r.URL.EscapedPath(),
	})
	if refused, ok := errors.AsType[*token.ProofError](err); ok {
		OfferNonce(c, refused.Nonce)
		code := "token-proof"
		if refused.Code == token.CodeUseNonce {
			code = "token-proof-nonce"
		}
		return refusedProof(refused.Code, code, i18n.M("site.proof-refused", i18n.Raw(refused.Reason)))
	}
	if err == nil && key != claims.Key {
		return refusedProof(token.CodeInvalidProof, "token-proof", "site.proof-other-key")
	}
	return err
}

// refusedProof is a 401 with the challenge of RFC 9449, 7.1.
func refusedProof(challenge, code string, detail i18n.Message) *Problem {
	return NewProblem(http.StatusUnauthorized, code, detail).
		With("WWW-Authenticate", "DPoP error="+strconv.Quote(challenge)+", algs="+strconv.Quote(strings.Join(token.ProofAlgorithms(), " ")))
}

// OfferNonce tells a machine which nonce its next proof must have; empty for none.
func OfferNonce(c echo.Context, nonce string) {
	if nonce != "" {
		c.Response().Header().Set("DPoP-Nonce", nonce)
		c.Response().Header().Set("Cache-Control", "no-store")
	}
}
