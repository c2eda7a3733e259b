package token

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
)

func TestLoaderKeepsForMaxAge(t *testing.T) {
	t.Parallel()
	c := newClock()
	loads := 0
	l := newLoader(c.Now, 2, func(_ context.Context, _ string, old int) (int, error) {
		loads++
		return old + 1, nil
	})
	for _, tc := range []struct {
		wait time.Duration
		want int
	}{{0, 1}, {5 * time.Second, 1}, {time.Nanosecond, 2}, {-time.Hour, 3}} {
		c.add(tc.wait)
		if v, err := l.get(t.Context(), "a", 5*time.Second); v != tc.want || err != nil {
			t.Errorf("after %s: %d, %v, want %d", tc.wait, v, err, tc.want)
		}
	}
	if loads != 3 {
		t.Errorf("%d loads", loads)
	}
}

func TestLoaderForgetsFailures(t *testing.T) {
	t.Parallel()
	outage := errors.New("outage")
	fail := outage
	l := newLoader(newClock().Now, 1, func(context.Context, string, int) (int, error) { return 7, fail })
	if _, err := l.get(t.Context(), "a", time.Hour); !errors.Is(err, outage) {
		t.Fatal(err)
	}
	fail = nil
	if v, err := l.get(t.Context(), "a", time.Hour); v != 7 || err != nil {
		t.Errorf("%d, %v", v, err)
	}
}

// A caller that leaves must neither wait for a slow storage nor spoil the load for the others.
func TestLoaderCallerGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := func(ctx context.Context, _ string, _ int) (int, error) {
			select {
			case <-time.After(3 * time.Second):
				return 7, nil
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}
		l := newLoader(time.Now, 1, slow)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		go func() {
			if _, err := l.get(ctx, "a", time.Hour); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the one that left got %v", err)
			}
		}()
		synctest.Wait()
		if v, err := l.get(t.Context(), "a", time.Hour); v != 7 || err != nil {
			t.Errorf("the one that stayed got %d, %v", v, err)
		}
	})
}

func TestLoaderEndsHangingLoad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hang := func(ctx context.Context, _ string, _ int) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		}
		start := time.Now()
		if _, err := newLoader(time.Now, 1, hang).get(t.Context(), "a", 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if d := time.Since(start); d != loadTimeout {
			t.Errorf("ended after %s", d)
		}
	})
}

func TestLRUForgetsWhatWasUsedLongestAgo(t *testing.T) {
	t.Parallel()
	l := newLRU[string, int](2)
	l.put("a", 1)
	l.put("b", 2)
	l.get("a")
	l.put("c", 3)
	l.put("a", 4)
	if _, ok := l.get("b"); ok || l.len() != 2 {
		t.Error("b should be gone")
	}
	if v, ok := l.get("a"); !ok || v != 4 {
		t.Error("a should be renewed")
	}
	l.remove("a")
	l.remove("a")
	if l.len() != 1 {
		t.Error("a should be removed")
	}
}

func (l *lru[K, V]) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.order.Len()
}

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
