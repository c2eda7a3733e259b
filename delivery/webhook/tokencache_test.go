package webhook

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Rules: SEC-09.
func TestOneTokenForAThousandDeliveries(t *testing.T) {
	t.Parallel()
	as := newTokenServer(t)
	arrived := make(chan bool)
	as.set(func(w http.ResponseWriter, n int32) {
		arrived <- true // holds the answer until the test saw the request
		_, _ = fmt.Fprintf(w, `{"access_token":"token-%d","token_type":"Bearer","expires_in":3600}`, n)
	})
	s := newSender(t, nil, as.Server)
	get := func(results chan<- string) {
		token, err := s.tokens.get(t.Context(), "e", *as.config(AuthBasic))
		if err != nil {
			token = err.Error()
		}
		results <- token
	}
	for lifetime := 1; lifetime <= 2; lifetime++ {
		results := make(chan string, 1000)
		for range 1000 {
			go get(results)
		}
		<-arrived
		for range 1000 {
			if token := <-results; token != "token-"+strconv.Itoa(lifetime) {
				t.Fatalf("lifetime %d: %q", lifetime, token)
			}
		}
		s.clock.add(3600*time.Second - 30*time.Second)
	}
	if n := as.requests.Load(); n != 2 {
		t.Errorf("SEC-09: %d token requests in two lifetimes", n)
	}
}

// Rules: SEC-09.
func TestTokenLifetime(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		expires string
		usable  time.Duration
	}{
		{"an hour", `,"expires_in":3600`, 3570 * time.Second},
		{"a minute", `,"expires_in":60`, 54 * time.Second},
		{"in quotes", `,"expires_in":"60"`, 54 * time.Second},
		{"not said", ``, assumedLifetime - 30*time.Second},
		{"null", `,"expires_in":null`, assumedLifetime - 30*time.Second},
		{"an object", `,"expires_in":{}`, assumedLifetime - 30*time.Second},
		{"a year", `,"expires_in":31536000`, maxLifetime - 30*time.Second},
		{"absurd", `,"expires_in":1e300`, maxLifetime - 30*time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			as := newTokenServer(t)
			as.set(func(w http.ResponseWriter, _ int32) {
				_, _ = io.WriteString(w, `{"access_token":"token-x","token_type":"Bearer"`+tt.expires+`}`)
			})
			s := newSender(t, nil, as.Server)
			for i, step := range []time.Duration{0, tt.usable - 1, 1} {
				s.clock.add(step)
				if _, err := s.tokens.get(t.Context(), "e", *as.config(AuthBasic)); err != nil {
					t.Fatal(err)
				}
				if want := int32(1 + i/2); as.requests.Load() != want {
					t.Errorf("step %d: %d requests, want %d", i, as.requests.Load(), want)
				}
			}
		})
	}
}

