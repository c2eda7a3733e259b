package web

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"schakel/delivery/amqp/certs"
	"schakel/delivery/amqp/certs/certtest"
	"schakel/registry"
	"schakel/registry/identity"
	"schakel/registry/identity/token"
	"schakel/store"
	"schakel/store/storetest"
	"schakel/web/site"
)

const schoolOIN, otherOIN = "00000001234567890000", "00000009876543210000"

// certWorld is an installation that is called over real TLS by the machines of a school.
type certWorld struct {
	*apiHarness
	pki    *certtest.PKI
	school store.Partner
	server *httptest.Server // TLS ends here
	behind *httptest.Server // TLS ended at a proxy
	crl    string
}

func newCertWorld(t *testing.T, mode string, frame ...func(*site.AppConfig)) *certWorld {
	t.Helper()
	clock := storetest.NewClock()
	w := &certWorld{pki: certtest.New(t, clock.Now()), crl: filepath.Join(t.TempDir(), "list.crl")}
	noError(t, os.WriteFile(w.crl, w.pki.CRL(), 0o600))
	judge := certs.New(certs.Config{Roots: []certs.Anchor{{Certificate: w.pki.Root}}, HTTP: http.DefaultClient, Now: clock.Now, Lists: []string{w.crl}})
	policy := &site.CertificatePolicy{
		Modes: map[string]string{"events": mode, "oauth": mode, "registry": mode},
		Check: func(ctx context.Context, chain []*x509.Certificate) error {
			_, err := judge.Check(ctx, chain[0], chain[1:], certs.Client)
			return err
		},
	}
	w.apiHarness = newCertifiedHarness(t, storetest.SQLite(t, storetest.WithClock(clock)), clock, policy, func(c *site.AppConfig) {
		for _, change := range frame {
			change(c)
		}
	}, nil)
	w.school = store.Partner{Name: "School", OIN: schoolOIN, Status: store.PartnerApproved}
	noError(t, w.db.Write(t.Context(), func(tx *store.Tx) error { return tx.InsertPartner(t.Context(), &w.school) }))
	w.server = httptest.NewUnstartedServer(w.app.Handler())
	w.server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	w.server.StartTLS()
	t.Cleanup(w.server.Close)
	w.behind = httptest.NewServer(w.app.Handler())
	t.Cleanup(w.behind.Close)
	return w
}

// client registers a client of the school.
func (w *certWorld) client(t *testing.T, in identity.NewClient) store.Client {
	t.Helper()
	in.Name, in.Scopes = "Machine", []string{site.ScopeRegistryRead, site.ScopeEventsConsume}
	c, _, err := w.reg.Clients.Create(t.Context(), registry.SystemActor(), w.school.ID, in)
	noError(t, err)
	return c
}

// ask sends a request over a TLS connection with a certificate, or none.
func (w *certWorld) ask(t *testing.T, pair *certtest.Pair, method, path string, form url.Values, bearer string) apiAnswer {
	t.Helper()
	transport := w.server.Client().Transport.(*http.Transport).Clone()
	if pair != nil {
		transport.TLSClientConfig.Certificates = []tls.Certificate{pair.TLS}
	}
	defer transport.CloseIdleConnections()
	return w.over(t, &http.Client{Transport: transport}, w.server.URL, method, path, form, bearer)
}

func (w *certWorld) over(t *testing.T, client *http.Client, base, method, path string, form url.Values, bearer string, headers ...string) apiAnswer {
	t.Helper()
	req := must(http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(form.Encode())))(t)
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if bearer != "" {
		req.Header.Set("Authorization", "Bearer "+bearer)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	res := must(client.Do(req))(t)
	defer res.Body.Close()
	return apiAnswer{status: res.StatusCode, header: res.Header, body: must(io.ReadAll(res.Body))(t)}
}

func grantOf(client store.Client) url.Values {
	return url.Values{"grant_type": {"client_credentials"}, "client_id": {client.ID}}
}

const certPath = "/events/v1/subscriptions"

