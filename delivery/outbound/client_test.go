package outbound

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
)

// newServer starts a TLS server and a client that trusts it and may reach it.
func newServer(t *testing.T, cfg Config, handler http.HandlerFunc) (*httptest.Server, *Client) {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	return server, trusting(server, cfg)
}

func trusting(server *httptest.Server, cfg Config) *Client {
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	cfg.RootCAs = pool
	if cfg.AllowPrefixes == nil {
		cfg.AllowPrefixes = loopbackPrefixes()
	}
	return New(cfg)
}

func newRequest(t testing.TB, method, url, body string) *http.Request {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	must(t, err)
	return req
}

func TestDo(t *testing.T) {
	t.Parallel()
	server, client := newServer(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Agent", r.UserAgent())
		w.Header().Set("X-Encoding", r.Header.Get("Accept-Encoding"))
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write(append([]byte("got "), body...))
	})
	req := newRequest(t, "POST", server.URL, "hello")
	resp, err := client.Do(t.Context(), req)
	must(t, err)
	if resp.Status != 202 || string(resp.Body) != "got hello" || resp.Truncated || resp.Duration <= 0 {
		t.Errorf("response %+v", resp)
	}
	if got := resp.Header.Get("X-Agent"); got != "Schakel/1" {
		t.Errorf("User-Agent %q", got)
	}
	if got := resp.Header.Get("X-Encoding"); got != "" {
		t.Errorf("asked for compression %q", got)
	}
	if len(req.Header) != 0 {
		t.Errorf("the caller's header was written to: %v", req.Header)
	}
}

func TestDoLeavesLoopbackAloneByDefault(t *testing.T) {
	t.Parallel()
	var hits atomic.Int32
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer server.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(server.URL, "https://"), ":")
	client := New(Config{})
	for _, host := range []string{
		"127.0.0.1", "0.0.0.0", "[::]", "[::1]", "①②⑦.⓪.⓪.①", "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ", "[::ffff:7f00:1]",
		"[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "localhost", "[fe80::1%25lo]", "169.254.169.254",
	} {
		_, err := client.Do(t.Context(), newRequest(t, "GET", "https://"+host+":"+port+"/", ""))
		if !errors.Is(err, ErrBlockedAddress) || Kind(err) != KindBlockedAddress {
			t.Errorf("%s: kind %q, error %v", host, Kind(err), err)
		}
	}
	for _, host := range []string{"127.1", "2130706433", "0x7f.1"} {
		if _, err := client.Do(t.Context(), newRequest(t, "GET", "https://"+host+":"+port+"/", "")); err == nil {
			t.Errorf("%s was reached", host)
		}
	}
	if hits.Load() != 0 {
		t.Errorf("%d requests arrived", hits.Load())
	}
}

func TestErrorNamesNoAddress(t *testing.T) {
	t.Parallel()
	_, err := New(Config{}).Do(t.Context(), newRequest(t, "GET", "https://localhost:1/", ""))
	if err == nil || strings.Contains(err.Error(), "127.0.0.1") || strings.Contains(err.Error(), "::1") {
		t.Errorf("error shows the address: %v", err)
	}
	if !strings.Contains(err.Error(), "localhost:1") {
		t.Errorf("error does not name the host: %v", err)
	}
}

// Rules: CE-63.
func TestRedirectIsAnAnswer(t *testing.T) {
	t.Parallel()
	var leaked atomic.Int32
	other := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { leaked.Add(1) }))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		var hits atomic.Int32
		server, client := newServer(t, Config{}, func(w http.ResponseWriter, _ *http.Request) {
			hits.Add(1)
			w.Header().Set("Location", other.URL)
			w.WriteHeader(status)
		})
		req := newRequest(t, "POST", server.URL, "event")
		req.Header.Set("Authorization", "Bearer secret")
		resp, err := client.Do(t.Context(), req)
		if err != nil || resp.Status != status || hits.Load() != 1 {
			t.Errorf("%d: %+v, %v, %d requests", status, resp, err, hits.Load())
		}
		lib, err := client.HTTPClient().Do(req.Clone(t.Context()))
		if err != nil || lib.StatusCode != status {
			t.Errorf("%d through HTTPClient: %v", status, err)
			continue
		}
		_ = lib.Body.Close()
	}
	if leaked.Load() != 0 {
		t.Errorf("a redirect was followed %d times", leaked.Load())
	}
}

