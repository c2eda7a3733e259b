package token

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	// keysMaxAge bounds how long a node may sign without seeing a new key.
	keysMaxAge = 10 * time.Second
	// keysRefetch bounds what a flood of made-up key ids costs the storage.
	keysRefetch = time.Second
	// retiredGrace outlives every token that a node may have signed with a key
	// before it saw that the key was retired.
	retiredGrace = MaxLifetime + keysMaxAge + skew
)

// errNoKey means that the installation has no key to sign with.
var errNoKey = errors.New("no signing key")

// Key is a key pair that signs access tokens.
type Key struct {
	KID     string
	Private crypto.Signer // ECDSA on P-256
	Alg     string        // ES256; empty means the same
	// CreatedAt is the moment the key starts to sign. A key that starts later is
	// already published, so that others know it in time (SEC-05).
	CreatedAt time.Time
	// RetiredAt is the moment it stops; zero while it is in use. A retired key stays
	// published for a little over MaxLifetime, until its last token has died.
	RetiredAt time.Time
}

// Keys holds the signing keys, which all nodes of an installation share.
type Keys interface {
	// SigningKeys answers all keys, in any order. The newest that has started and
	// is not retired signs. A key that is no longer answered takes its tokens with
	// it within 10 seconds, which is the way out when one has leaked.
	SigningKeys(ctx context.Context) ([]Key, error)
}

// NewKey makes a key pair that starts now. Its KID is the thumbprint of RFC 7638.
func NewKey(now time.Time) (Key, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Key{}, fmt.Errorf("generate signing key: %w", err)
	}
	public := jose.JSONWebKey{Key: private.Public()}
	sum, err := public.Thumbprint(crypto.SHA256)
	if err != nil {
		return Key{}, fmt.Errorf("name signing key: %w", err)
	}
	kid := base64.RawURLEncoding.EncodeToString(sum)
	return Key{KID: kid, Private: private, Alg: string(jose.ES256), CreatedAt: now}, nil
}

func (k Key) retired(now time.Time) bool {
	return !k.RetiredAt.IsZero() && !now.Before(k.RetiredAt)
}

func (k Key) published(now time.Time) bool {
	return k.RetiredAt.IsZero() || now.Before(k.RetiredAt.Add(retiredGrace))
}

func (k Key) check() error {
	if k.KID == "" || k.Private == nil {
		return errors.New("signing key without id or private part")
	}
	public, ok := k.Private.Public().(*ecdsa.PublicKey)
	if !ok || public.Curve != elliptic.P256() || (k.Alg != "" && k.Alg != string(jose.ES256)) {
		return fmt.Errorf("signing key %s is not ES256", k.KID)
	}
	return nil
}

// keySet holds the keys loaded from Keys. What a key may do depends on the clock,
// so that is decided at each use.
type keySet struct {
	all  []Key
	byID map[string]Key
}

func (i *Issuer) loadKeys(ctx context.Context, _ string, _ *keySet) (*keySet, error) {
	all, err := i.cfg.Keys.SigningKeys(ctx)
	if err != nil {
		return nil, fmt.Errorf("load signing keys: %w", err)
	}
	set := &keySet{all: all, byID: make(map[string]Key, len(all))}
	for _, k := range all {
		if err := k.check(); err != nil {
			return nil, err
		}
		set.byID[k.KID] = k
	}
	return set, nil
}

// signer answers the newest key in use.
func (s *keySet) signer(now time.Time) (Key, error) {
	var newest Key
	for _, k := range s.all {
		if k.CreatedAt.After(now) || k.retired(now) {
			continue
		}
		later := k.CreatedAt.Compare(newest.CreatedAt)
		if newest.KID == "" || later > 0 || later == 0 && k.KID > newest.KID {
			newest = k
		}
	}
	if newest.KID == "" {
		return Key{}, errNoKey
	}
	return newest, nil
}

// trusted answers the key of kid while its tokens may be accepted.
func (s *keySet) trusted(kid string, now time.Time) (Key, bool) {
	k, ok := s.byID[kid]
	return k, ok && k.published(now)
}

// JWKS answers the public keys as a JWK set, including the retired ones whose
// tokens may still live (SEC-05).
func (i *Issuer) JWKS(ctx context.Context) ([]byte, error) {
	keys, err := i.keys.get(ctx, "", keysMaxAge)
	if err != nil {
		return nil, fmt.Errorf("publish keys: %w", err)
	}
	set := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{}}
	for _, k := range keys.all {
		if k.published(i.cfg.Now()) {
			set.Keys = append(set.Keys, jose.JSONWebKey{
				Key: k.Private.Public(), KeyID: k.KID, Algorithm: string(jose.ES256), Use: "sig",
			})
		}
	}
	return json.Marshal(set)
}
