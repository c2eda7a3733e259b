package token

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	// keysMaxAge bounds how long a node may sign without seeing a new key.
	keysMaxAge = 10 * time.Second
	// keysRefetch bounds what a flood of made-up key ids costs the storage.
	keysRefetch = time.Second
	// retiredGrace outlives every token that a node may have signed with a key before it saw that the key was retired.
	retiredGrace = MaxLifetime + keysMaxAge + skew
)

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
	// SigningKeys answers all keys, in any order. The newest that has started and is not retired signs. A key that is no longer
	// answered takes its tokens with it within 10 seconds, which is the way out when one has leaked.
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

// keySet holds the keys loaded from Keys. What a key may do depends on the clock, so that is decided at each use.
type keySet struct {
	all       []Key
	byID      map[string]Key
	certified []jose.JSONWebKey // that sign no tokens
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
	set.certified, err = i.certified(ctx)
	return set, err
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

// JWKS answers the public keys as a JWK set, including the retired ones whose tokens may still live (SEC-05).
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
	set.Keys = append(set.Keys, keys.certified...)
	return json.Marshal(set)
}

const (
	maxJWKSBytes = 64 << 10
	maxJWKSKeys  = 20
	// minRSABits has a counterpart: decoding refuses more than 4096 bits, which would make us work for nothing.
	minRSABits = 2048
)

// ParseJWKS checks the public keys a partner wants to register: a JWK set (RFC 7517) of at most 64 KiB and 20 keys, each RSA of
// 2048 to 4096 bits, EC on P-256, P-384 or P-521, or Ed25519 (SEC-05). Its errors are meant for the person who filled in the
// form.
func ParseJWKS(raw []byte) error {
	entries, err := splitSet(raw)
	if err != nil {
		return err
	}
	usable, seen := 0, map[string]bool{}
	for n, entry := range entries {
		key, err := readKey(entry)
		if err != nil {
			return fmt.Errorf("key %d: %w", n+1, err)
		}
		if key.KeyID != "" && seen[key.KeyID] {
			return fmt.Errorf("key %d: its kid is used by another key", n+1)
		}
		seen[key.KeyID] = true
		if key.Use != "enc" {
			usable++
		}
	}
	if usable == 0 {
		return errors.New("the set has no key to check signatures with")
	}
	return nil
}

// KeyNames lists the keys of a JWK set by what tells them apart: the thumbprint (RFC 7638, SHA-256) and the kid, which anybody can choose.
func KeyNames(set string) []string {
	var names []string
	for _, key := range namedKeys(set) {
		names = append(names, key.Name)
	}
	return names
}

// NamedKey is a key of a JWK set, by a name as of [KeyNames], with its certificates (x5c), its own first.
type NamedKey struct {
	Name  string
	Chain []*x509.Certificate
}

// KeysWithChains lists the keys of a JWK set that come with certificates.
func KeysWithChains(set string) []NamedKey {
	return slices.DeleteFunc(namedKeys(set), func(k NamedKey) bool { return len(k.Chain) == 0 })
}

func namedKeys(set string) []NamedKey {
	keys, err := usableKeys([]byte(set))
	if err != nil {
		return nil
	}
	var named []NamedKey
	for _, key := range keys {
		sum, err := key.Thumbprint(crypto.SHA256)
		if err != nil {
			continue
		}
		name := base64.RawURLEncoding.EncodeToString(sum)
		if key.KeyID != "" && key.KeyID != name {
			name += " (" + key.KeyID + ")"
		}
		named = append(named, NamedKey{name, key.Certificates})
	}
	return named
}

// usableKeys answers the keys that may verify an assertion, and passes over all
// others, as RFC 7517, 5 asks: a partner's set may serve more purposes.
func usableKeys(raw []byte) ([]jose.JSONWebKey, error) {
	entries, err := splitSet(raw)
	if err != nil {
		return nil, err
	}
	var keys []jose.JSONWebKey
	for _, entry := range entries {
		if key, err := readKey(entry); err == nil && key.Use != "enc" {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

func splitSet(raw []byte) ([]json.RawMessage, error) {
	if len(raw) > maxJWKSBytes {
		return nil, errors.New("the set is larger than 64 KiB")
	}
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("-----BEGIN")) {
		return nil, errors.New("this is PEM; a JWK set in JSON is needed")
	}
	var set struct {
		Kty  string            `json:"kty"`
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(raw, &set); err != nil {
		return nil, errors.New(`this is not a JWK set: JSON of the form {"keys": [...]} is needed`)
	}
	switch {
	case set.Kty != "" && set.Keys == nil:
		return nil, errors.New(`this is a single key; put it in a set: {"keys": [...]}`)
	case len(set.Keys) == 0:
		return nil, errors.New("the set has no keys")
	case len(set.Keys) > maxJWKSKeys:
		return nil, fmt.Errorf("the set has more than %d keys", maxJWKSKeys)
	}
	return set.Keys, nil
}

// readKey reads one public key. It looks for secrets before it decodes, since
// decoding a private key is work that a stranger should not order.
func readKey(raw json.RawMessage) (jose.JSONWebKey, error) {
	var key jose.JSONWebKey
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return key, errors.New("it is not a JSON object")
	}
	if string(members["kty"]) == `"oct"` || members["k"] != nil {
		return key, errors.New("it is a symmetric key; only public keys are accepted")
	}
	for _, secret := range []string{"d", "p", "q", "dp", "dq", "qi", "oth", "priv"} {
		if members[secret] != nil {
			return key, errors.New("it contains the private key; upload the public part only, and replace this key")
		}
	}
	if err := key.UnmarshalJSON(raw); err != nil {
		return key, errors.New("it is damaged or of a kind that is not supported; use RSA up to 4096 bits, EC or Ed25519")
	}
	return key, checkKey(key)
}

func checkKey(key jose.JSONWebKey) error {
	var algs []jose.SignatureAlgorithm
	switch k := key.Key.(type) {
	case *rsa.PublicKey:
		if k.E%2 == 0 {
			return errors.New("its RSA exponent is not safe; use 65537")
		}
		if bits := k.N.BitLen(); bits < minRSABits {
			return fmt.Errorf("it is RSA of %d bits; at least %d are needed", bits, minRSABits)
		}
		algs = assertionAlgs[:6]
	case *ecdsa.PublicKey:
		algs = ecAlgs(k)
	case ed25519.PublicKey:
		algs = []jose.SignatureAlgorithm{jose.EdDSA}
	default:
		return errors.New("it is of a kind that is not supported; use RSA, EC or Ed25519")
	}
	if key.Use != "enc" && key.Algorithm != "" && !slices.Contains(algs, jose.SignatureAlgorithm(key.Algorithm)) {
		return errors.New("its alg does not fit the key or is not allowed")
	}
	return nil
}

func ecAlgs(k *ecdsa.PublicKey) []jose.SignatureAlgorithm {
	switch k.Curve.Params().BitSize {
	case 256:
		return []jose.SignatureAlgorithm{jose.ES256}
	case 384:
		return []jose.SignatureAlgorithm{jose.ES384}
	default:
		return []jose.SignatureAlgorithm{jose.ES512}
	}
}
