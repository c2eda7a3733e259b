package endpointcheck

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/big"
	"mime"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"schakel/delivery/outbound"
	"schakel/delivery/outbox"
	"schakel/delivery/webhook"
	"schakel/store"
)

const (
	testSecret = "the secret of the client"
	testToken  = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJ0ZXN0In0.c2lnbmF0dXJlLW9mLXRoZS10ZXN0LXRva2Vu"
)

// pki issues certificates of servers.
type pki struct {
	key  *ecdsa.PrivateKey
	root *x509.Certificate
	pool *x509.CertPool
}

func newPKI(t testing.TB) *pki {
	t.Helper()
	p := &pki{key: newKey(t).(*ecdsa.PrivateKey), pool: x509.NewCertPool()}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Root of the test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(1000 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	p.root = issue(t, template, template, p.key.Public(), p.key)
	p.pool.AddCert(p.root)
	return p
}

func newKey(t testing.TB) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func issue(t testing.TB, template, parent *x509.Certificate, public any, signer crypto.Signer) *x509.Certificate {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, signer)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// certificate is one for 127.0.0.1 that change may spoil.
func (p *pki) certificate(t testing.TB, key crypto.Signer, change func(*x509.Certificate)) tls.Certificate {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "receiver"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(900 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if change != nil {
		change(template)
	}
	return tls.Certificate{Certificate: [][]byte{issue(t, template, p.root, key.Public(), p.key).Raw}, PrivateKey: key}
}

// receiver is a good one; tests spoil it.
type receiver struct {
	tls   *tls.Config
	token http.HandlerFunc
	hook  http.HandlerFunc

	mu   sync.Mutex
	seen map[string]bool
	n    int
}

func newReceiver(t testing.TB, p *pki) *receiver {
	r := &receiver{seen: map[string]bool{}, tls: &tls.Config{
		Certificates: []tls.Certificate{p.certificate(t, newKey(t), nil)},
		CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256},
	}}
	r.token = func(w http.ResponseWriter, q *http.Request) {
		if id, secret, ok := q.BasicAuth(); !ok || id != "schakel" || secret != strings.ReplaceAll(testSecret, " ", "+") {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"error":"invalid_client"}`)
			return
		}
		_, _ = io.WriteString(w, `{"access_token":"`+testToken+`","token_type":"Bearer","expires_in":3600}`)
	}
	r.hook = r.receive
	return r
}

// receive does what a good receiver does.
func (r *receiver) receive(w http.ResponseWriter, q *http.Request) {
	if q.Header.Get("Authorization") != "Bearer "+testToken {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	w.WriteHeader(r.answer(q))
}

func (r *receiver) answer(q *http.Request) int {
	kind, _, _ := mime.ParseMediaType(q.Header.Get("Content-Type"))
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return http.StatusBadRequest
	}
	var events []map[string]any
	switch kind {
	case mediaEvent:
		var one map[string]any
		err = json.Unmarshal(body, &one)
		events = append(events, one)
	case mediaBatch:
		err = json.Unmarshal(body, &events)
	default:
		return http.StatusUnsupportedMediaType
	}
	if err != nil || len(body) > 64<<10 {
		return http.StatusBadRequest
	}
	for _, e := range events {
		if e["source"] == nil || e["id"] == nil || e[outbox.TestExtension] != true {
			return http.StatusBadRequest
		}
	}
	return http.StatusAccepted
}

// start serves the receiver and returns what to check.
func (r *receiver) start(t testing.TB, plain bool) Target {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/token", func(w http.ResponseWriter, q *http.Request) { r.token(w, q) })
	mux.HandleFunc("/hook", func(w http.ResponseWriter, q *http.Request) { r.hook(w, q) })
	server := httptest.NewUnstartedServer(mux)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	if plain {
		server.Start()
	} else {
		server.TLS = r.tls
		server.StartTLS()
	}
	t.Cleanup(server.Close)
	return Target{
		URL: server.URL + "/hook", Source: "urn:test", Timeout: 2 * time.Second,
		Token: &webhook.TokenConfig{TokenURL: server.URL + "/token", ClientID: "schakel", Secret: testSecret, AuthMethod: webhook.AuthBasic},
	}
}

func checker(p *pki) *Checker {
	client := outbound.New(outbound.Config{AllowPrefixes: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, AllowPlainHTTP: true, RootCAs: p.pool})
	return New(client, nil, time.Now)
}

// found lists the faults and advice of a report.
func found(r Report) (codes []string) {
	for _, f := range r.Findings {
		if f.Result == Fault || f.Result == Advice {
			codes = append(codes, f.Code+" "+string(f.Result))
		}
	}
	return codes
}

// TestFaultyReceivers has each of these receivers checked: what is wrong with it is found, and nothing else.
//
// Rules: SEC-20, SEC-21, SEC-22, SEC-23, SEC-26.
func TestFaultyReceivers(t *testing.T) {
	t.Parallel()
	p := newPKI(t)
	answer := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
	}
	// instead gives a status where match is true of a request with its body, and is good otherwise.
	instead := func(status int, match func(q *http.Request, body string) bool) func(*receiver) {
		return func(r *receiver) {
			r.hook = func(w http.ResponseWriter, q *http.Request) {
				body, _ := io.ReadAll(q.Body)
				q.Body = io.NopCloser(strings.NewReader(string(body)))
				if match(q, string(body)) {
					w.WriteHeader(status)
					return
				}
				r.receive(w, q)
			}
		}
	}
	cert := func(key crypto.Signer, change func(*x509.Certificate)) func(*receiver) {
		return func(r *receiver) { r.tls.Certificates = []tls.Certificate{p.certificate(t, key, change)} }
	}
	rsaKey := func(bits int) crypto.Signer {
		key, err := rsa.GenerateKey(rand.Reader, bits)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	rsa2048 := rsaKey(2048)
	isBatch := func(q *http.Request, _ string) bool { return strings.Contains(q.Header.Get("Content-Type"), "batch") }
	secure := map[string]struct {
		spoil func(*receiver)
		want  []string
	}{
		"offers TLS 1.0": {func(r *receiver) {
			r.tls.MinVersion, r.tls.CipherSuites = tls.VersionTLS10, append(r.tls.CipherSuites, tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA)
		}, []string{"tls-versions fault", "tls-suites advice"}},
		"takes CBC": {func(r *receiver) {
			r.tls.CipherSuites = []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA}
		}, []string{"tls-suites advice"}},
		"takes RSA key transport": {func(r *receiver) {
			cert(rsa2048, nil)(r)
			r.tls.CipherSuites = []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_RSA_WITH_AES_128_GCM_SHA256}
		}, []string{"tls-suites fault", "certificate-key advice"}},
		"speaks no TLS 1.2 or 1.3": {func(r *receiver) {
			r.tls.MinVersion, r.tls.MaxVersion, r.tls.CipherSuites = tls.VersionTLS10, tls.VersionTLS11, nil
		}, []string{"tls-versions fault"}},
		"has an expired certificate": {cert(newKey(t), func(c *x509.Certificate) {
			c.NotBefore, c.NotAfter = time.Now().Add(-50*time.Minute), time.Now().Add(-time.Minute)
		}), []string{"certificate-dates fault"}},
		"has a certificate that ends soon": {cert(newKey(t), func(c *x509.Certificate) {
			c.NotBefore, c.NotAfter = time.Now().Add(-30*time.Minute), time.Now().Add(5*time.Minute)
		}), []string{"certificate-dates advice"}},
		"has a certificate of another host": {cert(newKey(t), func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(192, 0, 2, 1)} }), []string{"certificate-name fault"}},
		"signs its own certificate": {func(r *receiver) {
			r.tls.Certificates = []tls.Certificate{newPKI(t).certificate(t, newKey(t), nil)}
		}, []string{"certificate-chain fault"}},
		"has a short key":        {cert(rsaKey(1024), nil), []string{"certificate-key fault"}},
		"has a key to phase out": {cert(rsa2048, nil), []string{"certificate-key advice"}},
	}
	for name, tc := range secure {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReceiver(t, p)
			tc.spoil(r)
			expect(t, p, r.start(t, false), tc.want)
		})
	}
	open := map[string]struct {
		spoil  func(*receiver)
		change func(*Target)
		want   []string
	}{
		"gives no token":       {func(r *receiver) { r.token = answer(http.StatusNotFound) }, nil, []string{"token fault"}},
		"has moved its tokens": {func(r *receiver) { r.token = answer(http.StatusFound) }, nil, []string{"token fault"}},
		"gives a token to anybody": {func(r *receiver) {
			good := r.token
			r.token = func(w http.ResponseWriter, q *http.Request) {
				q.SetBasicAuth("schakel", strings.ReplaceAll(testSecret, " ", "+"))
				good(w, q)
			}
		}, nil, []string{"token-secret fault"}},
		"gives tokens for a day": {func(r *receiver) { swap(r, `"expires_in":3600`, `"expires_in":86400`) }, nil, []string{"token-lifetime advice"}},
		"asks for no token":      {instead(http.StatusAccepted, func(q *http.Request, _ string) bool { return q.Header.Get("Authorization") == "" }), nil, []string{"no-token fault"}},
		"takes any token": {instead(http.StatusAccepted, func(q *http.Request, _ string) bool {
			a := q.Header.Get("Authorization")
			return a != "" && a != "Bearer "+testToken
		}), nil, []string{"wrong-token fault"}},
		"answers 403 without token": {instead(http.StatusForbidden, func(q *http.Request, _ string) bool { return q.Header.Get("Authorization") == "" }), nil, []string{"no-token advice"}},
		"refuses its own token":     {func(r *receiver) { r.hook = answer(http.StatusUnauthorized) }, nil, []string{"event fault"}},
		"refuses valid events":      {instead(http.StatusUnprocessableEntity, func(q *http.Request, body string) bool { return q.Header.Get("Authorization") == "Bearer "+testToken }), nil, []string{"event fault"}},
		"fails":                     {instead(http.StatusInternalServerError, func(q *http.Request, body string) bool { return q.Header.Get("Authorization") == "Bearer "+testToken }), nil, []string{"event fault"}},
		"refuses repeats": {func(r *receiver) {
			instead(http.StatusConflict, func(_ *http.Request, body string) bool {
				var e struct{ ID string }
				_ = json.Unmarshal([]byte(body), &e)
				r.mu.Lock()
				defer r.mu.Unlock()
				was := r.seen[e.ID]
				r.seen[e.ID] = e.ID != ""
				return was
			})(r)
		}, nil, []string{"duplicate fault", "replay fault"}},
		"refuses repeats under another key": {func(r *receiver) {
			keys := map[string]string{}
			instead(http.StatusConflict, func(q *http.Request, body string) bool {
				var e struct{ ID string }
				_ = json.Unmarshal([]byte(body), &e)
				r.mu.Lock()
				defer r.mu.Unlock()
				key, was := q.Header.Get("Idempotency-Key"), keys[e.ID]
				if e.ID != "" {
					keys[e.ID] = key
				}
				return was != "" && was != key
			})(r)
		}, nil, []string{"replay fault"}},
		"takes what is no JSON": {instead(http.StatusAccepted, func(q *http.Request, body string) bool {
			return !json.Valid([]byte(body)) && strings.Contains(q.Header.Get("Content-Type"), "cloudevents")
		}), nil, []string{"not-json fault"}},
		"fails on what is no JSON": {instead(http.StatusInternalServerError, func(q *http.Request, body string) bool {
			return !json.Valid([]byte(body)) && strings.Contains(q.Header.Get("Content-Type"), "cloudevents")
		}), nil, []string{"not-json advice"}},
		"takes events without source": {instead(http.StatusAccepted, func(_ *http.Request, body string) bool {
			return json.Valid([]byte(body)) && !strings.Contains(body, `"source"`)
		}), nil, []string{"no-source fault"}},
		"takes any media type":         {instead(http.StatusAccepted, func(q *http.Request, _ string) bool { return strings.HasPrefix(q.Header.Get("Content-Type"), "text/") }), nil, []string{"media-type fault"}},
		"says 400 to other media":      {instead(http.StatusBadRequest, func(q *http.Request, _ string) bool { return strings.HasPrefix(q.Header.Get("Content-Type"), "text/") }), nil, []string{"media-type advice"}},
		"takes no batches as promised": {instead(http.StatusUnsupportedMediaType, isBatch), func(t *Target) { t.Batches = true }, []string{"batch fault"}},
		"fails on batches":             {instead(http.StatusInternalServerError, isBatch), nil, []string{"batch advice"}},
		"takes small events only":      {instead(http.StatusRequestEntityTooLarge, func(_ *http.Request, body string) bool { return len(body) > 32<<10 }), nil, []string{"size fault"}},
		"redirects":                    {func(r *receiver) { r.hook = http.RedirectHandler("/elsewhere", http.StatusPermanentRedirect).ServeHTTP }, nil, []string{"no-token advice", "wrong-token advice", "redirects fault"}},
		"is busy without saying until": {instead(http.StatusTooManyRequests, func(_ *http.Request, body string) bool { return len(body) > 32<<10 }), nil, []string{"retry-after fault"}},
		"is slow": {func(r *receiver) {
			instead(0, func(q *http.Request, body string) bool {
				if strings.Contains(body, `"message"`) && len(body) > 32<<10 {
					select {
					case <-time.After(400 * time.Millisecond):
					case <-q.Context().Done():
					}
				}
				return false
			})(r)
		}, func(t *Target) { t.Timeout = 600 * time.Millisecond }, []string{"answer-time advice"}},
		"answers twice":                 {func(r *receiver) { r.hook = twice(r.receive) }, nil, []string{"one-answer fault"}},
		"ignores signatures":            {func(*receiver) {}, signed(t), []string{"unsigned fault", "wrong-signature fault", "old-signature fault"}},
		"ignores the age of signatures": {func(r *receiver) { verifies(r, 1000*time.Hour) }, signed(t), []string{"old-signature fault"}},
	}
	for name, tc := range open {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReceiver(t, p)
			tc.spoil(r)
			target := r.start(t, true)
			if tc.change != nil {
				tc.change(&target)
			}
			expect(t, p, target, tc.want)
		})
	}
	if n := len(secure) + len(open); n < 20 {
		t.Errorf("only %d faulty receivers", n)
	}
}

func expect(t *testing.T, p *pki, target Target, want []string) {
	t.Helper()
	report, err := checker(p).Run(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	got := found(report)
	if slow := "answer-time advice"; !slices.Contains(want, slow) { // on a busy machine every receiver may be slow
		got = slices.DeleteFunc(got, func(f string) bool { return f == slow })
	}
	if !slices.Equal(got, want) {
		t.Errorf("found %q, want %q\n%s", got, want, dump(report))
	}
	text := dump(report)
	for _, secret := range []string{testSecret, testToken} {
		if strings.Contains(text, secret) {
			t.Errorf("the report holds %q", secret)
		}
	}
	for _, f := range report.Findings {
		if (f.Result == Fault || f.Result == Advice) == (f.Remedy == "") || f.Text == "" || RuleOf(f.Code) == "" || Title(f.Code).String() == f.Code {
			t.Errorf("incomplete: %+v", f)
		}
	}
}

func dump(r Report) string {
	text, _ := json.MarshalIndent(r, "", " ")
	return string(text)
}

func swap(r *receiver, old, with string) {
	good := r.token
	r.token = func(w http.ResponseWriter, q *http.Request) {
		record := httptest.NewRecorder()
		good(record, q)
		w.WriteHeader(record.Code)
		_, _ = io.WriteString(w, strings.Replace(record.Body.String(), old, with, 1))
	}
}

// twice answers a request, and once more.
func twice(good http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, q *http.Request) {
		record := httptest.NewRecorder()
		good(record, q)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		answer := fmt.Sprintf("HTTP/1.1 %d x\r\nContent-Length: 0\r\n\r\n", record.Code)
		_, _ = io.WriteString(conn, answer+answer)
	}
}

// signed has the requests of a check signed with a key that receivers of tests know.
func signed(t *testing.T) func(*Target) {
	t.Helper()
	s, err := webhook.NewSignatures(store.SignStandard, webhook.SignKey{ID: "key", Algorithm: store.SignHMAC, Secret: signSecret()})
	if err != nil {
		t.Fatal(err)
	}
	return func(to *Target) { to.Sign = s }
}

func signSecret() []byte {
	sum := sha256.Sum256([]byte("known to both"))
	return sum[:]
}

// verifies has a receiver verify signatures, by signing again.
func verifies(r *receiver, age time.Duration) {
	s, _ := webhook.NewSignatures(store.SignStandard, webhook.SignKey{ID: "key", Algorithm: store.SignHMAC, Secret: signSecret()})
	r.hook = func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		q.Body = io.NopCloser(strings.NewReader(string(body)))
		var stamp int64
		_, _ = fmt.Sscan(q.Header.Get("Webhook-Timestamp"), &stamp)
		again := http.Header{}
		s.Add(again, q.URL, q.Header.Get("Webhook-Id"), body, time.Unix(stamp, 0))
		if again.Get("Webhook-Signature") != q.Header.Get("Webhook-Signature") || time.Since(time.Unix(stamp, 0)) > age {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		r.receive(w, q)
	}
}

// TestGoodReceivers finds nothing wrong with receivers that do as the profile says, with and without TLS, in either mode, with signatures.
func TestGoodReceivers(t *testing.T) {
	t.Parallel()
	p := newPKI(t)
	for name, tc := range map[string]struct {
		plain  bool
		spoil  func(*receiver)
		change func(*Target)
	}{
		"TLS":             {false, nil, nil},
		"TLS 1.2 alone":   {false, func(r *receiver) { r.tls.MaxVersion = tls.VersionTLS12 }, nil},
		"plain":           {true, nil, func(t *Target) { t.Batches = true }},
		"signatures":      {true, func(r *receiver) { verifies(r, 5*time.Minute) }, signed(t)},
		"busy for a time": {true, func(r *receiver) { busyOnce(r) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReceiver(t, p)
			if tc.spoil != nil {
				tc.spoil(r)
			}
			target := r.start(t, tc.plain)
			if tc.change != nil {
				tc.change(&target)
			}
			expect(t, p, target, nil)
		})
	}
}

// busyOnce answers 429 to one request, with a short pause.
func busyOnce(r *receiver) {
	r.hook = func(w http.ResponseWriter, q *http.Request) {
		r.mu.Lock()
		r.n++
		busy := r.n == 3
		r.mu.Unlock()
		if busy {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		r.receive(w, q)
	}
}

// TestCheckIsGuarded sends nothing to an address that deliveries may not go to.
func TestCheckIsGuarded(t *testing.T) {
	t.Parallel()
	p := newPKI(t)
	r := newReceiver(t, p)
	target := r.start(t, false)
	guarded := New(outbound.New(outbound.Config{RootCAs: p.pool}), nil, time.Now)
	report, err := guarded.Run(t.Context(), target)
	if got := found(report); err != nil || !slices.Equal(got, []string{"reach fault"}) {
		t.Errorf("found %q, %v", got, err)
	}
	var other outbound.Host
	if err := other.UnmarshalText([]byte("api.example.nl")); err != nil {
		t.Fatal(err)
	}
	guarded = New(outbound.New(outbound.Config{RootCAs: p.pool, Hosts: []outbound.Host{other}}), nil, time.Now)
	report, err = guarded.Run(t.Context(), target)
	if got := found(report); err != nil || !slices.Equal(got, []string{"reach fault"}) || !strings.Contains(report.Findings[0].Remedy.String(), "--outbound-hosts") {
		t.Errorf("not listed: found %q, %v, %+v", got, err, report)
	}
}
