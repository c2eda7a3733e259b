package token

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// goodToken answers the parts of a token that Verify accepts.
func goodToken(b *bench) (header, claims object) {
	now := b.clock.Now().Unix()
	header = object{"alg": "ES256", "typ": "at+jwt", "kid": b.mem.keys[0].KID}
	claims = object{
		"iss": testIssuer, "aud": testIssuer, "sub": "basic", "azp": "basic", "client_id": "basic",
		"partner_id": "par_1", "scope": "events.publish", "token_version": 0,
		"iat": now, "nbf": now, "exp": now + 3600, "jti": "t1",
	}
	return header, claims
}

func TestVerifyAcceptsForged(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	header, claims := goodToken(b)
	sign := es256(t, b.mem.keys[0].Private)
	for _, h := range []object{header, header.with(object{"typ": "application/at+jwt"})} {
		if _, err := b.Verify(t.Context(), forge(t, h, claims, sign)); err != nil {
			t.Errorf("the control token is refused, so the refusals prove nothing: %v", err)
		}
	}
}

// The negative matrix of SEC-07.
//
// Rules: SEC-07.
func TestVerifyRefuses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ours := es256(t, b.mem.keys[0].Private)
	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	der, err := x509.MarshalPKIXPublicKey(b.mem.keys[0].Private.Public())
	must(t, err)
	jwk, err := json.Marshal(jose.JSONWebKey{Key: stranger.Public()})
	must(t, err)
	now := b.clock.Now()
	for name, tc := range map[string]struct {
		header, claims object
		sign           func([]byte) []byte
	}{
		"unsigned none":         {header: object{"alg": "none"}, sign: unsigned},
		"unsigned ES256":        {sign: unsigned},
		"HS256 with public key": {header: object{"alg": "HS256"}, sign: hs256(der)},
		"other key":             {sign: es256(t, stranger)},
		"key in header":         {header: object{"jwk": json.RawMessage(jwk), "kid": nil}, sign: es256(t, stranger)},
		"RS256":                 {header: object{"alg": "RS256"}},
		"wrong kid":             {header: object{"kid": "other"}},
		"no kid":                {header: object{"kid": nil}},
		"no typ":                {header: object{"typ": nil}},
		"id token":              {header: object{"typ": "JWT"}},
		"crit unknown":          {header: object{"crit": []string{"x"}, "x": 1}},
		"crit b64":              {header: object{"crit": []string{"b64"}, "b64": true}},
		"wrong iss":             {claims: object{"iss": "https://evil.example"}},
		"no iss":                {claims: object{"iss": nil}},
		"wrong aud":             {claims: object{"aud": "https://evil.example"}},
		"no aud":                {claims: object{"aud": nil}},
		"expired":               {claims: object{"exp": now.Unix()}},
		"no exp":                {claims: object{"exp": nil}},
		"exp as text":           {claims: object{"exp": "9999999999"}},
		"exp overflow":          {claims: object{"exp": 9.3e18}},
		"nbf in future":         {claims: object{"nbf": now.Add(2 * time.Minute).Unix()}},
		"iat in future":         {claims: object{"iat": now.Add(2 * time.Minute).Unix()}},
		"no iat":                {claims: object{"iat": nil}},
		"no jti":                {claims: object{"jti": nil}},
		"no client":             {claims: object{"client_id": nil}},
		"azp differs":           {claims: object{"azp": "post"}},
		"sub differs":           {claims: object{"sub": "post"}},
		"unknown client":        {claims: object{"sub": "x", "azp": "x", "client_id": "x"}},
		"other partner":         {claims: object{"partner_id": "par_2"}},
		"other version":         {claims: object{"token_version": 1}},
		"scope not granted":     {claims: object{"scope": "registry.write"}},
		"huge":                  {claims: object{"pad": strings.Repeat("x", maxTokenBytes)}},
	} {
		header, claims := goodToken(b)
		if tc.sign == nil {
			tc.sign = ours
		}
		_, err := b.Verify(t.Context(), forge(t, header.with(tc.header), claims.with(tc.claims), tc.sign))
		var refused *InvalidTokenError
		if !errors.Is(err, ErrInvalidToken) || !errors.As(err, &refused) || strings.ContainsAny(refused.Reason, "\"\\\r\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if b.tokens.len() != 0 {
		t.Errorf("%d refused tokens are remembered", b.tokens.len())
	}
}

