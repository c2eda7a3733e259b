package token

import (
	"context"
	"net/url"
	"slices"
	"strings"
)

const grantClientCredentials = "client_credentials"

// Request is a call of the token endpoint. The caller has checked that it is a
// POST of application/x-www-form-urlencoded and has bounded its size.
type Request struct {
	// Form holds the parameters of the body alone.
	Form url.Values
	// Query holds the parameters of the URL: none of ours may be there (SEC-08).
	Query url.Values
	// HasBasic is set when the request had an Authorization header with the Basic
	// scheme; BasicUser and BasicPassword are its parts, still form-encoded.
	HasBasic      bool
	BasicUser     string
	BasicPassword string
}

// Response is the answer of the token endpoint (RFC 6749, 5.1). There is never
// a refresh token (SEC-01). It must be sent with Cache-Control: no-store.
type Response struct {
	AccessToken string `json:"access_token"`
	TokenType   string `json:"token_type"` // always Bearer
	ExpiresIn   int    `json:"expires_in"` // seconds
	Scope       string `json:"scope"`
}

// Exchange authenticates a client and gives it an access token (SEC-01, SEC-02).
// The error is nil on success; an outage of the storage is a 503.
func (i *Issuer) Exchange(ctx context.Context, req Request) (Response, *OAuthError) {
	if fail := checkParameters(req); fail != nil {
		return Response{}, fail
	}
	client, fail := i.authenticate(ctx, req)
	if fail != nil {
		return Response{}, fail
	}
	scopes, fail := grantScopes(req.Form.Get("scope"), client.Scopes)
	if fail != nil {
		return Response{}, fail
	}
	return i.issue(ctx, client, scopes)
}

// checkParameters refuses what RFC 6749 refuses before asking who calls.
func checkParameters(req Request) *OAuthError {
	for _, name := range []string{
		"grant_type", "scope", "client_id", "client_secret",
		"client_assertion", "client_assertion_type", "access_token",
	} {
		if req.Query.Has(name) {
			return invalidRequest("parameters must be in the body, not in the URL")
		}
	}
	for _, values := range req.Form {
		if len(values) > 1 {
			return invalidRequest("a parameter must not be given twice")
		}
	}
	switch req.Form.Get("grant_type") {
	case grantClientCredentials:
		return nil
	case "":
		return invalidRequest("grant_type is missing")
	default:
		return badRequest("unsupported_grant_type", "only client_credentials is supported")
	}
}

// grantScopes answers the scopes asked for, or all that are allowed when none
// is asked for.
func grantScopes(asked string, allowed []string) ([]string, *OAuthError) {
	if len(allowed) == 0 {
		return nil, badRequest("invalid_scope", "no scope has been granted to this client")
	}
	scopes := strings.Fields(asked)
	if len(scopes) == 0 {
		return slices.Clone(allowed), nil
	}
	for _, s := range scopes {
		if !slices.Contains(allowed, s) {
			return nil, badRequest("invalid_scope", "a scope asked for has not been granted to this client")
		}
	}
	slices.Sort(scopes)
	return slices.Compact(scopes), nil
}