// TestClientCertificates: machines connect with certificates of PKIoverheid over real TLS, get tokens by them, and use no others.
//
// Rules: SEC-03, SEC-07, SEC-13, SEC-15, SEC-25.
func TestClientCertificates(t *testing.T) {
	t.Parallel()
	w := newCertWorld(t, site.CertificatesRequest)
	mine, renewed, other := w.pki.Issue(schoolOIN), w.pki.Issue("OIN:"+schoolOIN), w.pki.Issue(otherOIN)
	plain := w.client(t, identity.NewClient{AuthMethod: token.TLSClientAuth})
	tied := w.client(t, identity.NewClient{AuthMethod: token.TLSClientAuth, CertificateBound: true})

	free := w.ask(t, &mine, http.MethodPost, "/oauth/token", grantOf(plain), "").want(t, 200).member(t, "access_token").(string)
	bound := w.ask(t, &mine, http.MethodPost, "/oauth/token", grantOf(tied), "").want(t, 200).member(t, "access_token").(string)
	payload := string(must(base64.RawURLEncoding.DecodeString(strings.Split(bound, ".")[1]))(t))
	if !strings.Contains(payload, `"cnf":{"x5t#S256":"`+token.Thumbprint(mine.Cert)+`"}`) {
		t.Errorf("the token names no certificate: %s", payload)
	}
	for name, tc := range map[string]struct {
		pair   *certtest.Pair
		bearer string
		status int
		code   string
		words  []string
	}{
		"bound, its certificate":      {&mine, bound, 200, "", nil},
		"bound, the next certificate": {&renewed, bound, 401, "token-invalid", []string{"certificate"}},
		"bound, none":                 {nil, bound, 401, "token-invalid", nil},
		"bound, of another":           {&other, bound, 401, "token-invalid", nil},
		"free, none":                  {nil, free, 200, "", nil},
		"free, the next certificate":  {&renewed, free, 200, "", nil},
		"free, of another":            {&other, free, 403, "certificate-mismatch", []string{schoolOIN, otherOIN}},
	} {
		answer := w.ask(t, tc.pair, http.MethodGet, certPath, nil, tc.bearer)
		if answer.status != tc.status || tc.code != "" && answer.member(t, "code") != tc.code {
			t.Errorf("%s: %d %s", name, answer.status, answer.body)
		}
		for _, word := range tc.words {
			if !strings.Contains(string(answer.body), word) {
				t.Errorf("%s names no %s: %s", name, word, answer.body)
			}
		}
	}
	refused := w.ask(t, &other, http.MethodPost, "/oauth/token", grantOf(plain), "").want(t, 401)
	if text, _ := refused.member(t, "error_description").(string); !strings.Contains(text, schoolOIN) || !strings.Contains(text, otherOIN) {
		t.Errorf("the refusal names not both: %s", refused.body)
	}
	w.ask(t, nil, http.MethodPost, "/oauth/token", grantOf(plain), "").want(t, 401)
	meta := string(w.anyone().get(t, "/.well-known/oauth-authorization-server").want(t, 200).body)
	if !strings.Contains(meta, `"tls_client_auth"`) || !strings.Contains(meta, `"tls_client_certificate_bound_access_tokens":true`) {
		t.Errorf("metadata: %s", meta)
	}
	// A client that is told to bind its tokens later is heard at once: its free tokens end.
	row := must(w.reg.Clients.Get(t.Context(), registry.SystemActor().Scope(), plain.ID))(t)
	must(w.reg.Clients.Update(t.Context(), registry.SystemActor(), plain.ID, identity.NewClient{Name: row.Name, Scopes: row.Scopes, CertificateBound: true}))(t)
	w.clock.Advance(6 * time.Second)
	w.ask(t, &mine, http.MethodGet, certPath, nil, free).want(t, 401)
}

