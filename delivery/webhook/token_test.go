package webhook

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"schakel/delivery/amqp/certs/certtest"
	"schakel/delivery/outbound"
)

const secret = "s3cr3t+with/odd:signs"

// tokenServer is a token endpoint that answers token-1, token-2 and so on, or the answer that was set.
type tokenServer struct {
	*httptest.Server
	requests atomic.Int32
	answer   atomic.Pointer[func(w http.ResponseWriter, n int32)]
	last     atomic.Pointer[http.Request] // its form is parsed
}

func newTokenServer(t testing.TB) *tokenServer {
	t.Helper()
	s := &tokenServer{}
	s.Server = serve(t, func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		s.last.Store(r)
		n := s.requests.Add(1)
		if answer := s.answer.Load(); answer != nil {
			(*answer)(w, n)
			return
		}
		_, _ = fmt.Fprintf(w, `{"access_token":"token-%d","token_type":"bearer","expires_in":3600}`, n)
	})
	return s
}

func (s *tokenServer) set(answer func(w http.ResponseWriter, n int32)) { s.answer.Store(&answer) }

func (s *tokenServer) config(method string) *TokenConfig {
	return &TokenConfig{
		ConfigVersion: "1", TokenURL: s.URL + "/token", ClientID: "cli:ent", Secret: secret, Scope: "events.publish", AuthMethod: method,
	}
}

// guarded is a receiver that accepts only the tokens that good accepts.
func guarded(t *testing.T, good func(token string) bool) *httptest.Server {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if !good(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	})
}

func anyToken(token string) bool { return strings.HasPrefix(token, "token-") }

// Rules: SEC-01, SEC-02.
func TestTokenRequest(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		method string
		form   []string // names, apart from grant_type and scope
		basic  bool
	}{
		{AuthBasic, nil, true},
		{"", nil, true},
		{AuthPost, []string{"client_id", "client_secret"}, false},
		{AuthPrivateKey, []string{"client_id", "client_assertion", "client_assertion_type"}, false},
		{AuthTLS, []string{"client_id"}, false},
	} {
		t.Run("SEC-01 "+tt.method, func(t *testing.T) {
			t.Parallel()
			as, sink := newTokenServer(t), guarded(t, anyToken)
			s := newSender(t, fixedKey{SigningKey{KID: "k1", Alg: "ES256", Private: key}}, as.Server, sink)
			cfg := as.config(tt.method)
			if tt.method == AuthTLS {
				out := s.Send(t.Context(), Target{EndpointID: "none", URL: sink.URL, Token: cfg}, message())
				if out.Token == nil || out.Token.Code != "config" {
					t.Errorf("without a certificate: %+v", out)
				}
				cfg.Certificate = &outbound.Certificate{ID: "c", TLS: &tls.Certificate{}}
			}
			out := s.Send(t.Context(), Target{EndpointID: "e", URL: sink.URL, Token: cfg}, message())
			if out.Status != 202 {
				t.Fatalf("%+v", out)
			}
			req := as.last.Load()
			form := url.Values{"grant_type": {"client_credentials"}, "scope": {"events.publish"}}
			for _, name := range tt.form {
				form[name] = req.PostForm[name]
			}
			if req.PostForm.Encode() != form.Encode() || req.PostForm.Get("scope") == "" {
				t.Errorf("form %v", req.PostForm)
			}
			id, password, ok := req.BasicAuth()
			if ok != tt.basic || ok && (id != url.QueryEscape("cli:ent") || password != url.QueryEscape(secret)) {
				t.Errorf("basic %v %q %q", ok, id, password)
			}
		})
	}
}

func TestNoToken(t *testing.T) {
	t.Parallel()
	as := newTokenServer(t)
	sink := guarded(t, func(token string) bool { return token == "" })
	s := newSender(t, nil, as.Server, sink)
	out := s.Send(t.Context(), Target{URL: sink.URL, Token: as.config(AuthNone)}, message())
	if out.Status != 202 || as.requests.Load() != 0 {
		t.Errorf("%+v", out)
	}
}

type fixedKey struct{ key SigningKey }

func (f fixedKey) SigningKey(context.Context) (SigningKey, error) {
	if f.key.Private == nil {
		return SigningKey{}, errors.New("open /var/keys/private.pem: no such file")
	}
	return f.key, nil
}

