package jwe

import (
	"bytes"
	"crypto"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"time"

	"github.com/go-jose/go-jose/v4"
	"schakel/templates/i18n"
)

// Algorithms of keys that are taken.
const (
	AlgECDH = "ECDH-ES+A256KW"
	AlgRSA  = "RSA-OAEP-256"
)

// Bounds of a set of keys.
const (
	maxSetBytes = 64 << 10
	maxSetKeys  = 50
	maxKID      = 256
	leastRSA    = 2048
	mostRSA     = 8192
)

// Key is a public key to encrypt with. It is immutable.
type Key struct {
	ID      string    // kid; may be empty
	Expires time.Time // by its member exp or its certificate; zero for never

	alg        string
	thumbprint string // RFC 7638, with SHA-256
	rsa        *rsa.PublicKey
	ec         *ecdh.PublicKey
}

// Algorithm names the algorithm of the key.
func (k Key) Algorithm() string { return k.alg }

// Thumbprint is that of RFC 7638 with SHA-256, in base64url.
func (k Key) Thumbprint() string { return k.thumbprint }

// Problem reports keys that cannot be used, in words for their owner. A transient one may pass without a change of the subscription.
type Problem struct {
	Message   i18n.Message
	Transient bool
}

// Error implements error.
func (p *Problem) Error() string { return p.Message.String() }

func problem(m i18n.Message) error { return &Problem{Message: m} }

// ReadKeys reads a JWK or a JWK set and returns the keys in it that data can be encrypted with, in their order. All others are passed over, as
// RFC 7517, 5 asks; a set with none of them is a *Problem, as is one with a private key.
func ReadKeys(raw []byte) ([]Key, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) > maxSetBytes {
		return nil, problem(i18n.M("jwe.problem.too-long", maxSetBytes>>10))
	}
	var set struct {
		Kty  string            `json:"kty"`
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(raw, &set); err != nil {
		return nil, problem("jwe.problem.not-json")
	}
	if set.Kty != "" && set.Keys == nil {
		set.Keys = []json.RawMessage{raw}
	}
	if len(set.Keys) == 0 || len(set.Keys) > maxSetKeys {
		return nil, problem(i18n.M("jwe.problem.count", maxSetKeys))
	}
	var keys []Key
	for _, one := range set.Keys {
		k, err := readKey(one)
		if err != nil {
			return nil, err
		}
		if k.alg != "" {
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return nil, problem(i18n.M("jwe.problem.none", AlgECDH, AlgRSA))
	}
	return keys, nil
}

// readKey reads one key. One that does not fit has no alg. Secrets are looked for first: a private key is decoded for nobody.
func readKey(raw []byte) (k Key, err error) {
	var about struct {
		Kty, Use, Alg string
		D, K          json.RawMessage
		Ops           []string    `json:"key_ops"`
		Exp           json.Number `json:"exp"`
	}
	if json.Unmarshal(raw, &about) != nil {
		return k, nil
	}
	if about.D != nil || about.K != nil {
		return k, problem("jwe.problem.private")
	}
	if about.Use != "" && about.Use != "enc" || len(about.Ops) > 0 && !forEncryption(about.Ops) {
		return k, nil
	}
	var jwk jose.JSONWebKey
	if json.Unmarshal(raw, &jwk) != nil || !jwk.IsPublic() || !k.take(&jwk) {
		return Key{}, nil
	}
	if about.Alg != "" && about.Alg != k.alg || len(k.ID) > maxKID {
		return Key{}, nil
	}
	if seconds, err := about.Exp.Int64(); err == nil && seconds > 0 {
		k.Expires = time.Unix(seconds, 0)
	}
	if len(jwk.Certificates) > 0 && (k.Expires.IsZero() || jwk.Certificates[0].NotAfter.Before(k.Expires)) {
		k.Expires = jwk.Certificates[0].NotAfter
	}
	return k, nil
}

func forEncryption(ops []string) bool {
	for _, op := range ops {
		if op == "deriveKey" || op == "deriveBits" || op == "wrapKey" || op == "encrypt" {
			return true
		}
	}
	return false
}

// take reports whether data can be encrypted with a key of JOSE.
func (k *Key) take(jwk *jose.JSONWebKey) bool {
	switch public := jwk.Key.(type) {
	case *rsa.PublicKey:
		if public.N.BitLen() < leastRSA || public.N.BitLen() > mostRSA {
			return false
		}
		k.rsa, k.alg = public, AlgRSA
	case *ecdsa.PublicKey:
		converted, err := public.ECDH()
		if err != nil {
			return false
		}
		k.ec, k.alg = converted, AlgECDH
	default:
		return false
	}
	print, err := jwk.Thumbprint(crypto.SHA256)
	k.ID, k.thumbprint = jwk.KeyID, base64.RawURLEncoding.EncodeToString(print)
	return err == nil
}

// Choose returns the first key that has not expired.
func Choose(keys []Key, now time.Time) (Key, error) {
	for _, k := range keys {
		if k.Expires.IsZero() || now.Before(k.Expires) {
			return k, nil
		}
	}
	if len(keys) == 0 {
		return Key{}, errors.New("there is no key")
	}
	return Key{}, problem(i18n.M("jwe.problem.expired", keys[0].Expires))
}

// publicJWK writes the ephemeral key of a header.
func publicJWK(key *ecdh.PublicKey) (json.RawMessage, error) {
	raw, enc := key.Bytes(), base64.RawURLEncoding
	half := len(raw[1:]) / 2
	name := map[int]string{32: "P-256", 48: "P-384", 66: "P-521"}[half]
	if name == "" {
		return nil, errors.New("the curve has no name in JOSE")
	}
	return json.RawMessage(`{"kty":"EC","crv":"` + name + `","x":"` + enc.EncodeToString(raw[1:1+half]) + `","y":"` + enc.EncodeToString(raw[1+half:]) + `"}`), nil
}
