package token

import (
	"errors"
	"testing"
)

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
