package token

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/json"
)

// maxTokenBytes bounds an access token; ours take less than 1 KiB.
const maxTokenBytes = 8 << 10

// accessAlgs are the algorithms our own tokens are signed with.
var accessAlgs = []jose.SignatureAlgorithm{jose.ES256}

// Claims holds the claims of an accepted access token. It is shared between requests: do not change Scopes.
type Claims struct {
	ClientID  string
	PartnerID string // empty for a client of the own organisation
	Issuer    string
	Scopes    []string
	ExpiresAt time.Time
	ID        string // the jti
	// Thumbprint names the certificate that alone may use the token (SEC-13); empty for a token that everybody may who has it.
	Thumbprint string
	// Key is the thumbprint of the key that alone may use the token, with a proof in each request (RFC 9449); empty for none.
	Key string
	// Client holds the registration of the client as it stands now.
	Client Client
}

// Require answers ErrInsufficientScope unless the token has scope.
func (c Claims) Require(scope string) error {
	if slices.Contains(c.Scopes, scope) {
		return nil
	}
	return ErrInsufficientScope
}

// verified is an accepted token as the cache holds it.
type verified struct {
	claims  Claims
	kid     string
	version int64

	// Of a token of another issuer: from whom, its client as a key of known, and until when it is believed.
	from  *external
	known string
	until time.Time
}

// Verify checks an access token and answers what it says (SEC-07). A refused token gives an error that is ErrInvalidToken and an
// *InvalidTokenError; any other error is an outage.
//
// A token seen before costs no signature check, but its expiry, key and client are looked at every time.
func (i *Issuer) Verify(ctx context.Context, bearer string) (Claims, error) {
	if len(bearer) > maxTokenBytes {
		return Claims{}, invalid("the token is too large")
	}
	now := i.cfg.Now()
	sum := tokenKey(bearer)
	v, seen := i.tokens.get(sum)
	seen = seen && (v.from == nil || now.Before(v.until))
	if !seen {
		var err error
		if v, err = i.read(ctx, bearer, now); err != nil {
			return Claims{}, err
		}
	}
	kept := v
	if err := i.stillValid(ctx, &v, now); err != nil {
		if seen && errors.Is(err, ErrInvalidToken) {
			i.tokens.remove(sum)
		}
		return Claims{}, err
	}
	if !seen {
		i.tokens.put(sum, kept)
	}
	return v.claims, nil
}

// read checks all that never changes about a token.
func (i *Issuer) read(ctx context.Context, bearer string, now time.Time) (verified, error) {
	if x, err := i.externalOf(bearer); err != nil {
		return verified{}, err
	} else if x != nil {
		return i.readExternal(ctx, x, bearer, now)
	}
	tok, err := parseCompact(bearer, maxTokenBytes, accessAlgs)
	if err != nil {
		return verified{}, &InvalidTokenError{Reason: err.Error()}
	}
	if tok.typ != accessType {
		return verified{}, invalid("the token is not an access token")
	}
	key, err := i.trustedKey(ctx, tok.kid, now)
	if err != nil {
		return verified{}, err
	}
	payload, err := tok.jws.Verify(key.Private.Public())
	if err != nil {
		return verified{}, invalid("the signature is wrong")
	}
	var claims accessClaims
	if err := json.Unmarshal(payload, &claims); err != nil {
		return verified{}, invalid("the claims are not readable")
	}
	if err := i.checkClaims(claims, now); err != nil {
		return verified{}, err
	}
	return verified{claims: claims.public(), kid: tok.kid, version: claims.TokenVersion}, nil
}

// trustedKey looks again at the storage for a key id it does not know: another node may have made the key a moment ago.
func (i *Issuer) trustedKey(ctx context.Context, kid string, now time.Time) (Key, error) {
	for _, maxAge := range []time.Duration{keysMaxAge, keysRefetch} {
		keys, err := i.keys.get(ctx, "", maxAge)
		if err != nil {
			return Key{}, fmt.Errorf("verify access token: %w", err)
		}
		if key, ok := keys.trusted(kid, now); ok {
			return key, nil
		}
	}
	return Key{}, invalid("the signing key is unknown")
}

func (i *Issuer) checkClaims(c accessClaims, now time.Time) error {
	switch {
	case c.Issuer != i.cfg.Issuer:
		return invalid("the token is from another issuer")
	case !c.Audience.Contains(i.cfg.Audience):
		return invalid("the token is meant for another audience")
	case c.Expiry == nil || c.IssuedAt == nil || c.ID == "" || c.ClientID == "":
		return invalid("a required claim is missing")
	case c.Subject != c.ClientID || c.AuthorizedParty != c.ClientID:
		return invalid("the token names two clients")
	case c.NotBefore != nil && c.NotBefore.Time().After(now.Add(skew)):
		return invalid("the token is not valid yet")
	case c.IssuedAt.Time().After(now.Add(skew)):
		return invalid("the token is issued in the future")
	}
	return nil
}

func (c accessClaims) public() Claims {
	public := Claims{
		ClientID: c.ClientID, PartnerID: c.PartnerID, Issuer: c.Issuer,
		Scopes: strings.Fields(c.Scope), ExpiresAt: c.Expiry.Time(), ID: c.ID,
	}
	if c.Confirmation != nil {
		public.Thumbprint, public.Key = c.Confirmation.Thumbprint, c.Confirmation.Key
	}
	return public
}

// stillValid checks what may have changed since a token was first seen, and adds its client as it stands now.
func (i *Issuer) stillValid(ctx context.Context, v *verified, now time.Time) (err error) {
	if v.from != nil {
		return i.stillKnown(ctx, v, now)
	}
	v.claims.Client, err = i.stillGood(ctx, *v, now)
	return err
}

// stillGood checks what may have changed since a token was first seen.
func (i *Issuer) stillGood(ctx context.Context, v verified, now time.Time) (Client, error) {
	if !now.Before(v.claims.ExpiresAt) {
		return Client{}, invalid("the token has expired")
	}
	if _, err := i.trustedKey(ctx, v.kid, now); err != nil {
		return Client{}, err
	}
	client, err := i.clients.get(ctx, v.claims.ClientID, clientMaxAge)
	if err != nil {
		return Client{}, fmt.Errorf("verify access token: %w", err)
	}
	if client.Status != StatusActive || client.TokenVersion != v.version || client.PartnerID != v.claims.PartnerID {
		return Client{}, invalid("the token has been revoked")
	}
	for _, s := range v.claims.Scopes {
		if !slices.Contains(client.Scopes, s) {
			return Client{}, invalid("the permissions of the client have changed, ask a new token")
		}
	}
	if client.CertificateBound && v.claims.Thumbprint == "" {
		return Client{}, invalid("the client is to use tokens that are bound to its certificate, ask a new token")
	}
	if client.DPoPBound && v.claims.Key == "" {
		return Client{}, invalid("the client is to use tokens that are bound to a key (DPoP), ask a new token")
	}
	return client, nil
}

// loadClient answers a client that is not active for an unknown one, so that
// the tokens of a deleted client do not ask the storage at every request.
func (i *Issuer) loadClient(ctx context.Context, id string, _ Client) (Client, error) {
	client, err := i.cfg.Clients.TokenClient(ctx, id)
	if errors.Is(err, ErrUnknownClient) {
		return Client{}, nil
	}
	if err != nil {
		return Client{}, fmt.Errorf("find client: %w", err)
	}
	return client, nil
}