// Rules: SEC-04.
func TestAssertion(t *testing.T) {
	t.Parallel()
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rs, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		alg string
		key crypto.Signer
		ok  bool
	}{
		{"ES256", ec, true},
		{"RS256", rs, true},
		{"PS256", rs, true},
		{"ES384", ec, false},
		{"HS256", rs, false},
		{"none", rs, false},
		{"RS256", ec, false},
		{"RS256", nil, false},
	} {
		t.Run("SEC-04 "+tt.alg, func(t *testing.T) {
			t.Parallel()
			s := newSender(t, fixedKey{SigningKey{KID: "k1", Alg: tt.alg, Private: tt.key}})
			f := &tokenFetcher{signer: fixedKey{SigningKey{KID: "k1", Alg: tt.alg, Private: tt.key}}, now: s.clock.now, logger: s.logger}
			raw, err := f.assertion(t.Context(), TokenConfig{ClientID: "me", TokenURL: "https://as.example/token"})
			if (err == nil) != tt.ok {
				t.Fatalf("error %v", err)
			}
			if err != nil {
				if strings.Contains(err.Error(), "/var/") {
					t.Errorf("error tells too much: %v", err)
				}
				return
			}
			checkAssertion(t, raw, tt.alg, tt.key.Public())
		})
	}
}

// The assertion of a key with a certificate carries its chain, and that key signed it.
func TestAssertionCarriesCertificate(t *testing.T) {
	t.Parallel()
	pki := certtest.New(t, time.Now())
	pair := pki.Issue("00000001123456789000")
	s := newSender(t, fixedKey{})
	f := &tokenFetcher{signer: fixedKey{SigningKey{KID: "k1", Alg: "ES256", Private: pair.Key, Chain: []*x509.Certificate{pair.Cert, pki.Between}}}, now: s.clock.now, logger: s.logger}
	raw, err := f.assertion(t.Context(), TokenConfig{ClientID: "me", TokenURL: "https://as.example/token"})
	if err != nil {
		t.Fatal(err)
	}
	checkAssertion(t, raw, "ES256", pair.Cert.PublicKey)
	parsed, err := jwt.ParseSigned(raw, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(pki.Root)
	chains, err := parsed.Headers[0].Certificates(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	if err != nil || len(chains) != 1 || !chains[0][0].Equal(pair.Cert) || len(chains[0]) != 3 {
		t.Errorf("%v, %v", chains, err)
	}
}

func checkAssertion(t *testing.T, raw, alg string, public crypto.PublicKey) {
	t.Helper()
	token, err := jwt.ParseSigned(raw, []jose.SignatureAlgorithm{jose.SignatureAlgorithm(alg)})
	if err != nil {
		t.Fatal(err)
	}
	var got claims
	if err := token.Claims(public, &got); err != nil {
		t.Fatal(err)
	}
	want := claims{"me", "me", "https://as.example/token", now().Unix(), now().Unix() + 60, got.ID}
	if got != want || len(got.ID) < 22 || token.Headers[0].KeyID != "k1" {
		t.Errorf("%+v, header %+v", got, token.Headers[0])
	}
}

// Rules: SEC-04.
func TestJTIIsNeverReused(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 10_000 {
		seen[newJTI()] = true
	}
	if len(seen) != 10_000 {
		t.Errorf("%d different of 10000", len(seen))
	}
}

func TestNoSigner(t *testing.T) {
	t.Parallel()
	as := newTokenServer(t)
	out := newSender(t, nil, as.Server).Send(t.Context(), Target{URL: as.URL, Token: as.config(AuthPrivateKey)}, message())
	if out.Kind != KindToken || out.Token == nil || out.Token.Code != "config" {
		t.Errorf("%+v", out)
	}
	out = newSender(t, nil, as.Server).Send(t.Context(), Target{URL: as.URL, Token: as.config("tls_client_auth")}, message())
	if out.Kind != KindToken || out.Token == nil || out.Token.Code != "config" {
		t.Errorf("%+v", out)
	}
}

func TestTokenEndpointFails(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		status    int
		body      string
		code      string
		transient bool
	}{
		{"invalid_client", 401, `{"error":"invalid_client","error_description":"no ` + secret + `"}`, "invalid_client", false},
		{"secret across the end of what is kept", 401, `{"error":"x","error_description":"` + strings.Repeat("a", 195) + secret + `"}`, "x", false},
		{"bad request without JSON", 400, "<html>", "http-400", false},
		{"strange error code", 400, `{"error":"<script>"}`, "http-400", false},
		{"redirect", 302, "", "http-302", false},
		{"down", 503, "", "http-503", true},
		{"too many", 429, `{}`, "http-429", true},
		{"not JSON", 200, "token", "answer", false},
		{"no token", 200, `{"token_type":"Bearer"}`, "answer", false},
		{"header injection", 200, `{"access_token":"a\r\nX: y","token_type":"Bearer"}`, "answer", false},
		{"DPoP", 200, `{"access_token":"a","token_type":"DPoP"}`, "answer", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			as := newTokenServer(t)
			as.set(func(w http.ResponseWriter, _ int32) {
				w.Header().Set("Retry-After", "7")
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			})
			s := newSender(t, nil, as.Server)
			out := s.Send(t.Context(), Target{EndpointID: "e", URL: as.URL + "/sink", Token: as.config(AuthBasic)}, message())
			if out.Kind != KindToken || out.Token == nil || out.Token.Code != tt.code || out.Token.Transient != tt.transient {
				t.Fatalf("%+v, %+v", out, out.Token)
			}
			if strings.Contains(out.Detail+s.log.String(), secret[:5]) {
				t.Errorf("the secret shows: %s", out.Detail)
			}
			if d := Verdict(out, facts()); d.Next != NextRetry || (d.EndpointAction == EndpointAlert) == tt.transient {
				t.Errorf("%+v", d)
			}
		})
	}
}

