package token

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// Rules: SEC-01.
func TestExchangeAnswersBearerToken(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	res, fail := b.Exchange(t.Context(), b.basicRequest())
	if fail != nil {
		t.Fatal(fail)
	}
	if res.TokenType != "Bearer" || res.ExpiresIn != 3600 || res.Scope != "events.publish events.consume" {
		t.Errorf("unexpected answer %+v", res)
	}
	raw, err := json.Marshal(res)
	must(t, err)
	if strings.Contains(string(raw), "refresh_token") {
		t.Error("a refresh token was given (SEC-01)")
	}
	claims, err := b.Verify(t.Context(), res.AccessToken)
	must(t, err)
	if claims.ClientID != "basic" || claims.PartnerID != "par_1" || claims.Issuer != testIssuer {
		t.Errorf("unexpected claims %+v", claims)
	}
	if want := b.clock.Now().Add(time.Hour); !claims.ExpiresAt.Equal(want) || claims.ID == "" {
		t.Errorf("expires %s, want %s; id %q", claims.ExpiresAt, want, claims.ID)
	}
}

func TestExchangeScopes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ asked, granted, code string }{
		{"", "events.publish events.consume", ""},
		{"events.consume", "events.consume", ""},
		{"events.publish events.publish", "events.publish", ""},
		{"registry.write", "", "invalid_scope"},
		{"events.publish registry.write", "", "invalid_scope"},
		{"EVENTS.PUBLISH", "", "invalid_scope"},
	} {
		b := newBench(t)
		req := b.basicRequest()
		req.Form.Set("scope", tc.asked)
		res, fail := b.Exchange(t.Context(), req)
		if res.Scope != tc.granted || codeOf(fail) != tc.code {
			t.Errorf("scope %q: granted %q, error %q", tc.asked, res.Scope, codeOf(fail))
		}
	}
}

func TestExchangeRefuses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	post := func(pairs ...string) Request {
		return Request{Form: form(append([]string{"client_id", "post", "client_secret", b.secret}, pairs...)...)}
	}
	twice := post()
	twice.Form["scope"] = []string{"events.publish", "events.consume"}
	query := b.basicRequest()
	query.Query = url.Values{"client_secret": {b.secret}}
	both := b.basicRequest()
	both.Form = post().Form
	otherID := b.basicRequest()
	otherID.Form.Set("client_id", "post")
	badEscape := b.basicRequest()
	badEscape.BasicPassword = "%zz"
	for name, tc := range map[string]struct {
		req    Request
		status int
		code   string
	}{
		"no grant":             {post("grant_type", ""), 400, "invalid_request"},
		"password grant":       {post("grant_type", "password"), 400, "unsupported_grant_type"},
		"refresh grant":        {post("grant_type", "refresh_token"), 400, "unsupported_grant_type"},
		"duplicate parameter":  {twice, 400, "invalid_request"},
		"secret in URL":        {query, 400, "invalid_request"},
		"two methods":          {both, 400, "invalid_request"},
		"other client_id":      {otherID, 400, "invalid_request"},
		"bad escape":           {badEscape, 401, "invalid_client"},
		"no authentication":    {Request{Form: form("client_id", "basic")}, 401, "invalid_client"},
		"wrong assertion type": {Request{Form: form("client_assertion", "x", "client_assertion_type", "y")}, 400, "invalid_request"},
		"wrong method":         {Request{Form: form("client_id", "basic", "client_secret", b.secret)}, 401, "invalid_client"},
		"keyed with secret":    {Request{Form: form("client_id", "keyed", "client_secret", b.secret)}, 401, "invalid_client"},
		"empty hash":           {Request{Form: form("client_id", "keyed", "client_secret", "sha256:")}, 401, "invalid_client"},
	} {
		res, fail := b.Exchange(t.Context(), tc.req)
		if fail == nil || res.AccessToken != "" || fail.Status != tc.status || fail.Code != tc.code {
			t.Errorf("%s: got %+v", name, fail)
		}
		if fail != nil && (fail.Status == 401) && (fail.Challenge != "") != tc.req.HasBasic {
			t.Errorf("%s: challenge %q", name, fail.Challenge)
		}
	}
}

