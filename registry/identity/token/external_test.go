package token

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// ExternalClient finds a client whose id begins with the name of the issuer.
func (m *memory) ExternalClient(ctx context.Context, issuer, id string) (Client, error) {
	return m.TokenClient(ctx, issuer+"/"+id)
}

// otherServer is a fake authorisation server of others, over plain HTTP. A real one is in server/e2e.
type otherServer struct {
	*httptest.Server
	key      *ecdsa.PrivateKey
	kid      string
	down     atomic.Bool
	keyLoads atomic.Int64
	asked    atomic.Int64
	answer   atomic.Pointer[object] // of introspection
	seen     atomic.Pointer[http.Request]
}

func newOtherServer(t testing.TB) *otherServer {
	t.Helper()
	o := &otherServer{kid: "first"}
	o.newKey(t, "first")
	mux := http.NewServeMux()
	write := func(w http.ResponseWriter, value any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(value)
	}
	mux.HandleFunc("GET /tenant/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		write(w, object{"issuer": o.issuer(), "jwks_uri": o.URL + "/keys", "introspection_endpoint": o.URL + "/introspect"})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		o.keyLoads.Add(1)
		write(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: o.key.Public(), KeyID: o.kid, Use: "sig"}}})
	})
	mux.HandleFunc("POST /introspect", func(w http.ResponseWriter, r *http.Request) {
		o.asked.Add(1)
		_ = r.ParseForm()
		o.seen.Store(r)
		write(w, *o.answer.Load())
	})
	o.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if o.down.Load() {
			http.Error(w, "down", http.StatusBadGateway)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(o.Close)
	return o
}

func (o *otherServer) issuer() string { return o.URL + "/tenant" }

func (o *otherServer) newKey(t testing.TB, kid string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	o.key, o.kid = key, kid
}

// parts answers the parts of a good token.
func (o *otherServer) parts(b *bench) (header, claims object) {
	now := b.clock.Now().Unix()
	return object{"alg": "ES256", "typ": "at+jwt", "kid": o.kid}, object{
		"iss": o.issuer(), "aud": testIssuer, "sub": "machine", "azp": "machine", "iat": now, "exp": now + 7200, "jti": "j",
		"scope": "events.publish registry.write openid",
	}
}

func (o *otherServer) token(t testing.TB, b *bench, header, claims object) string {
	t.Helper()
	h, c := o.parts(b)
	return forge(t, h.with(header), c.with(claims), es256(t, o.key))
}

func newExternalBench(t testing.TB, change func(*External)) (*bench, *otherServer) {
	t.Helper()
	o := newOtherServer(t)
	x := External{ID: "other", Issuer: o.issuer()}
	if change != nil {
		change(&x)
	}
	b := newBench(t, func(c *Config) {
		c.Externals, c.HTTP, c.AllowHTTP = []External{x}, o.Client(), true
		c.ExternalClients = c.Clients.(*memory)
	})
	known := b.mem.clients["basic"]
	known.ID = "cli_known"
	b.mem.clients["other/machine"] = known
	return b, o
}

func codeIn(err error) string {
	var refused *InvalidTokenError
	var out *UnavailableError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &refused):
		return refused.Code
	case errors.As(err, &out):
		return "unavailable"
	}
	return err.Error()
}

