package e2e

import (
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ocsp"
	"schakel/delivery/amqp/certs/certtest"
	"schakel/registry/identity"
	"schakel/registry/identity/token"
	"schakel/server/demo"
	"schakel/server/trial"
)

// responder answers over OCSP for an issuer; the last part of its address says what it answers.
type responder struct {
	*httptest.Server
	mu      sync.Mutex
	answers map[string][]byte // none: it fails
}

func newResponder(t *testing.T) *responder {
	r := &responder{answers: map[string][]byte{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.mu.Lock()
		body := r.answers[path.Base(q.URL.Path)]
		r.mu.Unlock()
		if body == nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		_, _ = w.Write(body) // who asked may have gone
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *responder) says(name string, answer []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers[name] = answer
}

// revocable is a partner's machine at a program that asks the responder about certificates.
type revocable struct {
	*certifiedSide
	byTLS, byKey string // clients
	body         string // of an event that they may publish
}

// tokens asks for a token with a certificate, as that of the connection and as that of an assertion.
func (r *revocable) tokens(t *testing.T, pair certtest.Pair) map[string]reply {
	t.Helper()
	return map[string]reply{
		token.TLSClientAuth: r.post(t, showing(r.certifiedSide, &pair.TLS), "/oauth/token", r.grant(), ""),
		token.PrivateKeyJWT: r.post(t, showing(r.certifiedSide, nil), "/oauth/token",
			tokenForm(t, token.CertifiedKey{Private: pair.Key, Chain: []*x509.Certificate{pair.Cert, r.pki.Between}}, r.byKey, r.Base).Encode(), ""),
	}
}

func (r *revocable) grant() string {
	return url.Values{"grant_type": {"client_credentials"}, "client_id": {r.byTLS}, "scope": {identity.ScopeEventsPublish}}.Encode()
}

type reply struct {
	status int
	body   string
}

func (r *revocable) post(t *testing.T, client *http.Client, at, body, access string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.Base+at, strings.NewReader(body))
	trial.Must(t, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if access != "" {
		for name, value := range trial.EventHeader("application/cloudevents+json") {
			req.Header.Set(name, value)
		}
		req.Header.Set("Authorization", "Bearer "+access)
	}
	resp, err := client.Do(req)
	trial.Must(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	trial.Must(t, err)
	return reply{resp.StatusCode, string(text)}
}

// TestClientCertificateRevokedByOCSP has a machine connect with certificates that only an OCSP responder knows of. One that is revoked is refused from then on,
// also on a connection and with a token of before. A responder that fails, or whose answer is old, of another certificate or signed by a stranger, has said
// nothing: the call is to be repeated later, unless --client-revocation=try.
//
// Rules: SEC-03, SEC-06, SEC-13, SEC-25.
func TestClientCertificateRevokedByOCSP(t *testing.T) {
	t.Parallel()
	now := time.Now()
	pki, stranger, asked := certtest.New(t, now), certtest.New(t, now), newResponder(t)
	r := &revocable{certifiedSide: newCertified(t, pki, demo.OwnA(), trial.SQLitePath(t), "", "")}
	mode := &r.Args[len(r.Args)-1] // of --client-revocation
	*mode = "require"
	var partner string
	r.SetUp(t, func(c *demo.Chain) {
		trial.Must(t, demo.PublishContracts(t.Context(), c.Services, c.Admin))
		registered, _ := partnerOf(t, demo.OwnB(), c)
		partner = registered.ID
	})
	add := func(name string, how ...string) string {
		code, out := r.Command(t, "", append([]string{
			"client", "add", name, "--database", r.Database, "--secret-key-file", r.SecretKey, "--partner", partner,
			"--publish-type", "nl.voorbeeld.*", "--publish-source", "urn:nld:oin:" + demo.OwnB().OIN() + ":*",
		}, how...)...)
		id := regexp.MustCompile(`cli_\w+`).FindString(out)
		if code != 0 || id == "" {
			t.Fatal(out)
		}
		return id
	}
	r.byTLS = add("connected", "--auth-method", token.TLSClientAuth, "--certificate-bound")
	r.byKey = add("asserting", "--certificate-keys")
	_, r.body = trial.NewEvent(demo.OwnB(), demo.TypeEnrolled)
	r.Start(t)
	issue := func(name string) certtest.Pair {
		return pki.Issue(demo.OwnB().OIN(), func(c *x509.Certificate) { c.OCSPServer = []string{asked.URL + "/" + name} })
	}
	good, other := issue("good"), issue("other")
	revoked := func(a *ocsp.Response) { a.Status, a.RevokedAt = ocsp.Revoked, now.Add(-time.Hour) }
	stale := func(a *ocsp.Response) { a.ThisUpdate, a.NextUpdate = now.AddDate(0, 0, -2), now.AddDate(0, 0, -1) }
	type verdict struct {
		pair         certtest.Pair
		answer       []byte
		status, soft int
		word         string
	}
	cases := map[string]*verdict{
		"good":     {good, pki.OCSP(good.Cert), 200, 200, "access_token"},
		"other":    {other, pki.OCSP(good.Cert), 503, 200, "temporarily_unavailable"},
		"failing":  {pair: issue("failing"), status: 503, soft: 200, word: "temporarily_unavailable"},
		"stale":    {pair: issue("stale"), status: 503, soft: 200, word: "temporarily_unavailable"},
		"stranger": {pair: issue("stranger"), status: 503, soft: 200, word: "temporarily_unavailable"},
		"revoked":  {pair: issue("revoked"), status: 401, soft: 401, word: "revoked"},
		"unknown":  {pair: issue("unknown"), status: 401, soft: 401, word: "does not know it"},
	}
	cases["stale"].answer = pki.OCSP(cases["stale"].pair.Cert, stale)
	cases["stranger"].answer = stranger.OCSP(cases["stranger"].pair.Cert)
	cases["revoked"].answer = pki.OCSP(cases["revoked"].pair.Cert, revoked)
	cases["unknown"].answer = pki.OCSP(cases["unknown"].pair.Cert, func(a *ocsp.Response) { a.Status = ocsp.Unknown })
	for name, tc := range cases {
		asked.says(name, tc.answer)
		for method, got := range r.tokens(t, tc.pair) {
			if got.status != tc.status || !strings.Contains(got.body, tc.word) {
				t.Errorf("%s, %s: %d %s, want %d and %q", name, method, got.status, got.body, tc.status, tc.word)
			}
		}
	}

	_, access := askToken(t, r.certifiedSide, trial.Must1[url.Values](t)(url.ParseQuery(r.grant())), &good.TLS)
	kept := showing(r.certifiedSide, &good.TLS)
	kept.Transport.(*http.Transport).DisableKeepAlives = false
	defer kept.CloseIdleConnections()
	for _, step := range []struct {
		name   string
		answer []byte
		status int
		word   string
	}{
		{"good", pki.OCSP(good.Cert), 202, ""},
		{"revoked", pki.OCSP(good.Cert, revoked), 401, "certificate-refused"},
		{"failing", nil, 503, "certificate-unchecked"},
	} {
		asked.says("good", step.answer)
		if got := r.post(t, kept, "/events/v1/events", r.body, access); got.status != step.status || !strings.Contains(got.body, step.word) {
			t.Errorf("a bound token, %s: %d %s", step.name, got.status, got.body)
		}
	}
	asked.says("good", pki.OCSP(good.Cert, revoked))
	if got := r.post(t, showing(r.certifiedSide, nil), "/events/v1/events", r.body, access); got.status != 401 {
		t.Errorf("a bound token of a revoked certificate that is not shown: %d %s", got.status, got.body)
	}

	asked.says("good", pki.OCSP(good.Cert))
	r.Stop(t)
	*mode = "try"
	r.Start(t)
	for name, tc := range cases {
		for method, got := range r.tokens(t, tc.pair) {
			if got.status != tc.soft {
				t.Errorf("%s, %s, with try: %d %s, want %d", name, method, got.status, got.body, tc.soft)
			}
		}
	}
	r.Stop(t)
}