// Rules: CE-60.
func TestPlainHTTP(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }))
	defer server.Close()
	_, err := New(Config{AllowPrefixes: loopbackPrefixes()}).Do(t.Context(), newRequest(t, "GET", server.URL, ""))
	if Kind(err) != KindBlockedAddress {
		t.Errorf("plain HTTP without leave: %v", err)
	}
	demo := New(Config{AllowPlainHTTP: true, AllowPrefixes: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	resp, err := demo.Do(t.Context(), newRequest(t, "GET", server.URL, ""))
	if err != nil || resp.Status != 204 {
		t.Errorf("plain HTTP to loopback: %v", err)
	}
	if _, err := demo.Do(t.Context(), newRequest(t, "GET", "http://10.0.0.1:9/", "")); !errors.Is(err, ErrBlockedAddress) {
		t.Errorf("plain HTTP beyond loopback: %v", err)
	}
	withUser := newRequest(t, "GET", server.URL, "")
	withUser.URL.User = nil
	withUser.URL.Scheme = "ftp"
	if _, err := demo.Do(t.Context(), withUser); !errors.Is(err, ErrBlockedAddress) {
		t.Errorf("other scheme: %v", err)
	}
}

func TestNoProxyNoCookies(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://192.0.2.1:1")
	t.Setenv("ALL_PROXY", "http://192.0.2.1:1")
	server, client := newServer(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "s", Value: "1"})
		w.Header().Set("X-Cookie", r.Header.Get("Cookie"))
	})
	for range 2 {
		resp, err := client.Do(t.Context(), newRequest(t, "GET", server.URL, ""))
		if err != nil || resp.Header.Get("X-Cookie") != "" {
			t.Fatalf("%+v, %v", resp, err)
		}
	}
	if transport, err := client.transportFor(newRequest(t, "GET", server.URL, "")); err != nil || transport.Proxy != nil {
		t.Error("the transport has a proxy")
	}
}

func TestConnectionsAreReused(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	}))
	server.StartTLS() // HTTP/1.1
	defer server.Close()
	client := trusting(server, Config{})
	var dialled atomic.Int32
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			if !info.Reused {
				dialled.Add(1)
			}
		},
	})
	for range 200 {
		if _, err := client.Do(ctx, newRequest(t, "POST", server.URL, "x")); err != nil {
			t.Fatal(err)
		}
	}
	if dialled.Load() != 1 {
		t.Errorf("200 requests dialled %d times", dialled.Load())
	}
}

func TestSetAllowedPartsWithOpenConnections(t *testing.T) {
	t.Parallel()
	held, release := make(chan bool), make(chan bool)
	server, client := newServer(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hold" {
			held <- true
			<-release
		}
	})
	done := make(chan error)
	go func() {
		_, err := client.Do(context.Background(), newRequest(t, "GET", server.URL+"/hold", ""))
		done <- err
	}()
	<-held
	client.SetAllowed(nil)
	release <- true
	if err := <-done; err != nil {
		t.Errorf("the request under way: %v", err)
	}
	if _, err := client.Do(t.Context(), newRequest(t, "GET", server.URL, "")); !errors.Is(err, ErrBlockedAddress) {
		t.Errorf("after the change: %v", err)
	}
	client.SetAllowed(loopbackPrefixes())
	if _, err := client.Do(t.Context(), newRequest(t, "GET", server.URL, "")); err != nil {
		t.Errorf("allowed again: %v", err)
	}
}

func TestHTTPVersionTwo(t *testing.T) {
	t.Parallel()
	server, client := newServer(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Proto", r.Proto)
	})
	resp, err := client.Do(t.Context(), newRequest(t, "GET", server.URL, ""))
	if err != nil || resp.Header.Get("X-Proto") != "HTTP/2.0" {
		t.Errorf("%+v, %v", resp, err)
	}
}

