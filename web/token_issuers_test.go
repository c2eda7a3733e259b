package web

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
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
	"schakel/registry"
	"schakel/registry/identity"
	"schakel/registry/identity/token"
	"schakel/store"
	"schakel/store/storetest"
	"schakel/web/api"
	"schakel/web/site"
)

// Tokens of another issuer call the APIs as the client that an administrator gave their name, and a refusal has a code with a remedy of
// its own. The issuer is a fake; one of others is in server/e2e.
//
// Rules: SEC-07, SEC-12, SEC-13.
func TestTokenOfOtherIssuer(t *testing.T) {
	t.Parallel()
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	var down atomic.Bool
	var other *httptest.Server
	other = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		answers := map[string]any{
			"/.well-known/oauth-authorization-server": map[string]string{"issuer": other.URL, "jwks_uri": other.URL + "/keys"},
			"/keys": jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k"}}},
		}
		if answers[r.URL.Path] == nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_ = json.NewEncoder(w).Encode(answers[r.URL.Path])
	}))
	defer other.Close()
	clock := storetest.NewClock()
	h := newAPIHarnessOn(t, storetest.SQLite(t, storetest.WithClock(clock)), clock, func(cfg *api.Config) {
		cfg.Issuer = must(token.New(token.Config{
			Issuer: apiTestBase, Clients: cfg.Registry.Clients, Replay: cfg.DB, Keys: cfg.Registry.SigningKeys, Now: clock.Now, HTTP: other.Client(), AllowHTTP: true,
			ExternalClients: cfg.Registry.Clients, Externals: []token.External{{ID: "other", Issuer: other.URL}},
		}))(t)
	})
	signer := must(jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: "k"}}, (&jose.SignerOptions{}).WithType("at+jwt")))(t)
	issue := func(claims map[string]any) string {
		all := map[string]any{"iss": other.URL, "aud": apiTestBase, "azp": "school-machine", "scope": "registry.read events.consume", "exp": clock.Now().Add(time.Hour).Unix()}
		for name, value := range claims {
			all[name] = value
		}
		return must(jwt.Signed(signer).Claims(all).Serialize())(t)
	}
	ask := func(bearer string) apiAnswer { return (&apiClient{h: h, token: bearer}).get(t, certPath) }
	down.Store(true)
	ask(issue(nil)).problem(t, http.StatusServiceUnavailable, "token-issuer-unavailable")
	down.Store(false)
	clock.Advance(2 * time.Minute)
	ask(issue(nil)).problem(t, http.StatusUnauthorized, "token-client")

	p := h.newPartner(t, "School")
	client, _, err := h.reg.Clients.Create(t.Context(), registry.SystemActor(), p.ID, identity.NewClient{Name: "Machine", AuthMethod: token.ClientSecretBasic, Scopes: []string{site.ScopeEventsConsume}})
	noError(t, err)
	_, err = h.reg.Clients.SetExternalName(t.Context(), registry.SystemActor(), client.ID, identity.ExternalName{Issuer: "other", ID: "school-machine"})
	noError(t, err)
	clock.Advance(6 * time.Second)
	ask(issue(nil)).want(t, http.StatusOK)
	for code, claims := range map[string]map[string]any{
		"token-audience":   {"aud": "https://elsewhere.example"},
		"token-expired":    {"exp": clock.Now().Add(-time.Second).Unix()},
		"token-issuer":     {"iss": "https://nobody.example"},
		"token-unverified": {"cnf": map[string]any{"kid": "x"}},
	} {
		answer := ask(issue(claims))
		answer.problem(t, http.StatusUnauthorized, code)
		if !strings.Contains(answer.header.Get("WWW-Authenticate"), `error="invalid_token"`) {
			t.Errorf("%s: no challenge", code)
		}
	}
	ask(issue(map[string]any{"cnf": map[string]any{"jkt": "x"}})).problem(t, http.StatusUnauthorized, "token-proof")
	ask(issue(map[string]any{"scope": "openid"})).problem(t, http.StatusForbidden, "insufficient-scope")
	ask(issue(map[string]any{"scope": "openid registry.write", "jti": "2"})).problem(t, http.StatusForbidden, "insufficient-scope")

	pair := certtest.New(t, clock.Now()).Issue(schoolOIN)
	ask(issue(map[string]any{"cnf": map[string]any{"x5t#S256": token.Thumbprint(pair.Cert)}})).problem(t, http.StatusUnauthorized, "token-invalid")

	noError(t, h.reg.Clients.Revoke(t.Context(), registry.SystemActor(), client.ID, "Not needed."))
	clock.Advance(6 * time.Second)
	ask(issue(nil)).problem(t, http.StatusUnauthorized, "token-client")
}

// An administrator enters the name of a client at an issuer: with proof, mailed, in the audit trail, and no two clients have one name.
func TestNameAtTokenIssuer(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	b := h.browser().login(t, testEmail)
	partner, actor := h.at(t, "pat@example.nl")
	newClient := func(name string) store.Client {
		c, _, err := h.reg.Clients.Create(t.Context(), h.admin, actor.PartnerID, identity.NewClient{Name: name, AuthMethod: token.ClientSecretBasic, Scopes: []string{site.ScopeEventsConsume}})
		noError(t, err)
		return c
	}
	first, second := newClient("First"), newClient("Second")
	here := "/admin/clients/" + first.ID
	wantWords(t, text(b.get(here)), "Tokens of another issuer", "Name of the client at the issuer")
	form := func(issuer, id string) url.Values { return url.Values{"issuer": {issuer}, "externalId": {id}} }
	for id, want := range map[string]string{"": "Enter the name that the issuer gives", "a b": "without spaces"} {
		wantPage(t, b.post(here+"/issuer", form("other", id)), http.StatusUnprocessableEntity, want, `href="#externalId"`)
	}
	wantPage(t, b.post(here+"/issuer", form("elsewhere", "x")), http.StatusUnprocessableEntity, "Choose one of the token issuers")
	wantStatus(t, partner.post(here+"/issuer", form("other", "mine")), http.StatusForbidden)
	wantRedirect(t, b.post(here+"/issuer", form("other", "mine")), here)
	wantWords(t, text(b.get(here)), `value="mine"`)
	wantPage(t, b.post("/admin/clients/"+second.ID+"/issuer", form("other", "mine")), http.StatusUnprocessableEntity, "Another client has this name")
	wantWords(t, h.lastMail(t, "pat@example.nl"), "Name at another token issuer", "mine (other)")
	rows := must(h.db.NewestAudits(t.Context(), store.AuditFilter{ObjectKind: "client", ObjectID: first.ID}, 1))(t)
	if len(rows) != 1 || !strings.Contains(rows[0].Detail, `"externalId":"mine"`) {
		t.Errorf("audit trail %+v", rows)
	}
	noError(t, h.reg.Clients.Revoke(t.Context(), h.admin, first.ID, ""))
	wantRedirect(t, b.post("/admin/clients/"+second.ID+"/issuer", form("other", "mine")), "/admin/clients/"+second.ID)
	wantRedirect(t, b.post("/admin/clients/"+second.ID+"/issuer", form("", "")), "/admin/clients/"+second.ID)
	if left := must(h.db.Client(t.Context(), second.ID))(t); left.ExternalID != "" || left.ExternalIssuer != "" {
		t.Errorf("%+v", left)
	}
}