// TestClientCertificatesRefused: a certificate that is no good is refused, and the answer says why.
//
// Rules: SEC-15, SEC-25.
func TestClientCertificatesRefused(t *testing.T) {
	t.Parallel()
	w := newCertWorld(t, site.CertificatesRequire)
	mine, revoked, stranger := w.pki.Issue(schoolOIN), w.pki.Issue(schoolOIN), certtest.New(t, w.clock.Now()).Issue(schoolOIN)
	noError(t, os.WriteFile(w.crl, w.pki.CRL(revoked.Cert), 0o600))
	expired := w.pki.Issue(schoolOIN, func(c *x509.Certificate) { c.NotAfter = w.clock.Now().Add(-time.Minute) })
	serverOnly := w.pki.Issue(schoolOIN, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} })
	nameless := w.pki.Issue("", func(c *x509.Certificate) { c.Subject.CommonName = "lms.example.nl" })
	byOIN := w.client(t, identity.NewClient{AuthMethod: token.TLSClientAuth})
	byName := w.client(t, identity.NewClient{AuthMethod: token.TLSClientAuth, CertificateSubject: "C=NL, O=Example,cn=lms.example.nl"})
	for name, tc := range map[string]struct {
		pair   *certtest.Pair
		client store.Client
		status int
		word   string
	}{
		"good":                   {&mine, byOIN, 200, "access_token"},
		"none":                   {nil, byOIN, 401, "Connect with a TLS certificate"},
		"revoked":                {&revoked, byOIN, 401, "revoked"},
		"another root":           {&stranger, byOIN, 401, "untrusted"},
		"expired":                {&expired, byOIN, 401, "expired"},
		"for servers alone":      {&serverOnly, byOIN, 401, "extended key usage"},
		"without OIN":            {&nameless, byOIN, 401, "no OIN"},
		"by its subject":         {&nameless, byName, 200, "access_token"},
		"with another subject":   {&mine, byName, 401, "registered with"},
		"of an unknown client":   {&mine, store.Client{ID: "cli_x"}, 401, "client authentication failed"},
		"of a client by secrets": {&mine, w.client(t, identity.NewClient{AuthMethod: token.ClientSecretBasic}), 401, "client authentication failed"},
	} {
		answer := w.ask(t, tc.pair, http.MethodPost, "/oauth/token", grantOf(tc.client), "")
		if answer.status != tc.status || !strings.Contains(string(answer.body), tc.word) {
			t.Errorf("%s: %d %s", name, answer.status, answer.body)
		}
	}
	bearer := w.ask(t, &mine, http.MethodPost, "/oauth/token", grantOf(byOIN), "").member(t, "access_token").(string)
	for pair, code := range map[*certtest.Pair]string{nil: "certificate-missing", &revoked: "certificate-refused"} {
		w.ask(t, pair, http.MethodGet, certPath, nil, bearer).problem(t, 401, code)
	}
	w.ask(t, nil, http.MethodGet, "/oauth/jwks", nil, "").want(t, 200) // keys are for everybody
}

// TestClientCertificatesBehindProxy: the headers of RFC 9440 count from a proxy that is named for them, and from nobody else. A proxy that is
// trusted for X-Forwarded-For alone passes on what callers send, and certificates are public: its headers are ignored, and the log says so once.
//
// Rules: SEC-25.
func TestClientCertificatesBehindProxy(t *testing.T) {
	t.Parallel()
	here := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	for name, tc := range map[string]struct {
		trusted, named []netip.Prefix
		status         int
		warnings       int32
	}{
		"named":                    {here, here, 200, 0},
		"trusted for its X-F-F":    {here, nil, 401, 1},
		"trusted, another named":   {here, []netip.Prefix{netip.MustParsePrefix("127.9.0.0/16")}, 401, 1},
		"a stranger":               {nil, nil, 401, 0},
		"named, trusted no longer": {nil, here, 401, 0},
	} {
		warned := &warnings{Handler: slog.DiscardHandler}
		w := newCertWorld(t, site.CertificatesRequire, func(c *site.AppConfig) {
			c.TrustedProxies, c.CertificateProxies, c.Log = tc.trusted, tc.named, slog.New(warned)
		})
		mine, c := w.pki.Issue(schoolOIN), w.client(t, identity.NewClient{AuthMethod: token.TLSClientAuth, CertificateBound: true})
		encoded := func(c *x509.Certificate) string { return ":" + base64.StdEncoding.EncodeToString(c.Raw) + ":" }
		ask := func() apiAnswer {
			return w.over(t, http.DefaultClient, w.behind.URL, http.MethodPost, "/oauth/token", grantOf(c), "", "Client-Cert", encoded(mine.Cert), "Client-Cert-Chain", encoded(w.pki.Between))
		}
		ask()
		answer := ask()
		if answer.status != tc.status || warned.count.Load() != tc.warnings {
			t.Errorf("%s: %d with %d warnings, want %d with %d", name, answer.status, warned.count.Load(), tc.status, tc.warnings)
		}
		if answer.status != 200 || tc.status != 200 {
			continue
		}
		bearer := answer.member(t, "access_token").(string)
		w.over(t, http.DefaultClient, w.behind.URL, http.MethodGet, certPath, nil, bearer, "Client-Cert", encoded(mine.Cert), "Client-Cert-Chain", encoded(w.pki.Between)).want(t, 200)
		w.over(t, http.DefaultClient, w.behind.URL, http.MethodGet, certPath, nil, bearer).problem(t, 401, "certificate-missing")
		for _, bad := range []string{"x", ":!:", ":AAAA:"} {
			w.over(t, http.DefaultClient, w.behind.URL, http.MethodGet, certPath, nil, bearer, "Client-Cert", bad).problem(t, 400, "certificate-unreadable")
		}
		// The certificate of the proxy itself says nothing about who calls.
		if got := w.ask(t, &mine, http.MethodGet, certPath, nil, bearer); got.status != 401 {
			t.Errorf("%s: the proxy's own certificate counts: %d", name, got.status)
		}
	}
}

