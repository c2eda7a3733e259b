package web

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"schakel/store"
	webaccount "schakel/web/account"
	"schakel/web/site"
)

// provider is a small OpenID provider: discovery, authorisation without asking,
// token endpoint with a check of the PKCE proof, and keys.
type provider struct {
	kind   string // type in the header of what it signs; none
	server *httptest.Server
	key    *ecdsa.PrivateKey
	now    func() time.Time

	mu    sync.Mutex
	codes map[string]url.Values
	// issued is the last ID token of a login.
	issued string
	// change alters the claims of the next ID tokens.
	change func(claims map[string]any)
	// info holds the claims at the userinfo endpoint; nil for no such endpoint.
	info map[string]any
	// metadata is published besides, or in place of what is right.
	metadata map[string]any
	// silent is the error that answers prompt=none instead of a code; empty for a code.
	silent string
	// asked is the last request to log in.
	asked url.Values
	// signWith is another key than the one that is published.
	signWith *ecdsa.PrivateKey
	// keysAsked counts the requests for its keys.
	keysAsked atomic.Int64
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	p := &provider{key: newKey(t), now: time.Now, codes: map[string]url.Values{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.discovery)
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	mux.HandleFunc("GET /userinfo", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, p.info) })
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		p.keysAsked.Add(1)
		writeJSON(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: p.key.Public(), KeyID: "k1", Algorithm: "ES256", Use: "sig"}}})
	})
	p.server = httptest.NewServer(mux)
	t.Cleanup(p.server.Close)
	return p
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func (p *provider) discovery(w http.ResponseWriter, _ *http.Request) {
	base := p.server.URL
	said := map[string]any{
		"issuer": base, "authorization_endpoint": base + "/authorize", "token_endpoint": base + "/token",
		"jwks_uri": base + "/keys", "id_token_signing_alg_values_supported": []string{"ES256"},
		"end_session_endpoint": base + "/end?x=1",
	}
	if p.info != nil {
		said["userinfo_endpoint"] = base + "/userinfo"
	}
	maps.Copy(said, p.metadata)
	writeJSON(w, said)
}

// authorize sends the browser back with a code at once.
func (p *provider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("code_challenge_method") != "S256" || q.Get("nonce") == "" || q.Get("client_id") != "schakel" {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	p.asked = q
	if q.Get("prompt") == "none" && p.silent != "" {
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"error": {p.silent}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
		return
	}
	p.mu.Lock()
	p.codes[code] = q
	p.mu.Unlock()
	back := url.Values{"code": {code}, "state": {q.Get("state")}}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

func (p *provider) token(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	asked, ok := p.codes[r.FormValue("code")]
	delete(p.codes, r.FormValue("code"))
	p.mu.Unlock()
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	_, secret, _ := r.BasicAuth()
	if !ok || secret != "s3cret" || asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) {
		http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
		return
	}
	issued := p.idToken(asked.Get("nonce"))
	p.mu.Lock()
	p.issued = issued
	p.mu.Unlock()
	writeJSON(w, map[string]any{"access_token": "x", "token_type": "Bearer", "id_token": issued})
}

func (p *provider) idToken(nonce string) string {
	return p.signed(func(claims map[string]any) { claims["nonce"] = nonce })
}

// signed signs the claims of an ID token, or of another token after a change of them.
func (p *provider) signed(as func(claims map[string]any)) string {
	claims := map[string]any{
		"iss": p.server.URL, "aud": "schakel", "sub": "subject-1", "sid": "session-1",
		"iat": p.now().Unix(), "exp": p.now().Add(time.Minute).Unix(),
		"email": "ada@example.nl", "email_verified": true, "name": "Ada",
	}
	as(claims)
	if p.change != nil {
		p.change(claims)
	}
	key := p.key
	if p.signWith != nil {
		key = p.signWith
	}
	var options jose.SignerOptions
	if p.kind != "" {
		options.WithType(jose.ContentType(p.kind))
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: "k1"}}, &options)
	if err != nil {
		return err.Error()
	}
	body, _ := json.Marshal(claims)
	signed, err := signer.Sign(body)
	if err != nil {
		return err.Error()
	}
	compact, _ := signed.CompactSerialize()
	return compact
}

