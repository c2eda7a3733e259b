package token

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/cryptosigner"
	"github.com/go-jose/go-jose/v4/jwt"
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
	// Certificate is the one of the TLS connection, checked up to a trusted root. Optional.
	Certificate *x509.Certificate
	// Proofs are the values of the header DPoP; none for a token that everybody may use who has it.
	Proofs []string
}

// Response is the answer of the token endpoint (RFC 6749, 5.1). There is never
// a refresh token (SEC-01). It must be sent with Cache-Control: no-store.
type Response struct {
	AccessToken string `json:"access_token"`
	TokenType   string `json:"token_type"` // Bearer, or DPoP for one that is bound to a key
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
	var key string
	if len(req.Proofs) > 0 || client.DPoPBound {
		if key, fail = i.proveAtEndpoint(ctx, req.Proofs); fail != nil {
			return Response{}, fail
		}
	}
	return i.issue(ctx, client, scopes, req.Certificate, key)
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

// grantScopes answers the scopes asked for, or all that are allowed when none is asked for.
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

// OAuthError is an error answer of the token endpoint (RFC 6749, 5.2). Encoded as JSON it is the body of the answer.
type OAuthError struct {
	// Status is the HTTP status.
	Status int `json:"-"`
	// Code is the error code of RFC 6749.
	Code string `json:"error"`
	// Description is for the developer of the client; plain ASCII, and never anything the client sent.
	Description string `json:"error_description,omitempty"`
	// Challenge is the value of WWW-Authenticate, empty when none is due.
	Challenge string `json:"-"`
	// Nonce is the value of DPoP-Nonce, empty when none is due.
	Nonce string `json:"-"`
	// Err is the cause, for the log alone. It may be nil.
	Err error `json:"-"`
}

// Error names the code and, where known, the cause.
func (e *OAuthError) Error() string {
	if e.Err != nil {
		return e.Code + ": " + e.Err.Error()
	}
	return e.Code + ": " + e.Description
}

// Unwrap gives the cause.
func (e *OAuthError) Unwrap() error { return e.Err }

func badRequest(code, description string) *OAuthError {
	return &OAuthError{Status: http.StatusBadRequest, Code: code, Description: description}
}

func invalidRequest(description string) *OAuthError {
	return badRequest("invalid_request", description)
}

func invalidClient(description string, cause error) *OAuthError {
	return &OAuthError{Status: http.StatusUnauthorized, Code: "invalid_client", Description: description, Err: cause}
}

// notAuthenticated is the one answer to everything that would show a stranger which clients exist.
func notAuthenticated(cause error) *OAuthError {
	return invalidClient("client authentication failed", cause)
}

func unavailable(cause error) *OAuthError {
	return &OAuthError{
		Status: http.StatusServiceUnavailable, Code: "temporarily_unavailable",
		Description: "the token cannot be issued now, try again later", Err: cause,
	}
}

var (
	// ErrInvalidToken matches every refused access token: answer 401 with error="invalid_token".
	ErrInvalidToken = errors.New("invalid token")
	// ErrInsufficientScope is a good token for something else: answer 403 with error="insufficient_scope".
	ErrInsufficientScope = errors.New("insufficient scope")
)

// InvalidTokenError gives the reason an access token was refused. It is an ErrInvalidToken.
type InvalidTokenError struct {
	// Reason is plain ASCII without quotes, fit for error_description in
	// WWW-Authenticate (RFC 6750, 3). It quotes nothing of the token.
	Reason string
	// Code names the kind of refusal of a token of another issuer; empty for one of ours.
	Code string
}

// Error names the reason.
func (e *InvalidTokenError) Error() string { return "invalid token: " + e.Reason }

// Is reports true for ErrInvalidToken.
func (e *InvalidTokenError) Is(target error) bool { return target == ErrInvalidToken }

func invalid(reason string) error { return &InvalidTokenError{Reason: reason} }

// accessType is the typ of an access token (RFC 9068, 2.1).
const accessType = "at+jwt"

// accessClaims are the claims of an access token: those of RFC 9068, azp for
// resource servers of the Dutch profile (SEC-07), and two of our own.
type accessClaims struct {
	jwt.Claims
	AuthorizedParty string `json:"azp"`
	ClientID        string `json:"client_id"`
	Scope           string `json:"scope"`
	PartnerID       string `json:"partner_id,omitempty"`
	TokenVersion    int64  `json:"token_version"`
	Confirmation    *bound `json:"cnf,omitempty"`
}

// bound names the certificate (RFC 8705, 3.1) and the key (RFC 9449, 6.1) that alone may use a token.
type bound struct {
	Thumbprint string `json:"x5t#S256,omitempty"`
	Key        string `json:"jkt,omitempty"`
}

func (i *Issuer) issue(ctx context.Context, client Client, scopes []string, cert *x509.Certificate, jkt string) (Response, *OAuthError) {
	keys, err := i.keys.get(ctx, "", keysMaxAge)
	if err != nil {
		return Response{}, unavailable(err)
	}
	now := i.cfg.Now()
	key, err := keys.signer(now)
	if err != nil {
		return Response{}, unavailable(err)
	}
	claims := i.claimsFor(client, scopes, now)
	kind := "Bearer"
	if client.CertificateBound || jkt != "" {
		claims.Confirmation = &bound{Key: jkt}
	}
	if client.CertificateBound {
		claims.Confirmation.Thumbprint = Thumbprint(cert) // admit refused a client without
	}
	if jkt != "" {
		kind = "DPoP"
	}
	raw, err := key.sign(claims)
	if err != nil {
		return Response{}, unavailable(err)
	}
	return Response{
		AccessToken: raw, TokenType: kind,
		ExpiresIn: int(i.cfg.Lifetime / time.Second), Scope: strings.Join(scopes, " "),
	}, nil
}

func (i *Issuer) claimsFor(client Client, scopes []string, now time.Time) accessClaims {
	return accessClaims{
		Claims: jwt.Claims{
			Issuer: i.cfg.Issuer, Subject: client.ID, Audience: jwt.Audience{i.cfg.Audience},
			Expiry: jwt.NewNumericDate(now.Add(i.cfg.Lifetime)), NotBefore: jwt.NewNumericDate(now),
			IssuedAt: jwt.NewNumericDate(now), ID: rand.Text(),
		},
		AuthorizedParty: client.ID, ClientID: client.ID, PartnerID: client.PartnerID,
		Scope: strings.Join(scopes, " "), TokenVersion: client.TokenVersion,
	}
}

func (k Key) sign(claims accessClaims) (string, error) {
	payload, err := json.Marshal(claims)
	if err != nil {
		return "", fmt.Errorf("encode access token: %w", err)
	}
	opts := (&jose.SignerOptions{}).WithType(accessType).WithHeader("kid", k.KID)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: cryptosigner.Opaque(k.Private)}, opts)
	if err != nil {
		return "", fmt.Errorf("use signing key %s: %w", k.KID, err)
	}
	jws, err := signer.Sign(payload)
	if err != nil {
		return "", fmt.Errorf("sign access token: %w", err)
	}
	return jws.CompactSerialize()
}