// warnings counts the warnings of a log.
type warnings struct {
	slog.Handler
	count atomic.Int32
}

func (w *warnings) Enabled(_ context.Context, level slog.Level) bool { return level == slog.LevelWarn }

func (w *warnings) Handle(context.Context, slog.Record) error {
	w.count.Add(1)
	return nil
}

// TestClientCertificatesWithoutToken: an API that requires a certificate wants one with each call, also with one that needs no token; where
// one is merely checked, visitors without one read on.
//
// Rules: SEC-25.
func TestClientCertificatesWithoutToken(t *testing.T) {
	t.Parallel()
	const contracts = "/registry/v1/contracts"
	w := newCertWorld(t, site.CertificatesRequire)
	mine, stranger := w.pki.Issue(schoolOIN), certtest.New(t, w.clock.Now()).Issue(schoolOIN)
	for name, tc := range map[string]struct {
		pair   *certtest.Pair
		status int
		word   string
	}{
		"with one":     {&mine, 200, ""},
		"none":         {nil, 401, "certificate-missing"},
		"another root": {&stranger, 401, "certificate-refused"},
	} {
		if answer := w.ask(t, tc.pair, http.MethodGet, contracts, nil, ""); answer.status != tc.status || !strings.Contains(string(answer.body), tc.word) {
			t.Errorf("%s: %d %s", name, answer.status, answer.body)
		}
	}
	w.ask(t, nil, http.MethodGet, "/registry/v1/openapi.json", nil, "").want(t, 200) // the description is for everybody
	newCertWorld(t, site.CertificatesRequest).ask(t, nil, http.MethodGet, contracts, nil, "").want(t, 200)
}

