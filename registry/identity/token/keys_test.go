package token

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Rules: SEC-05.
func TestRotationFailsNoToken(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *Config) { c.Lifetime = MaxLifetime })
	old := b.token(t)
	next, err := NewKey(b.clock.Now().Add(time.Minute))
	must(t, err)
	b.mem.change(func(m *memory) { m.keys = append(m.keys, next) })

	b.clock.add(30 * time.Second)
	if kid := kidOf(t, b.token(t)); kid == next.KID {
		t.Error("the next key signs before it starts")
	}
	if got := publishedKeys(t, b); len(got) != 2 {
		t.Errorf("%d keys published ahead of the change", len(got))
	}
	b.clock.add(31 * time.Second)
	b.mem.change(func(m *memory) { m.keys[0].RetiredAt = b.clock.Now() })
	young := b.token(t)
	if kidOf(t, young) != next.KID {
		t.Error("the new key does not sign")
	}
	for b.clock.Now().Before(newClock().now.Add(MaxLifetime)) {
		for name, raw := range map[string]string{"retired": old, "new": young} {
			if _, err := b.Verify(t.Context(), raw); err != nil {
				t.Fatalf("token of the %s key fails at %s: %v", name, b.clock.Now(), err)
			}
		}
		b.clock.add(10 * time.Minute)
	}
	b.clock.add(time.Hour)
	if got := publishedKeys(t, b); len(got) != 1 || got[0].KeyID != next.KID {
		t.Error("the retired key stays published after its tokens died")
	}
}

func TestKeyOfAnotherNodeIsSeenAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, err := b.Verify(t.Context(), b.token(t))
	must(t, err)
	next, err := NewKey(b.clock.Now())
	must(t, err)
	b.clock.add(2 * time.Second)
	b.mem.change(func(m *memory) { m.keys = append(m.keys, next) })
	header, claims := goodToken(b)
	raw := forge(t, header.with(object{"kid": next.KID}), claims, es256(t, next.Private))
	_, err = b.Verify(t.Context(), raw)
	must(t, err)
}

func TestUnknownKidFloodLoadsKeysOncePerSecond(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	header, claims := goodToken(b)
	raw := forge(t, header.with(object{"kid": "made-up"}), claims, es256(t, b.mem.keys[0].Private))
	for range 500 {
		if _, err := b.Verify(t.Context(), raw); !errors.Is(err, ErrInvalidToken) {
			t.Fatal(err)
		}
		b.clock.add(10 * time.Millisecond)
	}
	if b.mem.loads > 6 {
		t.Errorf("keys loaded %d times in 5 seconds", b.mem.loads)
	}
}

func TestLeakedKeyTakesItsTokensWithIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	raw := b.token(t)
	_, err := b.Verify(t.Context(), raw)
	must(t, err)
	next, err := NewKey(b.clock.Now())
	must(t, err)
	b.mem.change(func(m *memory) { m.keys = []Key{next} })
	b.clock.add(keysMaxAge + time.Second)
	if _, err := b.Verify(t.Context(), raw); !errors.Is(err, ErrInvalidToken) {
		t.Errorf("token of a removed key: %v", err)
	}
}

func TestExchangeWithoutUsableKey(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Key){
		"retired":   func(k *Key) { k.RetiredAt = newClock().now },
		"not yet":   func(k *Key) { k.CreatedAt = newClock().now.Add(time.Hour) },
		"no kid":    func(k *Key) { k.KID = "" },
		"other alg": func(k *Key) { k.Alg = "HS256" },
	} {
		b := newBench(t)
		b.mem.change(func(m *memory) { change(&m.keys[0]) })
		if _, fail := b.Exchange(t.Context(), b.basicRequest()); fail == nil || fail.Status != 503 {
			t.Errorf("%s: %v", name, fail)
		}
	}
}

// Rules: SEC-05, EDU-02.
func TestJWKSHoldsNoSecret(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	raw, err := b.JWKS(t.Context())
	must(t, err)
	if err := ParseJWKS(raw); err != nil {
		t.Errorf("our own set is not fit for a partner: %v", err)
	}
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *Config) { c.AuthMethods, c.Scopes = nil, []string{"events.publish"} })
	raw, err := json.Marshal(b.Metadata(t.Context()))
	must(t, err)
	want := `{"dpop_signing_alg_values_supported":["RS256","RS384","RS512","PS256","PS384","PS512","ES256","ES384","ES512","EdDSA"],"grant_types_supported":["client_credentials"],"issuer":"https://schakel.example",` +
		`"jwks_uri":"https://schakel.example/oauth/jwks","response_types_supported":[],` +
		`"scopes_supported":["events.publish"],"token_endpoint":"https://schakel.example/oauth/token",` +
		`"token_endpoint_auth_methods_supported":["private_key_jwt"],` +
		`"token_endpoint_auth_signing_alg_values_supported":["RS256","RS384","RS512","PS256","PS384","PS512","ES256","ES384","ES512","EdDSA"]}`
	if string(raw) != want {
		t.Errorf("got  %s\nwant %s", raw, want)
	}
}

func publishedKeys(t *testing.T, b *bench) []jose.JSONWebKey {
	t.Helper()
	raw, err := b.JWKS(t.Context())
	must(t, err)
	var set jose.JSONWebKeySet
	must(t, json.Unmarshal(raw, &set))
	return set.Keys
}

func kidOf(t *testing.T, raw string) string {
	t.Helper()
	tok, err := parseCompact(raw, maxTokenBytes, accessAlgs)
	must(t, err)
	return tok.kid
}