// A token of another issuer acts as the client that is registered for its name, with what both the issuer and we allow.
//
// Rules: SEC-07, SEC-12.
func TestExternalToken(t *testing.T) {
	t.Parallel()
	b, o := newExternalBench(t, func(x *External) { x.Types = []string{"at+jwt", "JWT"} })
	claims, err := b.Verify(t.Context(), o.token(t, b, nil, nil))
	must(t, err)
	if claims.ClientID != "cli_known" || claims.PartnerID != "par_1" || strings.Join(claims.Scopes, " ") != "events.publish" || claims.Issuer != o.issuer() || claims.Client.ID != "cli_known" {
		t.Errorf("%+v", claims)
	}
	if claims, err = b.Verify(t.Context(), b.token(t)); err != nil || claims.ClientID != "basic" {
		t.Errorf("our own token: %+v, %v", claims, err)
	}
	now := b.clock.Now().Unix()
	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	for name, tc := range map[string]struct {
		header, claims object
		code           string
	}{
		"typ JWT":          {object{"typ": "JWT"}, nil, ""},
		"ID token":         {object{"typ": "id+jwt"}, nil, CodeUnverified},
		"none":             {object{"alg": "none"}, nil, CodeUnverified},
		"hmac":             {object{"alg": "HS256"}, nil, CodeUnverified},
		"crit":             {object{"crit": []string{"x"}, "x": 1}, nil, CodeUnverified},
		"unknown kid":      {object{"kid": "nobody"}, nil, CodeUnverified},
		"audience":         {nil, object{"aud": "https://elsewhere.example"}, CodeOtherAudience},
		"two audiences":    {nil, object{"aud": []string{"https://elsewhere.example", testIssuer}}, ""},
		"no audience":      {nil, object{"aud": nil}, CodeOtherAudience},
		"expired":          {nil, object{"exp": now}, CodeExpired},
		"no exp":           {nil, object{"exp": nil}, CodeUnverified},
		"exp is text":      {nil, object{"exp": "tomorrow"}, CodeUnverified},
		"not yet":          {nil, object{"nbf": now + 300}, CodeExpired},
		"from the future":  {nil, object{"iat": now + 300}, CodeExpired},
		"unknown client":   {nil, object{"azp": "nobody", "sub": "nobody"}, CodeUnknownClient},
		"client_id first":  {nil, object{"client_id": "nobody"}, CodeUnknownClient},
		"client a list":    {nil, object{"azp": []string{"machine", "b"}, "sub": nil}, CodeUnknownClient},
		"other issuer":     {nil, object{"iss": "https://evil.example"}, CodeOtherIssuer},
		"bound to a key":   {nil, object{"cnf": object{"jkt": "x"}}, ""},
		"bound, unknown":   {nil, object{"cnf": object{"kid": "x"}}, CodeUnverified},
		"bound to nothing": {nil, object{"cnf": "x"}, CodeUnverified},
	} {
		if _, err := b.Verify(t.Context(), o.token(t, b, tc.header, tc.claims)); codeIn(err) != tc.code {
			t.Errorf("%s: %v, want %q", name, err, tc.code)
		}
	}
	h, c := o.parts(b)
	if _, err := b.Verify(t.Context(), forge(t, h, c, es256(t, stranger))); codeIn(err) != CodeUnverified {
		t.Errorf("signed by a stranger: %v", err)
	}
	if claims, err = b.Verify(t.Context(), o.token(t, b, nil, object{"cnf": object{"x5t#S256": "thumb"}})); err != nil || claims.Thumbprint != "thumb" {
		t.Errorf("bound to a certificate: %+v, %v", claims, err)
	}
	raw := o.token(t, b, nil, nil)
	_, err = b.Verify(t.Context(), raw)
	must(t, err)
	b.mem.changeClient("other/machine", func(c *Client) { c.CertificateBound = true })
	b.clock.add(clientMaxAge + time.Second)
	if _, err := b.Verify(t.Context(), raw); codeIn(err) != CodeUnverified {
		t.Errorf("not bound though its client is: %v", err)
	}
	b.mem.changeClient("other/machine", func(c *Client) { c.Status, c.CertificateBound = "suspended", false })
	b.clock.add(clientMaxAge + time.Second)
	if _, err := b.Verify(t.Context(), raw); codeIn(err) != CodeInactive {
		t.Errorf("suspended client: %v", err)
	}
}

// Scopes are mapped, taken as they are, or those of the client.
func TestExternalScopes(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*External){
		"events.publish":                func(x *External) { x.Scopes = map[string][]string{"openid": {"events.publish", "registry.write"}} },
		"events.publish events.consume": func(x *External) { x.ClientScopes = true },
		"events.consume":                func(x *External) { x.ScopeClaim = "resource.roles" },
	} {
		b, o := newExternalBench(t, change)
		claims, err := b.Verify(t.Context(), o.token(t, b, nil, object{"resource": object{"roles": []string{"events.consume"}}}))
		if err != nil || strings.Join(claims.Scopes, " ") != want {
			t.Errorf("%v, %v, want %s", claims.Scopes, err, want)
		}
	}
}