// Rules: SEC-02.
func TestExchangeOffersKeysOnlyByDefault(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *Config) { c.AuthMethods = nil })
	_, fail := b.Exchange(t.Context(), b.basicRequest())
	if codeOf(fail) != "invalid_client" {
		t.Errorf("a secret was taken though not offered (SEC-02): %v", fail)
	}
}

// An unknown client, one without a secret and a wrong secret must be the same
// to a stranger: equal answers, one look-up, one comparison of equal lengths.
func TestUnknownClientLooksLikeWrongSecret(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var lengths []int
	b.matches = func(secret, hash string) bool {
		lengths = append(lengths, len(hash))
		return secretMatches(secret, hash)
	}
	var answers []OAuthError
	for _, id := range []string{"basic", "nobody", "keyed"} {
		before := b.mem.lookups
		_, fail := b.Exchange(t.Context(), Request{Form: form(), HasBasic: true, BasicUser: id, BasicPassword: "wrong"})
		if b.mem.lookups != before+1 || fail == nil {
			t.Fatalf("%s: %d look-ups, error %v", id, b.mem.lookups-before, fail)
		}
		fail.Err = nil
		answers = append(answers, *fail)
	}
	if !reflect.DeepEqual(answers[0], answers[1]) || !reflect.DeepEqual(answers[0], answers[2]) {
		t.Errorf("answers differ: %+v", answers)
	}
	if len(lengths) != 3 || lengths[0] != lengths[1] || lengths[0] != lengths[2] {
		t.Errorf("comparisons differ: %v", lengths)
	}
}

func TestExchangeInactiveClient(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"", "suspended", "ended", "Active"} {
		b := newBench(t)
		b.mem.changeClient("basic", func(c *Client) { c.Status = status })
		_, fail := b.Exchange(t.Context(), b.basicRequest())
		if codeOf(fail) != "unauthorized_client" {
			t.Errorf("status %q: %v", status, fail)
		}
	}
}

func TestExchangeOutage(t *testing.T) {
	t.Parallel()
	outage := errors.New("disk on fire")
	b := newBench(t)
	b.mem.change(func(m *memory) { m.fail = outage })
	_, fail := b.Exchange(t.Context(), b.basicRequest())
	if fail == nil || fail.Status != http.StatusServiceUnavailable || !errors.Is(fail, outage) {
		t.Fatalf("got %+v", fail)
	}
	raw, err := json.Marshal(fail)
	must(t, err)
	if strings.Contains(string(raw), "fire") {
		t.Errorf("the cause leaks: %s", raw)
	}
}

func TestNewSecret(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 1000 {
		plain, hash := NewSecret()
		if !strings.HasPrefix(plain, "schs_") || len(plain) != 48 || seen[plain] {
			t.Fatalf("bad secret of %d characters", len(plain))
		}
		seen[plain] = true
		if !secretMatches(plain, hash) || secretMatches(plain+"x", hash) || secretMatches("", "") {
			t.Fatal("comparison is wrong")
		}
	}
}