// Rules: SEC-26.
func TestNeverInsecure(t *testing.T) {
	t.Parallel()
	cfg := newTLSConfig(Config{})
	if cfg.InsecureSkipVerify || cfg.MinVersion != tls.VersionTLS12 || cfg.CurvePreferences != nil {
		t.Errorf("TLS config %+v", cfg)
	}
}

// What is signed by itself may be fetched without encryption, from allowed addresses only.
func TestUnsigned(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	t.Cleanup(server.Close)
	for name, tt := range map[string]struct {
		cfg  Config
		good bool
	}{
		"not asked for":    {Config{}, false},
		"loopback":         {Config{AllowUnsigned: true}, false},
		"loopback allowed": {Config{AllowUnsigned: true, AllowPrefixes: loopbackPrefixes()}, true},
		"demonstration":    {Config{AllowUnsigned: true, AllowPlainHTTP: true}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := New(tt.cfg).Do(t.Context(), newRequest(t, "GET", server.URL, ""))
			if (err == nil) != tt.good {
				t.Errorf("error %v", err)
			}
		})
	}
}

// Rules: SEC-20, SEC-21, SEC-22.
func TestTLSVersionsAndCiphers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		config *tls.Config
		want   string
	}{
		{"TLS 1.0", &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS10}, KindTLS},
		{"TLS 1.1", &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, KindTLS},
		{"TLS 1.2", &tls.Config{MaxVersion: tls.VersionTLS12}, ""},
		{"TLS 1.3", &tls.Config{MinVersion: tls.VersionTLS13}, ""},
		{"CBC SHA", only(tls.TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA), KindTLS},
		{"CBC SHA-256", only(tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256), KindTLS},
		{"RSA key transport", only(tls.TLS_RSA_WITH_AES_128_GCM_SHA256), KindTLS},
		{"3DES", only(tls.TLS_RSA_WITH_3DES_EDE_CBC_SHA), KindTLS},
		{"AES-128-GCM", only(tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256), ""},
		{"AES-256-GCM", only(tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384), ""},
		{"ChaCha20", only(tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256), ""},
		{"hybrid curve", &tls.Config{CurvePreferences: []tls.CurveID{tls.X25519MLKEM768}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := startTLS(t, tt.config)
			_, err := trusting(server, Config{}).Do(t.Context(), newRequest(t, "GET", server.URL, ""))
			if Kind(err) != tt.want {
				t.Errorf("kind %q, want %q: %v", Kind(err), tt.want, errors.Unwrap(err))
			}
		})
	}
}

// Rules: SEC-26.
func TestCertificateIsVerified(t *testing.T) {
	t.Parallel()
	server := startTLS(t, &tls.Config{})
	right := trusting(server, Config{})
	_, err := New(Config{AllowPrefixes: loopbackPrefixes(), RootCAs: x509.NewCertPool()}).
		Do(t.Context(), newRequest(t, "GET", server.URL, ""))
	if Kind(err) != KindTLS || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("unknown authority: %v", err)
	}
	wrongName := strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	_, err = right.Do(t.Context(), newRequest(t, "GET", wrongName, ""))
	if Kind(err) != KindTLS || !strings.Contains(err.Error(), "not localhost") {
		t.Errorf("wrong name: %v", err)
	}
}

func TestServerWithoutTLS(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	client := New(Config{AllowPrefixes: loopbackPrefixes()})
	_, err := client.Do(t.Context(), newRequest(t, "GET", strings.Replace(server.URL, "http:", "https:", 1), ""))
	if Kind(err) != KindTLS || !strings.Contains(err.Error(), "without TLS") {
		t.Errorf("kind %q: %v", Kind(err), err)
	}
}

func only(suite uint16) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{suite}}
}

func startTLS(t *testing.T, config *tls.Config) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.TLS = config
	server.Config.ErrorLog = quiet()
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

// BenchmarkDo shows what the guard costs beside a bare http.Client.
func BenchmarkDo(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusAccepted)
	}))
	defer server.Close()
	client := New(Config{AllowPlainHTTP: true})
	b.Run("guarded", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := client.Do(b.Context(), newRequest(b, "POST", server.URL, "x")); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("bare", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			resp, err := http.DefaultClient.Do(newRequest(b, "POST", server.URL, "x"))
			if err != nil {
				b.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
