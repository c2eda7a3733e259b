package token

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/json"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/uuid"
)

// assertionLife bounds the validity of an assertion that we make.
const assertionLife = time.Minute

// ClientKey is the private key of a client, with which it signs its assertions.
type ClientKey struct{ jwk jose.JSONWebKey }

// ReadClientKey reads a private key: a JWK, a JWK Set of which the first private key counts, or PEM with a PKCS #8, SEC 1
// or PKCS #1 key. The key must be RSA of 2,048 bits or more, EC on P-256, P-384 or P-521, or Ed25519.
func ReadClientKey(text []byte) (ClientKey, error) {
	jwk, err := readPrivateKey(text)
	if err != nil {
		return ClientKey{}, err
	}
	if jwk.Algorithm == "" {
		if jwk.Algorithm, err = algorithmOf(jwk.Key); err != nil {
			return ClientKey{}, err
		}
	}
	return ClientKey{jwk}, nil
}

func readPrivateKey(text []byte) (jose.JSONWebKey, error) {
	if block, _ := pem.Decode(text); block != nil {
		return readPEMKey(block)
	}
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(text, &set); err == nil && len(set.Keys) > 0 {
		for _, k := range set.Keys {
			if !k.IsPublic() {
				return k, nil
			}
		}
		return jose.JSONWebKey{}, errors.New("this JWK Set has only public keys; the private key is needed")
	}
	var k jose.JSONWebKey
	if err := json.Unmarshal(text, &k); err != nil || !k.Valid() {
		return jose.JSONWebKey{}, errors.New("this is no private key: expected a JWK, a JWK Set or PEM")
	}
	if k.IsPublic() {
		return jose.JSONWebKey{}, errors.New("this is a public key; the private key is needed")
	}
	return k, nil
}

func readPEMKey(block *pem.Block) (jose.JSONWebKey, error) {
	var key any
	var err error
	switch block.Type {
	case "PRIVATE KEY":
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(block.Bytes)
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	default:
		return jose.JSONWebKey{}, fmt.Errorf("PEM with %q is no private key that can be read; an encrypted one must be decrypted first", block.Type)
	}
	if err != nil {
		return jose.JSONWebKey{}, fmt.Errorf("read private key: %w", err)
	}
	return jose.JSONWebKey{Key: key}, nil
}

// algorithmOf chooses the signature algorithm that fits a private key (SEC-04).
func algorithmOf(key any) (string, error) {
	switch k := key.(type) {
	case *ecdsa.PrivateKey:
		switch k.Curve {
		case elliptic.P256():
			return string(jose.ES256), nil
		case elliptic.P384():
			return string(jose.ES384), nil
		case elliptic.P521():
			return string(jose.ES512), nil
		}
	case *rsa.PrivateKey:
		if k.N.BitLen() >= 2048 {
			return string(jose.PS256), nil
		}
		return "", errors.New("an RSA key needs 2,048 bits or more")
	case ed25519.PrivateKey:
		return string(jose.EdDSA), nil
	}
	return "", errors.New("this kind of key cannot sign: use EC on P-256, RSA or Ed25519")
}

// Signing gives the parts for who signs assertions for another server than ours.
func (k ClientKey) Signing() (kid, alg string, key crypto.Signer) {
	key, _ = k.jwk.Key.(crypto.Signer) // every private key that is read is one
	return k.jwk.KeyID, k.jwk.Algorithm, key
}

// Public is the public half as a JWK.
func (k ClientKey) Public() crypto.PublicKey { return k.jwk.Public().Key }

// Assertion makes a client assertion (RFC 7523 section 3) for a token endpoint: valid for a minute, usable once.
func (k ClientKey) Assertion(clientID, tokenEndpoint string, now time.Time) (string, error) {
	opts := (&jose.SignerOptions{}).WithType("JWT")
	if k.jwk.KeyID != "" {
		opts = opts.WithHeader("kid", k.jwk.KeyID)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(k.jwk.Algorithm), Key: k.jwk.Key}, opts)
	if err != nil {
		return "", fmt.Errorf("sign assertion: %w", err)
	}
	text, err := jwt.Signed(signer).Claims(jwt.Claims{
		Issuer: clientID, Subject: clientID, Audience: jwt.Audience{tokenEndpoint}, ID: uuid.NewString(),
		IssuedAt: jwt.NewNumericDate(now), Expiry: jwt.NewNumericDate(now.Add(assertionLife)),
	}).Serialize()
	if err != nil {
		return "", fmt.Errorf("sign assertion: %w", err)
	}
	return text, nil
}

// compactAlphabet lists the characters of a compact JWS.
const compactAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."

// signed is a parsed JWS whose signature has not been checked.
type signed struct {
	jws *jose.JSONWebSignature
	kid string
	alg string
	typ string // lower case, without "application/"
}

// parseCompact reads a compact JWS. Its errors never quote the input, so they may be shown.
func parseCompact(raw string, limit int, algs []jose.SignatureAlgorithm) (signed, error) {
	if len(raw) > limit {
		return signed{}, errors.New("the token is too large")
	}
	if !oneSpelling(raw) {
		return signed{}, errors.New("the token is not a JWT")
	}
	jws, err := jose.ParseSignedCompact(raw, algs)
	var wrong *jose.ErrUnexpectedSignatureAlgorithm
	if errors.As(err, &wrong) {
		return signed{}, errors.New("the signature algorithm is not allowed")
	}
	if err != nil || len(jws.Signatures) != 1 {
		return signed{}, errors.New("the token is not a JWT")
	}
	return readHeader(jws)
}

// oneSpelling refuses line breaks and loose bits at the end of a part, which the decoder below us skips: one token would have
// many spellings, and a list of refused tokens would be easy to get around.
func oneSpelling(raw string) bool {
	if raw == "" || strings.Trim(raw, compactAlphabet) != "" {
		return false
	}
	for part := range strings.SplitSeq(raw, ".") {
		if _, err := base64.RawURLEncoding.Strict().DecodeString(part); err != nil {
			return false
		}
	}
	return true
}

// readHeader refuses crit altogether: none of the extensions is ours, and b64 would change what is signed.
func readHeader(jws *jose.JSONWebSignature) (signed, error) {
	h := jws.Signatures[0].Protected
	for _, name := range []jose.HeaderKey{"crit", "b64"} {
		if _, ok := h.ExtraHeaders[name]; ok {
			return signed{}, errors.New("the token has a critical header that is not supported")
		}
	}
	typ, _ := h.ExtraHeaders[jose.HeaderType].(string)
	typ = strings.TrimPrefix(strings.ToLower(typ), "application/")
	return signed{jws: jws, kid: h.KeyID, alg: h.Algorithm, typ: typ}, nil
}

var (
	errNoChain      = errors.New("the assertion has no x5c, and no keys are registered")
	errUnknownKey   = errors.New("the client has no such key")
	errBadSignature = errors.New("the signature is wrong")
)

// signedBy is signer for who needs not know which key it is.
func (s signed) signedBy(keys []jose.JSONWebKey) error {
	_, err := s.signer(keys)
	return err
}

// signer finds the key that signed. It reports errUnknownKey when no key has the id the token names, and errBadSignature when the keys do not fit.
func (s signed) signer(keys []jose.JSONWebKey) (jose.JSONWebKey, error) {
	result := errUnknownKey
	for _, k := range keys {
		if s.kid != "" && k.KeyID != s.kid || k.Algorithm != "" && k.Algorithm != s.alg {
			continue
		}
		if _, err := s.jws.Verify(k.Key); err == nil {
			return k, nil
		}
		result = errBadSignature
	}
	return jose.JSONWebKey{}, result
}