// withProvider makes the router with login at p.
func withProvider(t *testing.T, p *provider, change func(*site.OIDCConfig)) *harness {
	t.Helper()
	cfg := site.OIDCConfig{
		Issuer: p.server.URL, ClientID: "schakel", ClientSecret: "s3cret", Label: "the test provider",
		Scopes: []string{"email"}, AdminEmails: []string{"Ada@example.nl"}, HTTP: p.server.Client(),
	}
	if change != nil {
		change(&cfg)
	}
	h := newHarness(t, func(c *Config) { c.OIDC = []site.OIDCConfig{cfg} })
	p.now = h.clock.Now
	return h
}

// atProvider starts a login, lets the provider answer, and returns the address
// it sends the browser back to.
func atProvider(t *testing.T, p *provider, b *browser, next string) string {
	t.Helper()
	return viaProvider(t, p, b, "/login/oidc?next="+url.QueryEscape(next))
}

// viaProvider follows a link to the provider and returns the address it sends the browser back to.
func viaProvider(t *testing.T, p *provider, b *browser, link string) string {
	t.Helper()
	start := b.get(link)
	wantStatus(t, start, http.StatusSeeOther)
	client := *p.server.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	answer := must(client.Get(start.Header.Get("Location")))(t)
	defer answer.Body.Close()
	back, err := answer.Location()
	if err != nil {
		t.Fatalf("status %d: %v", answer.StatusCode, err)
	}
	return back.RequestURI()
}

func TestOIDCLogin(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	h := withProvider(t, p, nil)
	b := h.browser()
	if page := text(b.get("/login")); !strings.Contains(page, "Log in with the test provider") {
		t.Errorf("no way to the provider on the login page")
	}
	back := atProvider(t, p, b, "/contracts")
	before := b.cookies["schakel"]
	b.header.Set("Sec-Fetch-Site", "cross-site") // the provider sent the browser
	wantRedirect(t, b.get(back), "/contracts")
	if b.cookies["schakel"] == before {
		t.Error("the session token is the same after the login")
	}
	wantStatus(t, b.get("/account"), http.StatusOK)
	account, err := h.db.AccountByIdentity(t.Context(), p.server.URL, "subject-1")
	if err != nil || account.Role != store.RoleAdministrator || account.PasswordHash != "" {
		t.Errorf("account %+v, %v", account, err)
	}
	wantStatus(t, b.get(back), http.StatusBadRequest) // state, nonce and proof work once

	// The same subject is the same account.
	p.change = func(c map[string]any) { c["name"] = "Ada King" }
	again := h.browser()
	wantRedirect(t, again.get(atProvider(t, p, again, "//evil.example")), "/admin")
}