// TryToken asks each time and keeps nothing; it names why there is no token, and gives up when its caller does.
func TestTryToken(t *testing.T) {
	t.Parallel()
	server := newTokenServer(t)
	s := newSender(t, nil, server.Server)
	for n := range 2 {
		lifetime, err := s.TryToken(t.Context(), *server.config(AuthBasic))
		if err != nil || lifetime != time.Hour || server.requests.Load() != int32(n+1) {
			t.Fatalf("%s, %v after %d requests", lifetime, err, server.requests.Load())
		}
	}
	server.set(func(w http.ResponseWriter, _ int32) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":"invalid_client"}`)
	})
	_, err := s.TryToken(t.Context(), *server.config(AuthBasic))
	if failure, ok := errors.AsType[*TokenError](err); !ok || failure.Code != "invalid_client" {
		t.Errorf("got %v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.TryToken(gone, *server.config(AuthBasic)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestTokenEndpointBlocked(t *testing.T) {
	t.Parallel()
	cfg := &TokenConfig{TokenURL: "https://169.254.169.254/token", ClientID: "c"}
	out := newSender(t, nil).Send(t.Context(), Target{URL: "https://example.nl/", Token: cfg}, message())
	if out.Kind != KindToken || out.Token.Code != "blocked-address" || out.Token.Transient {
		t.Errorf("%+v", out)
	}
}

// Rules: SEC-01.
func TestRefreshTokenIsIgnored(t *testing.T) {
	t.Parallel()
	as := newTokenServer(t)
	as.set(func(w http.ResponseWriter, _ int32) {
		_, _ = io.WriteString(w, `{"access_token":"token-1","token_type":"Bearer","refresh_token":"hush-hush"}`)
	})
	s := newSender(t, nil, as.Server)
	if _, err := s.tokens.get(t.Context(), "e", *as.config(AuthPost)); err != nil {
		t.Fatal(err)
	}
	log := s.log.String()
	if !strings.Contains(log, "refresh token") || strings.Contains(log, "hush-hush") || strings.Contains(log, "token-1") || strings.Contains(log, secret) {
		t.Errorf("log %q", log)
	}
}

func FuzzParseTokenAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"access_token":"a","token_type":"Bearer","expires_in":3600}`, `{"access_token":"a","expires_in":"NaN"}`,
		`{"access_token":"a b"}`, `[]`, `{"access_token":"a","expires_in":-1,"refresh_token":null}`, `{`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := parseTokenAnswer(body)
		if err != nil {
			return
		}
		if got.lifetime < 0 || got.lifetime > maxLifetime || got.token == "" || strings.ContainsAny(got.token, "\r\n \t") {
			t.Fatalf("%q gives %+v", body, got)
		}
	})
}
