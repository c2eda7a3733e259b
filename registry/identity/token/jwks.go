package token

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/go-jose/go-jose/v4"
)

const (
	maxJWKSBytes = 64 << 10
	maxJWKSKeys  = 20
	// minRSABits has a counterpart: decoding refuses more than 4096 bits, which
	// would make us work for nothing.
	minRSABits = 2048
)

// ParseJWKS checks the public keys a partner wants to register: a JWK set
// (RFC 7517) of at most 64 KiB and 20 keys, each RSA of 2048 to 4096 bits, EC
// on P-256, P-384 or P-521, or Ed25519 (SEC-05). Its errors are meant for the
// person who filled in the form.
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
