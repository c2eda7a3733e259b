package token

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
)

// prover makes DPoP proofs by hand.
type prover struct {
	key   *ecdsa.PrivateKey
	bench *bench
}

func newProver(t testing.TB, b *bench) *prover {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	return &prover{key, b}
}

func (p *prover) jwk(t testing.TB) json.RawMessage {
	t.Helper()
	raw, err := jose.JSONWebKey{Key: p.key.Public()}.MarshalJSON()
	must(t, err)
	return raw
}

func (p *prover) thumbprint(t testing.TB) string {
	t.Helper()
	sum, err := (&jose.JSONWebKey{Key: p.key.Public()}).Thumbprint(crypto.SHA256)
	must(t, err)
	return b64(sum)
}

func (p *prover) proof(t testing.TB, header, claims object) string {
	t.Helper()
	h := object{"alg": "ES256", "typ": "dpop+jwt", "jwk": p.jwk(t)}
	c := object{"jti": rand.Text(), "htm": "POST", "htu": testEndpoint, "iat": p.bench.clock.Now().Unix()}
	return forge(t, h.with(header), c.with(claims), es256(t, p.key))
}

func (b *bench) prove(t testing.TB, p Proof) (string, error) { return b.Prove(t.Context(), p) }

func proofCode(err error) string {
	if e, ok := errors.AsType[*ProofError](err); ok {
		return e.Code
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// A token that is asked with a proof is bound to its key, and a proof at an API is for one request, one token and one use.
//
// Rules: SEC-13.
func TestProofOfKey(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p := newProver(t, b)
	request := b.basicRequest()
	request.Proofs = []string{p.proof(t, nil, nil)}
	answer, fail := b.Exchange(t.Context(), request)
	if fail != nil || answer.TokenType != "DPoP" {
		t.Fatalf("%+v, %v", answer, fail)
	}
	claims, err := b.Verify(t.Context(), answer.AccessToken)
	must(t, err)
	if claims.Key != p.thumbprint(t) || claims.Thumbprint != "" {
		t.Errorf("bound to %q", claims.Key)
	}
	if _, fail := b.Exchange(t.Context(), request); fail == nil || fail.Code != CodeInvalidProof || fail.Status != http.StatusBadRequest {
		t.Errorf("a proof works twice: %v", fail)
	}
	sum := sha256.Sum256([]byte(answer.AccessToken))
	at := Proof{Method: "GET", URL: "https://schakel.example:443/events/v1/subscriptions", Token: answer.AccessToken}
	good := object{"htm": "GET", "htu": "https://SCHAKEL.example/events/v1/subscriptions", "ath": b64(sum[:])}
	now := b.clock.Now().Unix()
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	otherJWK, err := jose.JSONWebKey{Key: other.Public()}.MarshalJSON()
	must(t, err)
	private, err := jose.JSONWebKey{Key: p.key}.MarshalJSON()
	must(t, err)
	small, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	smallJWK, err := jose.JSONWebKey{Key: small.Public()}.MarshalJSON()
	must(t, err)
	for name, tc := range map[string]struct {
		header, claims object
		code           string
	}{
		"good":                 {nil, nil, ""},
		"with a query":         {nil, object{"htu": "https://schakel.example/events/v1/subscriptions?page=2#x"}, ""},
		"a clock ahead":        {nil, object{"iat": now + 59}, ""},
		"a clock behind":       {nil, object{"iat": now - 119}, ""},
		"typ":                  {object{"typ": "JWT"}, nil, CodeInvalidProof},
		"no key":               {object{"jwk": nil}, nil, CodeInvalidProof},
		"private key":          {object{"jwk": json.RawMessage(private)}, nil, CodeInvalidProof},
		"key of another":       {object{"jwk": json.RawMessage(otherJWK)}, nil, CodeInvalidProof},
		"key of another kind":  {object{"jwk": json.RawMessage(smallJWK)}, nil, CodeInvalidProof},
		"alg none":             {object{"alg": "none"}, nil, CodeInvalidProof},
		"alg HS256":            {object{"alg": "HS256"}, nil, CodeInvalidProof},
		"no jti":               {nil, object{"jti": nil}, CodeInvalidProof},
		"long jti":             {nil, object{"jti": strings.Repeat("j", 257)}, CodeInvalidProof},
		"another method":       {nil, object{"htm": "POST"}, CodeInvalidProof},
		"method in small case": {nil, object{"htm": "get"}, CodeInvalidProof},
		"another path":         {nil, object{"htu": "https://schakel.example/events/v1/events"}, CodeInvalidProof},
		"another host":         {nil, object{"htu": "https://evil.example/events/v1/subscriptions"}, CodeInvalidProof},
		"another scheme":       {nil, object{"htu": "http://schakel.example/events/v1/subscriptions"}, CodeInvalidProof},
		"no iat":               {nil, object{"iat": nil}, CodeInvalidProof},
		"old":                  {nil, object{"iat": now - 121}, CodeInvalidProof},
		"from the future":      {nil, object{"iat": now + 61}, CodeInvalidProof},
		"no token":             {nil, object{"ath": nil}, CodeInvalidProof},
		"another token":        {nil, object{"ath": b64([]byte("x"))}, CodeInvalidProof},
	} {
		claims := maps.Clone(good)
		maps.Copy(claims, tc.claims)
		at.Headers = []string{p.proof(t, tc.header, claims)}
		key, err := b.prove(t, at)
		if proofCode(err) != tc.code || tc.code == "" && key != p.thumbprint(t) {
			t.Errorf("%s: %v", name, err)
		}
		if _, again := b.prove(t, at); tc.code == "" && proofCode(again) != CodeInvalidProof {
			t.Errorf("%s: replayed: %v", name, again)
		}
	}
	at.Headers = nil
	if _, err := b.prove(t, at); proofCode(err) != CodeInvalidProof {
		t.Errorf("no proof: %v", err)
	}
	at.Headers = []string{p.proof(t, nil, good), p.proof(t, nil, good)}
	if _, err := b.prove(t, at); proofCode(err) != CodeInvalidProof {
		t.Errorf("two proofs: %v", err)
	}
	b.mem.change(func(m *memory) { m.fail = errors.New("disk on fire") })
	at.Headers = []string{p.proof(t, nil, good)}
	if _, err := b.prove(t, at); err == nil || proofCode(err) == CodeInvalidProof {
		t.Errorf("an outage: %v", err)
	}
}

// A client that is to bind its tokens gets no other, and those it had stop.
func TestClientBindsToKey(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	raw := b.token(t)
	b.mem.changeClient("basic", func(c *Client) { c.DPoPBound = true })
	if _, fail := b.Exchange(t.Context(), b.basicRequest()); fail == nil || fail.Code != CodeInvalidProof {
		t.Errorf("without a proof: %v", fail)
	}
	if _, err := b.Verify(t.Context(), raw); !errors.Is(err, ErrInvalidToken) {
		t.Errorf("an earlier token: %v", err)
	}
	if algs := b.Metadata(t.Context())["dpop_signing_alg_values_supported"]; algs == nil {
		t.Error("the metadata lists no algorithms")
	}
}

// macNonces stand in for the vault.
type macNonces struct{}

// Prove implements Nonces.
func (macNonces) Prove(text string) string {
	sum := sha256.Sum256([]byte("key" + text))
	return b64(sum[:])
}

// Proves implements Nonces.
func (n macNonces) Proves(text, code string) bool { return n.Prove(text) == code }

// With nonces asked for, a proof needs one of the last minutes, which the refusal gives.
func TestProofNonce(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *Config) { c.Nonces, c.AskNonce = macNonces{}, func(context.Context) bool { return true } })
	p := newProver(t, b)
	try := func(claims object) *OAuthError {
		request := b.basicRequest()
		request.Proofs = []string{p.proof(t, nil, claims)}
		_, fail := b.Exchange(t.Context(), request)
		return fail
	}
	fail := try(nil)
	if fail == nil || fail.Code != CodeUseNonce || fail.Nonce == "" {
		t.Fatalf("no nonce: %+v", fail)
	}
	nonce := fail.Nonce
	if fail := try(object{"nonce": nonce}); fail != nil {
		t.Errorf("with the nonce: %v", fail)
	}
	slot, code, _ := strings.Cut(nonce, ".")
	for _, forged := range []string{slot + ".x", slot, "." + code, "zz." + code, code} {
		if fail := try(object{"nonce": forged}); fail == nil || fail.Code != CodeUseNonce {
			t.Errorf("%q: %v", forged, fail)
		}
	}
	b.clock.add(nonceSlot)
	if fail := try(object{"nonce": nonce}); fail != nil {
		t.Errorf("a moment later: %v", fail)
	}
	b.clock.add(nonceSlot)
	if fail := try(object{"nonce": nonce}); fail == nil || fail.Code != CodeUseNonce || fail.Nonce == nonce {
		t.Errorf("an old nonce: %+v", fail)
	}
}
