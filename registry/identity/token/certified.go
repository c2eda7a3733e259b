package token

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// CertifiedKey is a key with a certificate that signs our client assertions, and no access tokens. It is published with its chain (x5c), so that others
// can hold it against their roots.
type CertifiedKey struct {
	KID, Alg string
	Private  crypto.Signer
	Chain    []*x509.Certificate // its own first
	StartsAt time.Time           // when it begins to sign; it is published before
	// RetiredAt is when it stops; zero while it is in use.
	RetiredAt time.Time
}

// Published reports whether the key set has the key at a moment: also for a while after it stopped, for caches of others.
func (k CertifiedKey) Published(now time.Time) bool {
	return k.RetiredAt.IsZero() || now.Before(k.RetiredAt.Add(retiredGrace))
}

// Signs reports whether the key is in use at a moment.
func (k CertifiedKey) Signs(now time.Time) bool {
	return !now.Before(k.StartsAt) && (k.RetiredAt.IsZero() || now.Before(k.RetiredAt))
}

// Certified holds those keys.
type Certified interface {
	AssertionKeys(ctx context.Context) ([]CertifiedKey, error)
}

// NameKey returns the kid of a public key, the thumbprint of RFC 7638, and the algorithm that it signs assertions with.
func NameKey(public crypto.PublicKey) (kid, alg string, err error) {
	sum, err := (&jose.JSONWebKey{Key: public}).Thumbprint(crypto.SHA256)
	if err != nil {
		return "", "", fmt.Errorf("name key: %w", err)
	}
	alg = string(jose.PS256)
	if _, ok := public.(*ecdsa.PublicKey); ok {
		alg = string(jose.ES256)
	}
	return base64.RawURLEncoding.EncodeToString(sum), alg, nil
}

// certified lists the keys with certificates as the key set has them.
func (i *Issuer) certified(ctx context.Context) ([]jose.JSONWebKey, error) {
	if i.cfg.Certified == nil {
		return nil, nil
	}
	keys, err := i.cfg.Certified.AssertionKeys(ctx)
	if err != nil {
		return nil, fmt.Errorf("load keys with certificates: %w", err)
	}
	var published []jose.JSONWebKey
	for _, k := range keys {
		published = append(published, jose.JSONWebKey{Key: k.Private.Public(), KeyID: k.KID, Algorithm: k.Alg, Use: "sig", Certificates: k.Chain})
	}
	return published, nil
}