func TestParseJWKS(t *testing.T) {
	t.Parallel()
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	good, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	set := func(keys ...jose.JSONWebKey) string { return string(publicSet(t, keys...)) }
	one, err := json.Marshal(jose.JSONWebKey{Key: ec.Public()})
	must(t, err)
	offCurve := strings.Replace(string(one), `"y":"`, `"y":"AA`, 1)
	for name, tc := range map[string]struct{ raw, want string }{
		"EC":             {set(jose.JSONWebKey{Key: ec.Public()}), ""},
		"RSA and Ed":     {set(jose.JSONWebKey{Key: good.Public(), KeyID: "a"}, jose.JSONWebKey{Key: ed.Public(), KeyID: "b"}), ""},
		"with enc key":   {set(jose.JSONWebKey{Key: good.Public(), Use: "enc", Algorithm: "RSA-OAEP-256"}, jose.JSONWebKey{Key: ec.Public()}), ""},
		"enc key only":   {set(jose.JSONWebKey{Key: good.Public(), Use: "enc"}), "no key to check"},
		"private EC":     {set(jose.JSONWebKey{Key: ec}), "key 1: it contains the private key"},
		"private RSA":    {set(jose.JSONWebKey{Key: ec.Public()}, jose.JSONWebKey{Key: good}), "key 2: it contains the private key"},
		"private Ed":     {set(jose.JSONWebKey{Key: ed}), "private key"},
		"symmetric":      {set(jose.JSONWebKey{Key: []byte("0123456789abcdef0123456789abcdef")}), "symmetric"},
		"small RSA":      {set(jose.JSONWebKey{Key: modulus(1024)}), "RSA of 1024 bits"},
		"RSA 2047":       {set(jose.JSONWebKey{Key: modulus(2047)}), "RSA of 2047 bits"},
		"huge RSA":       {set(jose.JSONWebKey{Key: modulus(4104)}), "key 1"},
		"exponent 2":     {set(jose.JSONWebKey{Key: &rsa.PublicKey{N: good.N, E: 2}}), "key 1"},
		"exponent 1":     {set(jose.JSONWebKey{Key: &rsa.PublicKey{N: good.N, E: 1}}), "key 1"},
		"HS256 alg":      {set(jose.JSONWebKey{Key: ec.Public(), Algorithm: "HS256"}), "alg"},
		"alg misfit":     {set(jose.JSONWebKey{Key: ec.Public(), Algorithm: "RS256"}), "alg"},
		"same kid":       {set(jose.JSONWebKey{Key: ec.Public(), KeyID: "a"}, jose.JSONWebKey{Key: ed.Public(), KeyID: "a"}), "key 2: its kid"},
		"off curve":      {`{"keys":[` + offCurve + `]}`, "damaged"},
		"short Ed25519":  {`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"AAAA"}]}`, "key 1"},
		"unknown kind":   {`{"keys":[{"kty":"XYZ"}]}`, "not supported"},
		"no kind":        {`{"keys":[{}]}`, "not supported"},
		"single key":     {string(one), "single key"},
		"empty":          {`{"keys":[]}`, "no keys"},
		"no member":      {`{}`, "no keys"},
		"key is text":    {`{"keys":["x"]}`, "not a JSON object"},
		"key is null":    {`{"keys":[null]}`, "key 1"},
		"PEM":            {"-----BEGIN PUBLIC KEY-----\n", "PEM"},
		"not JSON":       {"hello", "not a JWK set"},
		"nothing":        {"", "not a JWK set"},
		"trailing":       {set(jose.JSONWebKey{Key: ec.Public()}) + "{}", "not a JWK set"},
		"too many":       {`{"keys":[` + strings.Repeat("{},", 20) + `{}]}`, "more than 20"},
		"too large":      {`{"keys":[],"x":"` + strings.Repeat("x", maxJWKSBytes) + `"}`, "64 KiB"},
		"deeply nested":  {`{"keys":[` + strings.Repeat("[", 30000), "not a JWK set"},
		"private in two": {fmt.Sprintf(`{"keys":[%s]}`, strings.Replace(string(one), "{", `{"d":null,`, 1)), "private key"},
	} {
		err := ParseJWKS([]byte(tc.raw))
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
}

// modulus makes a public key of exactly bits bits; that it has no private half does not matter here.
func modulus(bits int) *rsa.PublicKey {
	n := new(big.Int).Lsh(big.NewInt(1), uint(bits-1))
	return &rsa.PublicKey{N: n.Add(n, big.NewInt(1)), E: 65537}
}

// TestKeyPair: the issuer takes an assertion that is signed with either form of a new private key.
//
// Rules: SEC-02, SEC-04.
func TestKeyPair(t *testing.T) {
	t.Parallel()
	pair, err := NewKeyPair()
	must(t, err)
	if err := ParseJWKS([]byte(pair.Public)); err != nil {
		t.Fatalf("the public key: %v", err)
	}
	keys, err := usableKeys([]byte(pair.Public))
	must(t, err)
	for _, form := range []string{pair.Private, pair.PEM, `{"keys":[` + pair.Private + `]}`} {
		key, err := ReadClientKey([]byte(form))
		must(t, err)
		text, err := key.Assertion("cli_1", "https://schakel.example/oauth/token", time.Now())
		must(t, err)
		tok, err := parseCompact(text, maxAssertionBytes, assertionAlgs)
		must(t, err)
		if err := tok.signedBy(keys); err != nil {
			t.Errorf("%.30s: %v", form, err)
		}
	}
	more, err := NewKeyPair()
	must(t, err)
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
		must(t, err)
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
	must(t, err)
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
	must(t, err)
	return key
}

func rsaKey(t *testing.T) crypto.Signer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
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
