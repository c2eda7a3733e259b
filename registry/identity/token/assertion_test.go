package token

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// goodAssertion answers the parts of an assertion of client "keyed".
func goodAssertion(b *bench) (header, claims object) {
	now := b.clock.Now().Unix()
	header = object{"alg": "ES256", "typ": "JWT", "kid": "k1"}
	claims = object{
		"iss": "keyed", "sub": "keyed", "aud": testEndpoint,
		"iat": now, "exp": now + 60, "jti": rand.Text(),
	}
	return header, claims
}

func assertionRequest(raw string, pairs ...string) Request {
	return Request{Form: form(append([]string{"client_assertion_type", assertionType, "client_assertion", raw}, pairs...)...)}
}

func TestAssertionAccepted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	in := func(d time.Duration) int64 { return b.clock.Now().Add(d).Unix() }
	for name, tc := range map[string]struct {
		header, claims object
		form           []string
	}{
		"plain":             {},
		"issuer as aud":     {claims: object{"aud": testIssuer}},
		"both as aud":       {claims: object{"aud": []string{testIssuer, testEndpoint}}},
		"client_id":         {form: []string{"client_id", "keyed"}},
		"no kid, no typ":    {header: object{"kid": nil, "typ": nil}},
		"new typ":           {header: object{"typ": "client-authentication+jwt"}},
		"exp 5 minutes":     {claims: object{"exp": in(5 * time.Minute)}},
		"client clock late": {claims: object{"iat": in(-2 * time.Minute), "exp": in(-59 * time.Second)}},
		"client clock fast": {claims: object{"iat": in(59 * time.Second), "nbf": in(59 * time.Second)}},
	} {
		header, claims := goodAssertion(b)
		raw := forge(t, header.with(tc.header), claims.with(tc.claims), es256(t, b.key))
		res, fail := b.Exchange(t.Context(), assertionRequest(raw, tc.form...))
		if fail != nil {
			t.Errorf("%s: %v", name, fail)
			continue
		}
		if c, err := b.Verify(t.Context(), res.AccessToken); err != nil || c.ClientID != "keyed" {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}

// Rules: SEC-04.
func TestAssertionRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	in := func(d time.Duration) int64 { return b.clock.Now().Add(d).Unix() }
	for name, tc := range map[string]struct {
		header, claims object
		sign           func([]byte) []byte
		form           []string
	}{
		"none":              {header: object{"alg": "none"}, sign: unsigned},
		"HS256, public key": {header: object{"alg": "HS256"}, sign: hs256(b.mem.clients["keyed"].JWKS)},
		"other key":         {sign: es256(t, stranger)},
		"unknown kid":       {header: object{"kid": "k2"}},
		"crit":              {header: object{"crit": []string{"x"}, "x": true}},
		"access token typ":  {header: object{"typ": "at+jwt"}},
		"iss differs":       {claims: object{"iss": "basic"}},
		"sub differs":       {claims: object{"sub": "basic"}},
		"unknown client":    {claims: object{"iss": "nobody", "sub": "nobody"}},
		"secret client":     {claims: object{"iss": "basic", "sub": "basic"}},
		"client_id differs": {form: []string{"client_id", "basic"}},
		"other aud":         {claims: object{"aud": "https://other.example"}},
		"aud of two":        {claims: object{"aud": []string{testEndpoint, "https://other.example"}}},
		"no aud":            {claims: object{"aud": nil}},
		"empty aud":         {claims: object{"aud": []string{}}},
		"expired":           {claims: object{"exp": in(-60 * time.Second)}},
		"exp far":           {claims: object{"exp": in(6*time.Minute + time.Second)}},
		"exp very far":      {claims: object{"exp": 4e18}},
		"no exp":            {claims: object{"exp": nil}},
		"no iat":            {claims: object{"iat": nil}},
		"iat in future":     {claims: object{"iat": in(2 * time.Minute)}},
		"nbf in future":     {claims: object{"nbf": in(2 * time.Minute)}},
		"no jti":            {claims: object{"jti": nil}},
		"long jti":          {claims: object{"jti": strings.Repeat("j", 257)}},
		"jti is a number":   {claims: object{"jti": 7}},
		"huge":              {claims: object{"pad": strings.Repeat("x", maxAssertionBytes)}},
	} {
		header, claims := goodAssertion(b)
		if tc.sign == nil {
			tc.sign = es256(t, b.key)
		}
		raw := forge(t, header.with(tc.header), claims.with(tc.claims), tc.sign)
		res, fail := b.Exchange(t.Context(), assertionRequest(raw, tc.form...))
		if codeOf(fail) != "invalid_client" || fail.Status != 401 || res.AccessToken != "" {
			t.Errorf("%s: %v", name, fail)
		}
	}
	if len(b.mem.used) != 0 {
		t.Errorf("%d refused assertions took up space", len(b.mem.used))
	}
}