func TestTokenBelongsToEndpointAndVersion(t *testing.T) {
	t.Parallel()
	as := newTokenServer(t)
	s := newSender(t, nil, as.Server)
	get := func(endpoint, version string) string {
		cfg := as.config(AuthBasic)
		cfg.ConfigVersion = version
		token, err := s.tokens.get(t.Context(), endpoint, *cfg)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	got := []string{get("a", "1"), get("b", "1"), get("a", "1"), get("a", "2"), get("a", "2")}
	if strings.Join(got, " ") != "token-1 token-2 token-1 token-3 token-3" {
		t.Error(got)
	}
	s.Forget("a")
	if token := get("a", "2"); token != "token-4" {
		t.Error(token)
	}
}

func TestRefusedToken(t *testing.T) {
	t.Parallel()
	as := newTokenServer(t)
	var good atomic.Value
	good.Store("token-2")
	sink := guarded(t, func(token string) bool { return token == good.Load() })
	s := newSender(t, nil, as.Server, sink)
	target := Target{EndpointID: "e", URL: sink.URL, Token: as.config(AuthBasic)}
	for _, step := range []struct {
		name     string
		good     string
		after    time.Duration
		status   int
		fresh    bool
		requests int32
	}{
		{"revoked", "token-2", 0, 401, true, 1},
		{"another is taken", "token-2", 0, 202, false, 2},
		{"and kept", "token-2", time.Second, 202, false, 2},
		{"revoked soon again", "token-3", time.Second, 401, false, 2},
		{"not asked again at once", "token-3", time.Second, 401, false, 2},
		{"but after a minute", "token-3", time.Minute, 401, true, 2},
		{"it is", "token-3", 0, 202, false, 3},
	} {
		good.Store(step.good)
		s.clock.add(step.after)
		out := s.Send(t.Context(), target, message())
		if out.Status != step.status || out.FreshToken != step.fresh || as.requests.Load() != step.requests {
			t.Errorf("%s: %d, fresh %v, %d token requests", step.name, out.Status, out.FreshToken, as.requests.Load())
		}
	}
}

func TestManyRefusalsAreOne(t *testing.T) {
	t.Parallel()
	as := newTokenServer(t)
	sink := guarded(t, func(token string) bool { return token == "token-2" })
	s := newSender(t, nil, as.Server, sink)
	target := Target{EndpointID: "e", URL: sink.URL, Token: as.config(AuthBasic), Timeout: time.Minute} // 50 at once on a busy machine
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			out := s.Send(t.Context(), target, message())
			if out.Status == 401 && !out.FreshToken {
				t.Error("a delivery with the old token was told that there is no other")
			}
			if out.Status == 401 {
				out = s.Send(t.Context(), target, message())
			}
			if out.Status != 202 {
				t.Errorf("%+v", out)
			}
		})
	}
	wg.Wait()
	if n := as.requests.Load(); n != 2 {
		t.Errorf("%d token requests", n)
	}
}

func TestBrokenTokenEndpointIsLeftAlone(t *testing.T) {
	t.Parallel()
	as := newTokenServer(t)
	as.set(func(w http.ResponseWriter, n int32) {
		if n == 2 {
			w.Header().Set("Retry-After", "60")
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	s := newSender(t, nil, as.Server)
	for i, step := range []struct {
		after    time.Duration
		requests int32
	}{{0, 1}, {0, 1}, {failureBackoff - 1, 1}, {1, 2}, {59 * time.Second, 2}, {time.Second, 3}} {
		s.clock.add(step.after)
		if _, err := s.tokens.get(t.Context(), "e", *as.config(AuthBasic)); err == nil {
			t.Fatal("no error")
		}
		if got := as.requests.Load(); got != step.requests {
			t.Errorf("step %d: %d requests, want %d", i, got, step.requests)
		}
	}
}

func TestStoppedDeliveryLeavesTheTokenToOthers(t *testing.T) {
	t.Parallel()
	as := newTokenServer(t)
	arrived, release := make(chan bool), make(chan bool)
	as.set(func(w http.ResponseWriter, _ int32) {
		arrived <- true
		<-release
		_, _ = io.WriteString(w, `{"access_token":"token-1","token_type":"Bearer"}`)
	})
	s := newSender(t, nil, as.Server)
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan Outcome)
	target := Target{EndpointID: "e", URL: as.URL, Token: as.config(AuthBasic)}
	go func() { stopped <- s.Send(ctx, target, message()) }()
	<-arrived
	cancel()
	if out := <-stopped; out.Kind != "canceled" || Verdict(out, facts()).Reason != ReasonCanceled {
		t.Errorf("%+v", out)
	}
	release <- true
	if token, err := s.tokens.get(t.Context(), "e", *target.Token); err != nil || token != "token-1" {
		t.Errorf("%q, %v", token, err)
	}
	if as.requests.Load() != 1 {
		t.Errorf("%d token requests", as.requests.Load())
	}
}