// TestAssertionWithChain: an assertion, or the registered key that signed it, carries its certificate (x5c), which is held against the roots, the partner and the signature.
//
// Rules: SEC-04, SEC-06, SEC-15.
func TestAssertionWithChain(t *testing.T) {
	t.Parallel()
	w := newCertWorld(t, site.CertificatesRequest)
	mine, next, revoked, other, stranger := w.pki.Issue(schoolOIN), w.pki.Issue(schoolOIN), w.pki.Issue(schoolOIN), w.pki.Issue(otherOIN), certtest.New(t, w.clock.Now()).Issue(schoolOIN)
	lists := append(certtest.New(t, w.clock.Now()).CRL(), w.pki.CRL(revoked.Cert)...) // of two issuers in one file
	noError(t, os.WriteFile(w.crl, lists, 0o600))
	keys := must(json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: mine.Key.Public(), KeyID: "one"}}}))(t)
	registered := w.client(t, identity.NewClient{AuthMethod: token.PrivateKeyJWT, JWKS: string(keys)})
	// A key that is registered with a certificate (x5c in the JWK set) counts while that does.
	with := func(pair certtest.Pair, chain ...*x509.Certificate) store.Client {
		set := must(json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: pair.Key.Public(), KeyID: "one", Certificates: append([]*x509.Certificate{pair.Cert}, chain...)}}}))(t)
		return w.client(t, identity.NewClient{AuthMethod: token.PrivateKeyJWT, JWKS: string(set)})
	}
	old := w.pki.Issue(schoolOIN, func(c *x509.Certificate) {
		c.NotBefore, c.NotAfter = w.clock.Now().AddDate(0, -2, 0), w.clock.Now().AddDate(0, -1, 0)
	})
	trusting := w.client(t, identity.NewClient{AuthMethod: token.PrivateKeyJWT, CertificateKeys: true})
	for name, tc := range map[string]struct {
		client store.Client
		signer certtest.Pair
		chain  []*x509.Certificate
		status int
		word   string
	}{
		"registered key, its chain":      {registered, mine, []*x509.Certificate{mine.Cert, w.pki.Between}, 200, ""},
		"registered key, no chain":       {registered, mine, nil, 200, ""},
		"registered key, another's":      {registered, mine, []*x509.Certificate{other.Cert, w.pki.Between}, 401, ""},
		"another key of the partner":     {registered, next, []*x509.Certificate{next.Cert, w.pki.Between}, 401, ""},
		"certified key":                  {with(mine, w.pki.Between), mine, nil, 200, ""},
		"certified key, revoked":         {with(revoked, w.pki.Between), revoked, nil, 401, "revoked"},
		"certified key, ended":           {with(old, w.pki.Between), old, nil, 401, "expired"},
		"certified key, another root":    {with(stranger), stranger, nil, 401, "untrusted"},
		"certified key of another":       {with(other, w.pki.Between), other, nil, 401, "OIN " + otherOIN},
		"trusted by certificate":         {trusting, mine, []*x509.Certificate{mine.Cert, w.pki.Between}, 200, ""},
		"renewed without a word to us":   {trusting, next, []*x509.Certificate{next.Cert, w.pki.Between}, 200, ""},
		"without a chain":                {trusting, mine, nil, 401, ""},
		"the chain of another key":       {trusting, next, []*x509.Certificate{mine.Cert, w.pki.Between}, 401, ""},
		"revoked":                        {trusting, revoked, []*x509.Certificate{revoked.Cert, w.pki.Between}, 401, "revoked"},
		"another root":                   {trusting, stranger, []*x509.Certificate{stranger.Cert}, 401, "untrusted"},
		"of another organisation":        {trusting, other, []*x509.Certificate{other.Cert, w.pki.Between}, 401, "OIN " + otherOIN + ", the client belongs to OIN " + schoolOIN},
		"an intermediate for a leaf":     {trusting, mine, []*x509.Certificate{w.pki.Between, mine.Cert}, 401, ""},
		"of the root that signed itself": {trusting, mine, []*x509.Certificate{w.pki.Root}, 401, ""},
	} {
		answer := w.ask(t, nil, http.MethodPost, "/oauth/token", w.assertion(t, tc.client.ID, tc.signer, tc.chain), "")
		if answer.status != tc.status || !strings.Contains(string(answer.body), tc.word) {
			t.Errorf("%s: %d %s", name, answer.status, answer.body)
		}
	}
}

func (w *certWorld) assertion(t *testing.T, clientID string, pair certtest.Pair, chain []*x509.Certificate) url.Values {
	t.Helper()
	opts := (&jose.SignerOptions{}).WithType("JWT")
	var x5c []string
	for _, c := range chain {
		x5c = append(x5c, base64.StdEncoding.EncodeToString(c.Raw))
	}
	if x5c != nil {
		opts.WithHeader("x5c", x5c)
	}
	signer := must(jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: pair.Key}, opts))(t)
	now := w.clock.Now()
	text := must(jwt.Signed(signer).Claims(jwt.Claims{
		Issuer: clientID, Subject: clientID, Audience: jwt.Audience{apiTestBase + "/oauth/token"}, ID: rand.Text(),
		IssuedAt: jwt.NewNumericDate(now), Expiry: jwt.NewNumericDate(now.Add(time.Minute)),
	}).Serialize())(t)
	return url.Values{
		"grant_type": {"client_credentials"}, "client_assertion": {text},
		"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"},
	}
}
