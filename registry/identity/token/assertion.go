package token

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/json"
	"github.com/go-jose/go-jose/v4/jwt"
)

const (
	assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
	// maxAssertionBytes leaves room for a certificate chain in the header.
	maxAssertionBytes = 16 << 10
	// maxAssertionLife bounds how far ahead exp may lie, so that the record of used
	// assertions stays small.
	maxAssertionLife = 5 * time.Minute
	maxIDBytes       = 256
)

// assertionAlgs are the asymmetric algorithms a client may sign with (SEC-04).
var assertionAlgs = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512,
	jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

// checkAssertion authenticates a client by private_key_jwt (RFC 7523, SEC-04).
// What does not depend on the client is checked first, so that its errors can
// be precise without telling which clients exist.
func (i *Issuer) checkAssertion(ctx context.Context, cred credentials) (Client, *OAuthError) {
	tok, claims, err := i.readAssertion(cred)
	if err != nil {
		return Client{}, invalidClient("client_assertion: "+err.Error(), nil)
	}
	client, err := i.cfg.Clients.TokenClient(ctx, claims.Subject)
	if errors.Is(err, ErrUnknownClient) {
		return Client{}, notAuthenticated(err)
	}
	if err != nil {
		return Client{}, unavailable(fmt.Errorf("find client: %w", err))
	}
	if err := i.checkSignature(ctx, client, tok); err != nil {
		return Client{}, notAuthenticated(err)
	}
	fresh, err := i.cfg.Replay.UseOnce(ctx, replayKey(claims), claims.Expiry.Time().Add(skew+time.Second))
	if err != nil {
		return Client{}, unavailable(fmt.Errorf("record assertion: %w", err))
	}
	if !fresh {
		return Client{}, invalidClient("client_assertion: this jti has been used before", nil)
	}
	return client, nil
}

// readAssertion parses an assertion and checks its claims, not its signature.
func (i *Issuer) readAssertion(cred credentials) (signed, jwt.Claims, error) {
	var claims jwt.Claims
	tok, err := parseCompact(cred.assertion, maxAssertionBytes, assertionAlgs)
	if err != nil {
		return tok, claims, err
	}
	// Another kind of JWT by the same key must not pass for an assertion.
	if !slices.Contains([]string{"", "jwt", "client-authentication+jwt"}, tok.typ) {
		return tok, claims, errors.New("the typ is not that of an assertion")
	}
	if err := json.Unmarshal(tok.jws.UnsafePayloadWithoutVerification(), &claims); err != nil {
		return tok, claims, errors.New("the claims are not readable")
	}
	if cred.clientID != "" && cred.clientID != claims.Subject {
		return tok, claims, errors.New("client_id differs from sub")
	}
	return tok, claims, i.checkAssertionClaims(claims)
}

func (i *Issuer) checkAssertionClaims(c jwt.Claims) error {
	now := i.cfg.Now()
	switch {
	case c.Subject == "" || c.Issuer != c.Subject:
		return errors.New("iss and sub must both be the client_id")
	case !i.isOurs(c.Audience):
		return errors.New("aud must be the token endpoint or the issuer, and nothing else")
	case c.Expiry == nil || c.IssuedAt == nil:
		return errors.New("exp and iat are required")
	case !c.Expiry.Time().Add(skew).After(now):
		return errors.New("it has expired")
	case c.Expiry.Time().After(now.Add(maxAssertionLife + skew)):
		return errors.New("exp may be at most 5 minutes ahead")
	case c.IssuedAt.Time().After(now.Add(skew)):
		return errors.New("iat lies in the future")
	case c.NotBefore != nil && c.NotBefore.Time().After(now.Add(skew)):
		return errors.New("nbf lies in the future")
	case c.ID == "" || len(c.ID) > maxIDBytes:
		return errors.New("jti is required, of at most 256 bytes")
	}
	return nil
}

// isOurs refuses an assertion that is also meant for somebody else, who could
// use it here.
func (i *Issuer) isOurs(audience jwt.Audience) bool {
	for _, a := range audience {
		if a != i.cfg.TokenEndpoint && a != i.cfg.Issuer {
			return false
		}
	}
	return len(audience) > 0
}

// replayKey hashes, so that a stranger's text of any length never becomes a key
// in the storage.
func replayKey(c jwt.Claims) string {
	sum := sha256.Sum256([]byte(c.Subject + "\x00" + c.ID))
	return hex.EncodeToString(sum[:])
}

// checkSignature tries the keys the client registered.
func (i *Issuer) checkSignature(ctx context.Context, client Client, tok signed) error {
	if client.JWKSURI != "" {
		return i.checkRemote(ctx, client.JWKSURI, tok)
	}
	keys, err := usableKeys(client.JWKS)
	if err != nil {
		return fmt.Errorf("read keys of client: %w", err)
	}
	return tok.signedBy(keys)
}

var (
	errUnknownKey   = errors.New("the client has no such key")
	errBadSignature = errors.New("the signature is wrong")
)

// signedBy reports errUnknownKey when no key has the id the token names, and
// errBadSignature when the keys do not fit.
func (s signed) signedBy(keys []jose.JSONWebKey) error {
	result := errUnknownKey
	for _, k := range keys {
		if s.kid != "" && k.KeyID != s.kid || k.Algorithm != "" && k.Algorithm != s.alg {
			continue
		}
		if _, err := s.jws.Verify(k.Key); err == nil {
			return nil
		}
		result = errBadSignature
	}
	return result
}
