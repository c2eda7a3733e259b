package token

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/json"
)

const (
	// secretPrefix lets a leak scanner recognise a secret of ours.
	secretPrefix = "schs_"
	hashPrefix   = "sha256:"
)

// NewSecret makes a client secret of 256 random bits. plain is shown once to the client's owner; store only hash.
//
// The hash is plain SHA-256, without salt or stretching: those slow down the guessing of passwords people choose, and nobody
// guesses 256 random bits. A slow hash would only let strangers burn our processor at the token endpoint.
func NewSecret() (plain, hash string) {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: the runtime stops the program instead
	plain = secretPrefix + base64.RawURLEncoding.EncodeToString(b[:])
	return plain, hashSecret(plain)
}

func hashSecret(plain string) string {
	sum := sha256.Sum256([]byte(plain))
	return hashPrefix + hex.EncodeToString(sum[:])
}

// decoyHash stands in for the hash of a client that is unknown or has none, so
// that both take the path of a wrong secret. No secret is known to hash to it.
const decoyHash = hashPrefix + "0000000000000000000000000000000000000000000000000000000000000000"

func secretMatches(secret, hash string) bool {
	return subtle.ConstantTimeCompare([]byte(hashSecret(secret)), []byte(hash)) == 1
}

// readKeyPrefix distinguishes a read-only key from an access token, and lets a leak scanner recognise one.
const readKeyPrefix = "schr_"

// NewReadKey makes a read-only key of 256 random bits. plain is shown once to its
// owner; store only hash, for the reasons given at NewSecret.
func NewReadKey() (plain, hash string) {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: the runtime stops the program instead
	plain = readKeyPrefix + base64.RawURLEncoding.EncodeToString(b[:])
	return plain, hashSecret(plain)
}

// IsReadKey reports whether a bearer token is a read-only key, by its prefix.
func IsReadKey(bearer string) bool { return strings.HasPrefix(bearer, readKeyPrefix) }

// HashReadKey gives the hash under which a key is stored and found. An index that finds it
// reveals nothing by its timing: an attacker does not know what a guess hashes near to.
func HashReadKey(plain string) string { return hashSecret(plain) }

// KeyPair is the key pair of a client that authenticates with private_key_jwt (SEC-02): ECDSA on P-256, for ES256. The
// private half is handed to the owner of the client once and is stored nowhere.
type KeyPair struct {
	// Private is the private key as a JWK (RFC 7517) with kid, use and alg.
	Private string
	// PEM is the same private key in PKCS #8, for libraries that read no JWK.
	PEM string
	// Public is a JWK Set with the public key.
	Public string
	// KeyID is the RFC 7638 thumbprint of the key, which is its kid in both forms.
	KeyID string
}

// NewKeyPair makes a key pair for a client.
func NewKeyPair() (KeyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return KeyPair{}, fmt.Errorf("make key pair: %w", err)
	}
	jwk := jose.JSONWebKey{Key: key, Algorithm: string(jose.ES256), Use: "sig"}
	sum, err := jwk.Thumbprint(crypto.SHA256)
	if err != nil {
		return KeyPair{}, fmt.Errorf("make key pair: %w", err)
	}
	jwk.KeyID = base64.RawURLEncoding.EncodeToString(sum)
	private, err := json.MarshalIndent(jwk, "", "  ")
	if err != nil {
		return KeyPair{}, fmt.Errorf("write private key: %w", err)
	}
	public, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{jwk.Public()}})
	if err != nil {
		return KeyPair{}, fmt.Errorf("write public key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return KeyPair{}, fmt.Errorf("write private key: %w", err)
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	return KeyPair{Private: string(private), PEM: string(block), Public: string(public), KeyID: jwk.KeyID}, nil
}

// AddKeys joins the keys of two JWK Sets, so that a client can move to a new key while the old one still works.
// It fails when one is no JWK Set or when both have a key of the same id.
func AddKeys(set, more string) (string, error) {
	var a, b jose.JSONWebKeySet
	if err := errors.Join(json.Unmarshal([]byte(set), &a), json.Unmarshal([]byte(more), &b)); err != nil {
		return "", fmt.Errorf("read public keys: %w", err)
	}
	for _, k := range b.Keys {
		if k.KeyID != "" && len(a.Key(k.KeyID)) > 0 {
			return "", fmt.Errorf("both sets have a key with the kid %s", k.KeyID)
		}
	}
	joined, err := json.Marshal(jose.JSONWebKeySet{Keys: append(a.Keys, b.Keys...)})
	if err != nil {
		return "", fmt.Errorf("write public keys: %w", err)
	}
	return string(joined), nil
}
