package token

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/cryptosigner"
	"github.com/go-jose/go-jose/v4/jwt"
)

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
}

// issue signs an access token for client.
func (i *Issuer) issue(ctx context.Context, client Client, scopes []string) (Response, *OAuthError) {
	keys, err := i.keys.get(ctx, "", keysMaxAge)
	if err != nil {
		return Response{}, unavailable(err)
	}
	now := i.cfg.Now()
	key, err := keys.signer(now)
	if err != nil {
		return Response{}, unavailable(err)
	}
	raw, err := key.sign(i.claimsFor(client, scopes, now))
	if err != nil {
		return Response{}, unavailable(err)
	}
	return Response{
		AccessToken: raw, TokenType: "Bearer",
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