func TestOIDCRefuses(t *testing.T) {
	t.Parallel()
	needsFactor := func(c *site.OIDCConfig) { c.Require = []site.ClaimRule{{Claim: "acr", Value: "substantial"}} }
	tests := []struct {
		name   string
		claims func(map[string]any)
		config func(*site.OIDCConfig)
		status int
	}{
		{"address not verified", func(c map[string]any) { c["email_verified"] = false }, nil, 403},
		{"verified as text", func(c map[string]any) { c["email_verified"] = "true" }, nil, 403},
		{"address not allowed", func(c map[string]any) { c["email"] = "eve@example.nl" }, nil, 403},
		{"no address", func(c map[string]any) { delete(c, "email") }, func(c *site.OIDCConfig) { c.AdminEmails = []string{""} }, 403},
		{"address of another account", func(c map[string]any) { c["email"] = testEmail }, func(c *site.OIDCConfig) { c.AdminEmails = []string{testEmail} }, 403},
		{"other audience", func(c map[string]any) { c["aud"] = "other" }, nil, 403},
		{"other issuer", func(c map[string]any) { c["iss"] = "https://evil.example" }, nil, 403},
		{"other nonce", func(c map[string]any) { c["nonce"] = "x" }, nil, 403},
		{"no nonce", func(c map[string]any) { delete(c, "nonce") }, nil, 403},
		{"expired", func(c map[string]any) { c["exp"] = time.Now().Add(-time.Hour).Unix() }, nil, 403},
		{"wrong secret", nil, func(c *site.OIDCConfig) { c.ClientSecret = "other" }, 403},
		{"claim is another value", nil, func(c *site.OIDCConfig) {
			c.AdminEmails, c.Administrators = nil, []site.ClaimRule{{Claim: "name", Value: "Eve"}}
		}, 403},
		{"claim", nil, func(c *site.OIDCConfig) {
			c.AdminEmails, c.Administrators = nil, []site.ClaimRule{{Claim: "name", Value: "Ada"}}
		}, 303},
		{"second factor not told", nil, needsFactor, 403},
		{"second factor not used", func(c map[string]any) { c["acr"] = "low" }, needsFactor, 403},
		{"second factor used", func(c map[string]any) { c["acr"] = "substantial" }, needsFactor, 303},
		{"claim in a list", func(c map[string]any) { c["groups"] = []string{"a", "b"} }, func(c *site.OIDCConfig) {
			c.AdminEmails, c.Administrators = nil, []site.ClaimRule{{Claim: "groups", Value: "b"}}
		}, 303},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t)
			h := withProvider(t, p, tt.config)
			h.administrator(t)
			p.change = tt.claims
			b := h.browser()
			wantStatus(t, b.get(atProvider(t, p, b, "")), tt.status)
			want := map[int]int{303: 200, 403: 303}[tt.status]
			wantStatus(t, b.get("/account"), want)
		})
	}
}

func TestOIDCState(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	h := withProvider(t, p, nil)
	victim, attacker := h.browser(), h.browser()
	planted := atProvider(t, p, attacker, "")
	wantStatus(t, victim.get(planted), http.StatusBadRequest)
	atProvider(t, p, victim, "")
	wantStatus(t, victim.get(planted), http.StatusBadRequest)
	wantStatus(t, victim.get("/login/oidc/callback"), http.StatusBadRequest)

	late := h.browser()
	back := atProvider(t, p, late, "")
	h.clock.Advance(webaccount.OIDCWindow)
	wantStatus(t, late.get(back), http.StatusBadRequest)

	denied := h.browser()
	back = atProvider(t, p, denied, "")
	u, _ := url.Parse(back)
	wantStatus(t, denied.get("/login/oidc/callback?error=access_denied&state="+u.Query().Get("state")), http.StatusForbidden)
}

// Whoever follows the link to the provider leaves nothing with us: the browser keeps the attempt, and can neither read nor
// change it.
func TestOIDCStartKeepsNothing(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	h := withProvider(t, p, nil)
	b := h.browser()
	back := atProvider(t, p, b, "/contracts")
	sealed := b.cookies["schakel-login"]
	if len(b.cookies) != 1 || sealed == "" || strings.Contains(sealed, "contracts") {
		t.Fatalf("the browser keeps %v", b.cookies)
	}
	b.cookies["schakel-login"] = sealed[:len(sealed)-4] + "AAAA"
	wantStatus(t, b.get(back), http.StatusBadRequest)
	b.cookies["schakel-login"] = "x"
	wantStatus(t, b.get(back), http.StatusBadRequest)
	b.cookies["schakel-login"] = sealed
	wantRedirect(t, b.get(back), "/contracts")
	lured := h.browser()
	lured.header.Set("Sec-Fetch-Site", "cross-site") // a link or picture of another site
	wantRedirect(t, lured.get("/login/oidc?next=%2Fcontracts"), "/login?next=%2Fcontracts")
	if len(lured.cookies) != 0 {
		t.Errorf("another site begins a login: %v", lured.cookies)
	}
	long := h.browser()
	wantRedirect(t, long.get(atProvider(t, p, long, "/"+strings.Repeat("x", 5000))), "/admin")
}