func TestNewRefusesBadConfig(t *testing.T) {
	t.Parallel()
	mem := &memory{}
	good := Config{Issuer: testIssuer, Clients: mem, Replay: mem, Keys: mem}
	if _, err := New(good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Config){
		"no issuer":       func(c *Config) { c.Issuer = "" },
		"issuer query":    func(c *Config) { c.Issuer = "https://a.example?x=1" },
		"long lifetime":   func(c *Config) { c.Lifetime = 7 * time.Hour },
		"no lifetime":     func(c *Config) { c.Lifetime = -1 },
		"no clients":      func(c *Config) { c.Clients = nil },
		"unknown method":  func(c *Config) { c.AuthMethods = []string{"none"} },
		"negative memory": func(c *Config) { c.CacheSize = -1 },
	} {
		cfg := good
		change(&cfg)
		if _, err := New(cfg); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func codeOf(fail *OAuthError) string {
	if fail == nil {
		return ""
	}
	return fail.Code
}

// endpoint serves Exchange as the web layer does.
func endpoint(t *testing.T, i *Issuer) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			http.Error(w, "bad form", http.StatusBadRequest)
			return
		}
		req := Request{Form: r.PostForm, Query: r.URL.Query()}
		req.BasicUser, req.BasicPassword, req.HasBasic = r.BasicAuth()
		res, fail := i.Exchange(r.Context(), req)
		w.Header().Set("Content-Type", "application/json")
		if fail != nil {
			w.WriteHeader(fail.Status)
			_ = json.NewEncoder(w).Encode(fail)
			return
		}
		_ = json.NewEncoder(w).Encode(res)
	}))
	t.Cleanup(srv.Close)
	return srv
}

// golang.org/x/oauth2 is a client that others wrote.
func TestForeignClient(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	srv := endpoint(t, b.Issuer)
	for name, cfg := range map[string]clientcredentials.Config{
		"basic":      {ClientID: "basic", ClientSecret: b.secret, AuthStyle: oauth2.AuthStyleInHeader},
		"autodetect": {ClientID: "basic", ClientSecret: b.secret},
		"post":       {ClientID: "post", ClientSecret: b.secret, AuthStyle: oauth2.AuthStyleInParams},
		"post found": {ClientID: "post", ClientSecret: b.secret},
		"assertion": {AuthStyle: oauth2.AuthStyleInParams, EndpointParams: url.Values{
			"client_assertion_type": {assertionType},
			"client_assertion":      {joseAssertion(t, b, jose.SigningKey{Algorithm: jose.ES256, Key: b.key})},
		}},
	} {
		cfg.TokenURL, cfg.Scopes = srv.URL, []string{"events.publish"}
		tok, err := cfg.Token(t.Context())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if tok.TokenType != "Bearer" || tok.RefreshToken != "" || time.Until(tok.Expiry) > time.Hour {
			t.Errorf("%s: %+v", name, tok)
		}
		claims, err := b.Verify(t.Context(), tok.AccessToken)
		if err != nil || claims.Require("events.publish") != nil || len(claims.Scopes) != 1 {
			t.Errorf("%s: %+v, %v", name, claims, err)
		}
	}
}

func TestForeignClientReadsError(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	srv := endpoint(t, b.Issuer)
	cfg := clientcredentials.Config{ClientID: "basic", ClientSecret: "wrong", TokenURL: srv.URL, AuthStyle: oauth2.AuthStyleInHeader}
	_, err := cfg.Token(t.Context())
	fail, ok := err.(*oauth2.RetrieveError)
	if !ok || fail.ErrorCode != "invalid_client" || fail.Response.StatusCode != 401 || fail.ErrorDescription == "" {
		t.Errorf("got %v", err)
	}
}

func BenchmarkVerifyCached(b *testing.B) {
	s := newBench(b)
	raw := s.token(b)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := s.Verify(b.Context(), raw); err != nil {
				b.Error(err)
			}
		}
	})
}

func BenchmarkVerifyNotCached(b *testing.B) {
	s := newBench(b, func(c *Config) { c.CacheSize = 1 })
	raws := []string{s.token(b), s.token(b)}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if _, err := s.Verify(b.Context(), raws[n%2]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkExchangeSecret(b *testing.B) {
	s := newBench(b)
	req := s.basicRequest()
	b.ReportAllocs()
	for b.Loop() {
		if _, fail := s.Exchange(b.Context(), req); fail != nil {
			b.Fatal(fail)
		}
	}
}

func BenchmarkExchangeAssertion(b *testing.B) {
	s := newBench(b)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		raw := joseAssertion(b, s, jose.SigningKey{Algorithm: jose.ES256, Key: s.key})
		b.StartTimer()
		if _, fail := s.Exchange(b.Context(), assertionRequest(raw)); fail != nil {
			b.Fatal(fail)
		}
	}
}
