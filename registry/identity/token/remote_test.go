package token

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// partner serves a JWK set over TLS, as a client's jwks_uri does.
type partner struct {
	*bench
	body  atomic.Value // string
	code  atomic.Int32
	calls atomic.Int32
}

func newPartner(t *testing.T, change ...func(*Config)) *partner {
	t.Helper()
	p := &partner{}
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		p.calls.Add(1)
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(int(p.code.Load()))
		_, _ = w.Write([]byte(p.body.Load().(string)))
	}))
	t.Cleanup(srv.Close)
	change = append([]func(*Config){func(c *Config) { c.HTTP = srv.Client() }}, change...)
	p.bench = newBench(t, change...)
	p.mem.changeClient("keyed", func(c *Client) { c.JWKS, c.JWKSURI = nil, srv.URL })
	p.serve(200, string(publicSet(t, jose.JSONWebKey{Key: p.key.Public(), KeyID: "k1"})))
	return p
}

func (p *partner) serve(code int, body string) {
	p.code.Store(int32(code))
	p.body.Store(body)
}

func (p *partner) try(t *testing.T, kid string, key *ecdsa.PrivateKey) *OAuthError {
	t.Helper()
	header, claims := goodAssertion(p.bench)
	raw := forge(t, header.with(object{"kid": kid}), claims, es256(t, key))
	_, fail := p.Exchange(t.Context(), assertionRequest(raw))
	return fail
}

// Rules: SEC-12.
func TestRemoteKeysRoll(t *testing.T) {
	t.Parallel()
	p := newPartner(t)
	for range 5 {
		if fail := p.try(t, "k1", p.key); fail != nil {
			t.Fatal(fail)
		}
	}
	if n := p.calls.Load(); n != 1 {
		t.Errorf("%d requests for 5 assertions", n)
	}
	next, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	p.serve(200, string(publicSet(t, jose.JSONWebKey{Key: next.Public(), KeyID: "k2"})))
	p.clock.add(61 * time.Second)
	if fail := p.try(t, "k2", next); fail != nil {
		t.Errorf("a rolled key is not seen (SEC-12): %v", fail)
	}
	if fail := p.try(t, "k1", p.key); codeOf(fail) != "invalid_client" {
		t.Errorf("the removed key works after the set was read again: %v", fail)
	}
}

// Rules: SEC-12.
func TestUnknownKidFloodFetchesOncePerMinute(t *testing.T) {
	t.Parallel()
	p := newPartner(t)
	for range 180 {
		if fail := p.try(t, "made-up", p.key); codeOf(fail) != "invalid_client" {
			t.Fatal(fail)
		}
		p.clock.add(time.Second)
	}
	if n := p.calls.Load(); n > 4 {
		t.Errorf("%d requests in 3 minutes", n)
	}
}

func TestWrongSignatureFetchesNothing(t *testing.T) {
	t.Parallel()
	p := newPartner(t)
	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	for range 10 {
		if fail := p.try(t, "k1", stranger); codeOf(fail) != "invalid_client" {
			t.Fatal(fail)
		}
		p.clock.add(2 * time.Minute)
	}
	if n := p.calls.Load(); n != 1 {
		t.Errorf("%d requests", n)
	}
}

func TestRemoteOutage(t *testing.T) {
	t.Parallel()
	p := newPartner(t)
	if fail := p.try(t, "k1", p.key); fail != nil {
		t.Fatal(fail)
	}
	p.serve(500, "")
	p.clock.add(2 * time.Hour)
	if fail := p.try(t, "k1", p.key); fail != nil {
		t.Errorf("known keys do not bridge an outage: %v", fail)
	}
	p.clock.add(25 * time.Hour)
	if fail := p.try(t, "k1", p.key); codeOf(fail) != "invalid_client" {
		t.Errorf("keys of yesterday still work: %v", fail)
	}
}

func TestRemoteRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		code   int
		body   string
		change func(*Config)
	}{
		"redirect":  {code: 302},
		"not found": {code: 404},
		"too large": {code: 200, body: strings.Repeat(" ", maxJWKSBytes+1)},
		"not JSON":  {code: 200, body: "<html>"},
		"disabled":  {code: 200, body: "{}", change: func(c *Config) { c.HTTP = nil }},
	} {
		change := func(*Config) {}
		if tc.change != nil {
			change = tc.change
		}
		p := newPartner(t, change)
		p.serve(tc.code, tc.body)
		for range 3 {
			if fail := p.try(t, "k1", p.key); codeOf(fail) != "invalid_client" || fail.Err == nil {
				t.Errorf("%s: %v", name, fail)
			}
		}
		if n := p.calls.Load(); n > 1 {
			t.Errorf("%s: %d requests for a failing address", name, n)
		}
	}
}

func TestRemoteMustBeHTTPS(t *testing.T) {
	t.Parallel()
	p := newPartner(t)
	p.mem.changeClient("keyed", func(c *Client) { c.JWKSURI = "http" + strings.TrimPrefix(c.JWKSURI, "https") })
	if fail := p.try(t, "k1", p.key); codeOf(fail) != "invalid_client" || !strings.Contains(fail.Error(), "https") {
		t.Errorf("got %v", fail)
	}
}
