package token

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/json"
)

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