// Keys roll without a restart, made-up key ids cause a fetch a minute, and keys serve for a day while their issuer is down.
//
// Rules: SEC-12.
func TestExternalKeys(t *testing.T) {
	t.Parallel()
	b, o := newExternalBench(t, nil)
	verify := func(raw string) string {
		_, err := b.Verify(t.Context(), raw)
		return codeIn(err)
	}
	if got := verify(o.token(t, b, nil, nil)); got != "" {
		t.Fatal(got)
	}
	for range 50 {
		verify(o.token(t, b, object{"kid": rand.Text()}, nil))
	}
	if n := o.keyLoads.Load(); n != 1 {
		t.Errorf("%d fetches within a minute", n)
	}
	o.newKey(t, "second")
	b.clock.add(remoteRefetch + time.Second)
	if got := verify(o.token(t, b, nil, nil)); got != "" || o.keyLoads.Load() != 2 {
		t.Errorf("a new key: %q after %d fetches", got, o.keyLoads.Load())
	}
	o.down.Store(true)
	b.clock.add(remoteMaxAge + time.Minute)
	if got := verify(o.token(t, b, nil, nil)); got != "" {
		t.Errorf("while the issuer is down: %s", got)
	}
	if list := b.Troubles(t.Context()); len(list) != 1 || !strings.Contains(list[0].Error(), "other") {
		t.Errorf("troubles %v", list)
	}
	b.clock.add(remoteStale)
	if got := verify(o.token(t, b, nil, nil)); got != "unavailable" {
		t.Errorf("a day later: %q", got)
	}
	o.down.Store(false)
	b.clock.add(remoteRefetch + time.Second)
	if got := verify(o.token(t, b, nil, nil)); got != "" || len(b.Troubles(t.Context())) != 0 {
		t.Errorf("back again: %q, %v", got, b.Troubles(t.Context()))
	}
}

// Introspection is asked once for a while, no longer than half of what the token has left, and fails closed.
//
// Rules: SEC-11.
func TestExternalIntrospection(t *testing.T) {
	t.Parallel()
	b, o := newExternalBench(t, func(x *External) {
		x.Introspection = &Introspection{Opaque: true, ClientID: "schakel", Cache: time.Minute}
	})
	verify := func(raw string) string {
		_, err := b.Verify(t.Context(), raw)
		return codeIn(err)
	}
	good := object{"active": true, "aud": testIssuer, "client_id": "machine", "scope": "events.consume"}
	say := func(answer object) { o.answer.Store(&answer) }
	say(good)
	for range 5 {
		if got := verify("opaque"); got != "" {
			t.Fatal(got)
		}
	}
	if n := o.asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
	for key := range b.asked.kept.items {
		if strings.Contains(key, "opaque") {
			t.Error("memory keeps the token itself")
		}
	}
	seen := o.seen.Load().PostForm
	tok, err := parseCompact(seen.Get("client_assertion"), maxAssertionBytes, accessAlgs)
	must(t, err)
	keys, err := b.JWKS(t.Context())
	must(t, err)
	published, err := usableKeys(keys)
	must(t, err)
	if tok.signedBy(published) != nil || seen.Get("token") != "opaque" || seen.Get("client_id") != "schakel" ||
		!strings.Contains(string(tok.jws.UnsafePayloadWithoutVerification()), o.issuer()) {
		t.Errorf("we did not prove who we are: %v", seen)
	}
	say(object{"active": false})
	b.clock.add(59 * time.Second)
	if got := verify("opaque"); got != "" {
		t.Errorf("within the cache: %s", got)
	}
	b.clock.add(2 * time.Second)
	if got := verify("opaque"); got != CodeInactive {
		t.Errorf("revoked: %q", got)
	}
	say(good.with(object{"exp": b.clock.Now().Unix() + 20}))
	if got := verify("short"); got != "" {
		t.Error(got)
	}
	b.clock.add(11 * time.Second)
	say(object{"active": false})
	if got := verify("short"); got != CodeInactive {
		t.Errorf("more than half of its life is believed: %q", got)
	}
	for name, tc := range map[string]struct {
		answer object
		code   string
	}{
		"no audience":    {good.with(object{"aud": nil}), CodeOtherAudience},
		"other audience": {good.with(object{"aud": "x"}), CodeOtherAudience},
		"other issuer":   {good.with(object{"iss": "x"}), CodeOtherIssuer},
		"unknown":        {good.with(object{"client_id": "x"}), CodeUnknownClient},
		"bound to both":  {good.with(object{"cnf": object{"jkt": "x", "kid": "y"}}), CodeUnverified},
		"active is text": {good.with(object{"active": "true"}), "unavailable"},
	} {
		say(tc.answer)
		if got := verify(rand.Text()); got != tc.code {
			t.Errorf("%s: %q", name, got)
		}
	}
	o.down.Store(true)
	if got := verify("another"); got != "unavailable" || len(b.Troubles(t.Context())) != 1 {
		t.Errorf("issuer down: %q, %v", got, b.Troubles(t.Context()))
	}
	if got := verify(b.token(t)); got != "" {
		t.Errorf("our own token: %s", got)
	}
}