// TestOIDCIssuerOfAnswers: an answer that names another provider is refused, one that names none too when the provider says that it
// names itself (RFC 9207), and so is metadata of another issuer.
func TestOIDCIssuerOfAnswers(t *testing.T) {
	t.Parallel()
	for _, names := range []bool{false, true} {
		p := newProvider(t)
		p.metadata = map[string]any{"authorization_response_iss_parameter_supported": names}
		h := withProvider(t, p, nil)
		none := map[bool]int{false: http.StatusSeeOther, true: http.StatusForbidden}[names]
		for iss, want := range map[string]int{"": none, p.server.URL: http.StatusSeeOther, "https://evil.example": http.StatusForbidden} {
			b := h.browser()
			back := atProvider(t, p, b, "")
			if iss != "" {
				back += "&iss=" + url.QueryEscape(iss)
			}
			wantStatus(t, b.get(back), want)
		}
	}
	p := newProvider(t)
	p.metadata = map[string]any{"issuer": "https://evil.example"}
	wantStatus(t, withProvider(t, p, nil).browser().get("/login/oidc"), http.StatusServiceUnavailable)
}

// A provider with a redirect address of its own is answered there alone, so that what another was asked cannot come in its place.
func TestOIDCOwnRedirect(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	h := withProvider(t, p, func(cfg *site.OIDCConfig) { cfg.ID, cfg.OwnRedirect = "chain", true })
	for address, want := range map[string]int{"/login/oidc/callback/chain?": http.StatusSeeOther, "/login/oidc/callback?": http.StatusForbidden, "/login/oidc/callback/other?": http.StatusForbidden} {
		b := h.browser()
		back := viaProvider(t, p, b, "/login/oidc?provider=chain")
		_, query, _ := strings.Cut(back, "?")
		if want == http.StatusSeeOther && back != address+query {
			t.Errorf("the provider answers at %s", back)
		}
		wantStatus(t, b.get(address+query), want)
	}
}

func TestOIDCForeignKey(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	h := withProvider(t, p, nil)
	p.signWith = newKey(t)
	b := h.browser()
	wantStatus(t, b.get(atProvider(t, p, b, "")), http.StatusForbidden)
}

// TestOIDCProviderDown checks that a provider that is away at first is no reason
// to restart, and keeps nobody from logging in with a password.
func TestOIDCProviderDown(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	client := &http.Client{Transport: p.server.Client().Transport}
	h := withProvider(t, p, func(cfg *site.OIDCConfig) { cfg.HTTP = client })
	h.administrator(t)
	away := roundTripper(func(*http.Request) (*http.Response, error) { return nil, http.ErrServerClosed })
	direct := client.Transport
	client.Transport = away
	b := h.browser()
	answer := b.get("/login/oidc")
	wantStatus(t, answer, http.StatusServiceUnavailable)
	if answer.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	b.login(t, testEmail)
	client.Transport = direct
	wantStatus(t, h.browser().get("/login/oidc"), http.StatusSeeOther)
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestOIDCClaimLost: an administrator whose provider does not say so any more is refused, and its sessions end; with the claim again it
// gets in. A link to set a password is not mailed to it.
func TestOIDCClaimLost(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	h := withProvider(t, p, nil)
	b := h.browser()
	back := atProvider(t, p, b, "/contracts")
	b.header.Set("Sec-Fetch-Site", "cross-site") // the provider sent the browser
	wantRedirect(t, b.get(back), "/contracts")
	p.change = func(c map[string]any) { c["email"], c["email_verified"] = "new@example.nl", false }
	other := h.browser()
	wantStatus(t, other.get(atProvider(t, p, other, "")), http.StatusForbidden)
	if answer := b.get("/account"); answer.StatusCode == http.StatusOK {
		t.Error("a session of before the claim was lost lives on")
	}
	p.change = nil
	wantRedirect(t, other.get(atProvider(t, p, other, "")), "/admin")
}
