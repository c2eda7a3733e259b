package outbound

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Rules: SEC-20, SEC-21, SEC-22.
func TestTLSVersionsAndCiphers(t *testing.T) {
	t.Parallel()
	tests := []struct {
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
	}
	for _, tt := range tests {
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
