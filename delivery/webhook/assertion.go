package webhook

import (
	"context"
	"crypto"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/cryptosigner"
	"github.com/go-jose/go-jose/v4/jwt"
)

// assertionLifetime is short, as SEC-04 wants: an assertion is used at once.
const assertionLifetime = 60 * time.Second

// SigningKey is the key that signs our client assertions.
type SigningKey struct {
	KID     string        // key id in our published key set
	Alg     string        // RS256, PS256 or ES256
	Private crypto.Signer // may live in hardware
}

// Signer returns the present signing key; it is called for every assertion, so that keys can be rolled (SEC-05).
type Signer interface {
	SigningKey(ctx context.Context) (SigningKey, error)
}

// assertion makes a signed client assertion (SEC-02, SEC-04, RFC 7523).
func (f *tokenFetcher) assertion(ctx context.Context, cfg TokenConfig) (string, error) {
	if f.signer == nil {
		return "", errors.New("this installation has no key to sign client assertions with")
	}
	signed, err := f.sign(ctx, cfg)
	if err != nil {
		// The partner must not read the error of our own key.
		f.logger.ErrorContext(ctx, "client assertion not signed", slog.Any("error", err))
		return "", errors.New("this installation could not sign its client assertion")
	}
	return signed, nil
}

// claims has the audience as one string: not every server takes a list.
type claims struct {
	Issuer   string `json:"iss"`
	Subject  string `json:"sub"`
	Audience string `json:"aud"`
	IssuedAt int64  `json:"iat"`
	Expiry   int64  `json:"exp"`
	ID       string `json:"jti"`
}

func (f *tokenFetcher) sign(ctx context.Context, cfg TokenConfig) (string, error) {
	key, err := f.signer.SigningKey(ctx)
	if err != nil {
		return "", fmt.Errorf("get signing key: %w", err)
	}
	signer, err := newJOSESigner(key)
	if err != nil {
		return "", err
	}
	now := f.now()
	signed, err := jwt.Signed(signer).Claims(claims{
		Issuer: cfg.ClientID, Subject: cfg.ClientID, Audience: cfg.TokenURL,
		IssuedAt: now.Unix(), Expiry: now.Add(assertionLifetime).Unix(), ID: newJTI(),
	}).Serialize()
	if err != nil {
		return "", fmt.Errorf("sign client assertion: %w", err)
	}
	return signed, nil
}

func newJOSESigner(key SigningKey) (jose.Signer, error) {
	alg := jose.SignatureAlgorithm(key.Alg)
	if !slices.Contains([]jose.SignatureAlgorithm{jose.RS256, jose.PS256, jose.ES256}, alg) {
		return nil, errors.New("client assertions are signed with RS256, PS256 or ES256 only")
	}
	jwk := jose.JSONWebKey{Key: cryptosigner.Opaque(key.Private), KeyID: key.KID}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: jwk}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return nil, fmt.Errorf("use signing key: %w", err)
	}
	return signer, nil
}

// newJTI returns 160 random bits.
func newJTI() string {
	var b [20]byte
	_, _ = rand.Read(b[:]) // never fails: see crypto/rand
	return base64.RawURLEncoding.EncodeToString(b[:])
}
