package token

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"testing"
	"time"
)

// TestKeyPair: the issuer takes an assertion that is signed with either form of a new private key.
//
// Rules: SEC-02, SEC-04.
func TestKeyPair(t *testing.T) {
	t.Parallel()
	pair, err := NewKeyPair()
	if err != nil {
		t.Fatal(err)
	}
	if err := ParseJWKS([]byte(pair.Public)); err != nil {
		t.Fatalf("the public key: %v", err)
	}
	keys, err := usableKeys([]byte(pair.Public))
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{pair.Private, pair.PEM, `{"keys":[` + pair.Private + `]}`} {
		key, err := ReadClientKey([]byte(form))
		if err != nil {
			t.Fatal(err)
		}
		text, err := key.Assertion("cli_1", "https://schakel.example/oauth/token", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		tok, err := parseCompact(text, maxAssertionBytes, assertionAlgs)
		if err != nil {
			t.Fatal(err)
		}
		if err := tok.signedBy(keys); err != nil {
			t.Errorf("%.30s: %v", form, err)
		}
	}
	more, err := NewKeyPair()
	if err != nil {
		t.Fatal(err)
	}
	both, err := AddKeys(pair.Public, more.Public)
	if err != nil || !strings.Contains(both, pair.KeyID) || !strings.Contains(both, more.KeyID) || strings.Contains(both, `"d"`) {
		t.Errorf("joined: %s, %v", both, err)
	}
	if _, err := AddKeys(both, more.Public); err == nil {
		t.Error("the same key is taken twice")
	}
}

// TestReadClientKey reads what OpenSSL writes, and names what is no private key.
func TestReadClientKey(t *testing.T) {
	t.Parallel()
	_, ed, _ := ed25519.GenerateKey(rand.Reader)
	for name, key := range map[string]crypto.Signer{"EdDSA": ed, "ES384": ec(t, elliptic.P384()), "ES512": ec(t, elliptic.P521()), "PS256": rsaKey(t)} {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		read, err := ReadClientKey(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
		if err != nil || read.jwk.Algorithm != name {
			t.Errorf("%s: %q, %v", name, read.jwk.Algorithm, err)
			continue
		}
		if _, err := read.Assertion("c", "https://x.example", time.Now()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	sec1, err := x509.MarshalECPrivateKey(ec(t, elliptic.P256()).(*ecdsa.PrivateKey))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ReadClientKey(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: sec1})); err != nil {
		t.Error(err)
	}
	for text, want := range map[string]string{
		"":      "no private key",
		"{}":    "no private key",
		"null":  "no private key",
		weakRSA: "2,048 bits",
		string(pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte{1}})):          "decrypted first",
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte{1}})):                    "read private key",
		`{"kty":"EC","crv":"P-256","x":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","y":"AA","d":"AA"}`: "no private key",
	} {
		if _, err := ReadClientKey([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}

func ec(t *testing.T, curve elliptic.Curve) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func rsaKey(t *testing.T) crypto.Signer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// weakRSA is a key of 1,024 bits, made with openssl genrsa for this test alone.
const weakRSA = `-----BEGIN RSA PRIVATE KEY-----
MIICXQIBAAKBgQC1Xx1TFzPKATZyR0Lkw+BMpaXbiM4wBDKhxnof/6g1zhmMEUpT
FuWhpWWFXgbG+N224GlZMIsYIriQ4OkNrZAUtrmGCK0AcwoZrp2FeMHEp+WeK3T9
6gtVO1+OhyU0bDQMmgL2ibftTe2wrWq0Nz2kIFKGb7mNDW5CJoGDjGfFSQIDAQAB
AoGBAINeclIV0zg0qqgZf5VNXzCFJt4deCMFV1sf9KMqvT7DmnN+rpQCWK89qovw
L/58kbL9VrD4XTdNJtwhXAzBM0Lk9jR/w8tLOA6dmvhxyRXvCD/EEnZ3lx1vMrfN
Bb24VxlRV0XUTrDF7dKn2KKpOiE9JGWpmncQWCz66cOewy8BAkEA4+4OxN+jtOP0
5UFtz96jK9HEfxJ8Z8xCgBK7Z6Tn3CuMnhtPgUK813NYRJhmMpj+e9w/12YIxs8s
vWMqaaXPaQJBAMu1Nj9BGzvoBG4wIkTgb5G2lyCj64TAQFwtewpqwsbPkWVGgObF
NGg59eylcW9GSIfrOrFT1M96ZhQa0t0TauECQFs8Oisx/bx1ltyBkSwoyRXMNKRM
yQFfcKsFVICLMMgfonzTH8L07NQs9oMWoanVNeBsbB2TWSYDXbw9SofZeCkCQQDF
1uOtgSzS/J446bSOki6pJN0XzTtyfUjEfUNPNaqfbX33DwcnmQUx6IDIaVGG0Yql
vrYM/K7lJim3gumh3jbhAkA0WD57Ts01+57hBMP8UeGDezIbR5ptGnPg5XhGMubz
2Ow09OgaEH3vqlKgKbUL/OI7ljpsCxrO7Ew+z8mNfuly
-----END RSA PRIVATE KEY-----`