func TestVerifyRefusesBrokenText(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	good := b.token(t)
	parts := strings.Split(good, ".")
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(alphabet, good[len(good)-1])
	for name, raw := range map[string]string{
		"other spelling": good[:len(good)-1] + alphabet[last+1:last+2],
		"empty":          "", "dots": "..", "two parts": parts[0] + "." + parts[1], "four parts": good + ".x",
		"line break": parts[0] + ".\n" + parts[1] + "." + parts[2], "space": " " + good, "padding": good + "=",
		"JSON form":          `{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`,
		"swapped payload":    parts[0] + "." + b64([]byte(`{"iss":"`+testIssuer+`"}`)) + "." + parts[2],
		"duplicate claim":    parts[0] + "." + b64([]byte(`{"exp":1,"exp":9999999999}`)) + "." + parts[2],
		"truncated":          good[:len(good)-4],
		"very long":          strings.Repeat("a", 1<<20),
		"many dots":          strings.Repeat(".", maxTokenBytes),
		"deep nesting":       parts[0] + "." + b64([]byte(strings.Repeat("[", 4000))) + "." + parts[2],
		"header not object":  b64([]byte(`[]`)) + "." + parts[1] + "." + parts[2],
		"header double alg":  b64([]byte(`{"alg":"none","alg":"ES256"}`)) + "." + parts[1] + "." + parts[2],
		"header without alg": b64([]byte(`{}`)) + "." + parts[1] + "." + parts[2],
	} {
		if _, err := b.Verify(t.Context(), raw); !errors.Is(err, ErrInvalidToken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRequireScope(t *testing.T) {
	t.Parallel()
	c := Claims{Scopes: []string{"events.publish"}}
	if c.Require("events.publish") != nil || !errors.Is(c.Require("events"), ErrInsufficientScope) {
		t.Error("scope is not compared whole")
	}
}

func TestVerifiedTokenExpires(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	raw := b.token(t)
	b.clock.add(time.Hour - time.Second)
	_, err := b.Verify(t.Context(), raw)
	must(t, err)
	b.clock.add(time.Second)
	if _, err := b.Verify(t.Context(), raw); !errors.Is(err, ErrInvalidToken) {
		t.Errorf("a remembered token outlived its exp: %v", err)
	}
	if b.tokens.len() != 0 {
		t.Error("the expired token is still remembered")
	}
}

// Rules: SEC-11.
func TestRevocationWithinFiveSeconds(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Client){
		"suspended":     func(c *Client) { c.Status = "suspended" },
		"new version":   func(c *Client) { c.TokenVersion++ },
		"scope gone":    func(c *Client) { c.Scopes = []string{"events.consume"} },
		"other partner": func(c *Client) { c.PartnerID = "par_2" },
	} {
		b := newBench(t)
		raw := b.token(t)
		_, err := b.Verify(t.Context(), raw)
		must(t, err)
		b.mem.changeClient("basic", change)
		b.clock.add(clientMaxAge + time.Millisecond)
		if _, err := b.Verify(t.Context(), raw); !errors.Is(err, ErrInvalidToken) {
			t.Errorf("%s: still accepted: %v", name, err)
		}
	}
}

func TestDeletedClientAsksStorageOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	raw := b.token(t)
	b.mem.change(func(m *memory) { delete(m.clients, "basic"); m.lookups = 0 })
	for range 10 {
		if _, err := b.Verify(t.Context(), raw); !errors.Is(err, ErrInvalidToken) {
			t.Fatal(err)
		}
	}
	if b.mem.lookups != 1 {
		t.Errorf("%d look-ups", b.mem.lookups)
	}
}

func TestVerifyOutageIsNotInvalid(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	raw := b.token(t)
	outage := errors.New("no disk")
	b.mem.change(func(m *memory) { m.fail = outage })
	_, err := b.Verify(t.Context(), raw)
	if !errors.Is(err, outage) || errors.Is(err, ErrInvalidToken) {
		t.Errorf("got %v", err)
	}
}

func TestVerifyParallelLooksUpOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	raw := b.token(t)
	b.mem.change(func(m *memory) { m.lookups = 0 })
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 50 {
				if _, err := b.Verify(t.Context(), raw); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if b.mem.lookups != 1 {
		t.Errorf("%d look-ups for 800 requests", b.mem.lookups)
	}
}

func TestTokenMemoryIsBounded(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *Config) { c.CacheSize = 3 })
	for range 5 {
		_, err := b.Verify(t.Context(), b.token(t))
		must(t, err)
	}
	if n := b.tokens.len(); n != 3 {
		t.Errorf("%d tokens remembered", n)
	}
}

// Nothing but a token we signed may pass, and nothing may panic.
func FuzzVerify(f *testing.F) {
	b := newBench(f)
	good := b.token(f)
	header, claims := goodToken(b)
	f.Add(good)
	f.Add(forge(f, header, claims, unsigned))
	f.Add(forge(f, object{"alg": "none"}, claims, unsigned))
	f.Add("..")
	f.Fuzz(func(t *testing.T, raw string) {
		_, err := b.Verify(t.Context(), raw)
		if err == nil && raw != good {
			t.Fatalf("accepted %q", raw)
		}
		if err != nil && !errors.Is(err, ErrInvalidToken) {
			t.Fatalf("input caused an outage: %v", err)
		}
	})
}

func FuzzAssertion(f *testing.F) {
	b := newBench(f)
	header, claims := goodAssertion(b)
	claims["jti"] = "once"
	good := forge(f, header, claims, es256(f, b.key))
	f.Add(forge(f, header, claims, unsigned))
	f.Add(good[:len(good)-1])
	f.Fuzz(func(t *testing.T, raw string) {
		_, fail := b.Exchange(t.Context(), assertionRequest(raw))
		if fail == nil && raw != good {
			t.Fatalf("accepted %q", raw)
		}
		if fail != nil && fail.Status >= 500 {
			t.Fatalf("input caused an outage: %v", fail)
		}
	})
}

// What the form accepts, the token endpoint can use.
func FuzzParseJWKS(f *testing.F) {
	b := newBench(f)
	f.Add(b.mem.clients["keyed"].JWKS)
	f.Add([]byte(`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`))
	f.Add([]byte(`{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"}]}`))
	f.Add([]byte(`{"keys":[{"kty":"oct","k":"AA"}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if ParseJWKS(raw) != nil {
			return
		}
		if keys, err := usableKeys(raw); err != nil || len(keys) == 0 {
			t.Fatalf("accepted but not usable: %d keys, %v", len(keys), err)
		}
	})
}