// Rules: SEC-04.
func TestAssertionWorksOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	header, claims := goodAssertion(b)
	claims["exp"] = b.clock.Now().Add(5 * time.Minute).Unix()
	req := assertionRequest(forge(t, header, claims, es256(t, b.key)))
	if _, fail := b.Exchange(t.Context(), req); fail != nil {
		t.Fatal(fail)
	}
	end := b.clock.Now().Add(7 * time.Minute)
	for b.clock.Now().Before(end) {
		if _, fail := b.Exchange(t.Context(), req); codeOf(fail) != "invalid_client" {
			t.Fatalf("replayed at %s: %v", b.clock.Now(), fail)
		}
		b.clock.add(10 * time.Second)
		// What a store may forget, it does.
		b.mem.change(func(m *memory) {
			for key, expires := range m.used {
				if !b.clock.now.Before(expires) {
					delete(m.used, key)
				}
			}
		})
	}
	if len(b.mem.used) != 0 {
		t.Error("the record is kept longer than needed")
	}
}

func TestAssertionIDBelongsToClient(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.mem.change(func(m *memory) {
		c := m.clients["keyed"]
		c.ID = "keyed2"
		m.clients["keyed2"] = c
	})
	header, claims := goodAssertion(b)
	for _, id := range []string{"keyed", "keyed2"} {
		raw := forge(t, header, claims.with(object{"iss": id, "sub": id, "jti": "same"}), es256(t, b.key))
		if _, fail := b.Exchange(t.Context(), assertionRequest(raw)); fail != nil {
			t.Errorf("%s: the jti of another client blocks: %v", id, fail)
		}
	}
}

func TestAssertionAlgorithms(t *testing.T) {
	t.Parallel()
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	for _, alg := range assertionAlgs {
		key := crypto.Signer(rsaKey)
		switch {
		case alg == jose.EdDSA:
			key = ed
		case strings.HasPrefix(string(alg), "ES"):
			curve := map[jose.SignatureAlgorithm]elliptic.Curve{
				jose.ES256: elliptic.P256(), jose.ES384: elliptic.P384(), jose.ES512: elliptic.P521(),
			}[alg]
			key, err = ecdsa.GenerateKey(curve, rand.Reader)
			must(t, err)
		}
		b := newBench(t)
		b.mem.changeClient("keyed", func(c *Client) {
			c.JWKS = publicSet(t, jose.JSONWebKey{Key: key.Public(), KeyID: "k", Algorithm: string(alg), Use: "sig"})
		})
		raw := joseAssertion(t, b, jose.SigningKey{Algorithm: alg, Key: jose.JSONWebKey{Key: key, KeyID: "k"}})
		if _, fail := b.Exchange(t.Context(), assertionRequest(raw)); fail != nil {
			t.Errorf("%s: %v", alg, fail)
		}
	}
}

// A key registered for encryption, or for an algorithm it does not fit, proves nothing.
func TestAssertionKeyForOtherUse(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, key := range []jose.JSONWebKey{
		{Key: b.key.Public(), KeyID: "k1", Use: "enc"},
		{Key: b.key.Public(), KeyID: "k1", Algorithm: "ES384"},
	} {
		b.mem.changeClient("keyed", func(c *Client) { c.JWKS = publicSet(t, key) })
		header, claims := goodAssertion(b)
		raw := forge(t, header, claims, es256(t, b.key))
		if _, fail := b.Exchange(t.Context(), assertionRequest(raw)); codeOf(fail) != "invalid_client" {
			t.Errorf("use %q alg %q: %v", key.Use, key.Algorithm, fail)
		}
	}
}

func TestAssertionKeyForOtherAlgorithm(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	b.mem.changeClient("keyed", func(c *Client) {
		c.JWKS = publicSet(t, jose.JSONWebKey{Key: key.Public(), KeyID: "k", Algorithm: "PS256"})
	})
	for alg, want := range map[jose.SignatureAlgorithm]string{jose.PS256: "", jose.RS256: "invalid_client"} {
		raw := joseAssertion(t, b, jose.SigningKey{Algorithm: alg, Key: jose.JSONWebKey{Key: key, KeyID: "k"}})
		if _, fail := b.Exchange(t.Context(), assertionRequest(raw)); codeOf(fail) != want {
			t.Errorf("%s: %v", alg, fail)
		}
	}
}

func joseAssertion(t testing.TB, b *bench, key jose.SigningKey) string {
	t.Helper()
	signer, err := jose.NewSigner(key, nil)
	must(t, err)
	now := b.clock.Now()
	raw, err := jwt.Signed(signer).Claims(jwt.Claims{
		Issuer: "keyed", Subject: "keyed", Audience: jwt.Audience{testEndpoint}, ID: rand.Text(),
		IssuedAt: jwt.NewNumericDate(now), Expiry: jwt.NewNumericDate(now.Add(time.Minute)),
	}).Serialize()
	must(t, err)
	return raw
}
