package token

import (
	"encoding/json"
	"errors"
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
	want := `{"grant_types_supported":["client_credentials"],"issuer":"https://schakel.example",` +
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