// A secret goes in Basic, encoded as RFC 6749 wants.
func TestIntrospectionWithSecret(t *testing.T) {
	t.Parallel()
	b, o := newExternalBench(t, func(x *External) {
		x.Introspection = &Introspection{ClientID: "sch:akel", ClientSecret: "a b", Opaque: true}
		x.AudienceOptional = true
	})
	o.answer.Store(&object{"active": true, "client_id": "machine"})
	_, err := b.Verify(t.Context(), "opaque")
	must(t, err)
	if user, password, _ := o.seen.Load().BasicAuth(); user != "sch%3Aakel" || password != "a+b" {
		t.Errorf("%q %q", user, password)
	}
}

func TestExternalConfigRefused(t *testing.T) {
	t.Parallel()
	good := External{ID: "a", Issuer: "https://a.example"}
	for want, list := range map[string][]External{
		"id is missing":   {{Issuer: "https://a.example"}},
		"no address":      {{ID: "a", Issuer: "a.example"}},
		"Schakel itself":  {{ID: "a", Issuer: testIssuer}},
		"https":           {{ID: "a", Issuer: "http://a.example"}},
		"jwks-uri must":   {{ID: "a", Issuer: "https://a.example", JWKSURI: "http://a.example/keys"}},
		"algorithms":      {{ID: "a", Issuer: "https://a.example", Algorithms: []jose.SignatureAlgorithm{"HS256"}}},
		"not both":        {{ID: "a", Issuer: "https://a.example", ClientScopes: true, Scopes: map[string][]string{"a": nil}}},
		"client-id":       {{ID: "a", Issuer: "https://a.example", Introspection: &Introspection{}}},
		"cache must":      {{ID: "a", Issuer: "https://a.example", Introspection: &Introspection{ClientID: "x", Cache: time.Hour}}},
		"give one":        {{ID: "a", Issuer: "https://a.example", JWKSURI: "https://a.example/keys", Introspection: &Introspection{ClientID: "x"}}},
		"same id":         {good, good},
		"opaque is taken": {{ID: "a", Issuer: "https://a.example", Introspection: &Introspection{ClientID: "x", Opaque: true}}, {ID: "b", Issuer: "https://b.example", Introspection: &Introspection{ClientID: "x", Opaque: true}}},
	} {
		mem := &memory{}
		_, err := New(Config{Issuer: testIssuer, Clients: mem, Replay: mem, Keys: mem, HTTP: http.DefaultClient, ExternalClients: mem, Externals: list})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func BenchmarkVerifyExternalCached(b *testing.B) {
	s, o := newExternalBench(b, nil)
	raw := o.token(b, s, nil, object{"scope": "events.publish"})
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := s.Verify(b.Context(), raw); err != nil {
				b.Error(err)
			}
		}
	})
}
