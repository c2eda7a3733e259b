package web

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/uuid"
	"schakel/registry"
	"schakel/registry/identity"
	"schakel/registry/identity/token"
	"schakel/registry/profile"
	"schakel/store"
	"schakel/store/storetest"
	"schakel/web/api"
	"schakel/web/site"
)

// A token that was asked with a proof of a key calls the APIs with proofs of that key alone, each for one request; with nonces asked for by a
// setting, a refusal gives the nonce of the next proof. A thief with the token, or with an old proof as well, gets nowhere.
//
// Rules: SEC-13.
func TestTokenBoundToKey(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	h := newAPIHarnessOn(t, storetest.SQLite(t, storetest.WithClock(clock)), clock, func(cfg *api.Config) {
		cfg.Issuer = must(token.New(token.Config{
			Issuer: apiTestBase, LiveAuthMethods: cfg.Registry.Clients.AuthMethods, Clients: cfg.Registry.Clients, Replay: cfg.DB, Keys: cfg.Registry.SigningKeys, Now: clock.Now,
			Nonces: cfg.Registry.Clients.Nonces(), AskNonce: cfg.Registry.Clients.AsksNonce,
		}))(t)
	})
	p := h.newPartner(t, "School")
	client, secret, err := h.reg.Clients.Create(t.Context(), registry.SystemActor(), p.ID, identity.NewClient{
		Name: "Machine", AuthMethod: token.ClientSecretBasic, Scopes: []string{site.ScopeEventsConsume}, DPoPBound: true,
	})
	noError(t, err)
	key, other := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t), must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	nonce := ""
	proof := func(key *ecdsa.PrivateKey, method, target, bearer string) string {
		opts := (&jose.SignerOptions{EmbedJWK: true}).WithType("dpop+jwt")
		signer := must(jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, opts))(t)
		claims := map[string]any{"jti": uuid.NewString(), "htm": method, "htu": apiTestBase + target, "iat": clock.Now().Unix()}
		if bearer != "" {
			sum := sha256.Sum256([]byte(bearer))
			claims["ath"] = base64.RawURLEncoding.EncodeToString(sum[:])
		}
		if nonce != "" {
			claims["nonce"] = nonce
		}
		return must(jwt.Signed(signer).Claims(claims).Serialize())(t)
	}
	ask := func(proofs ...string) apiAnswer {
		pairs := []string{"Content-Type", "application/x-www-form-urlencoded", "Authorization", basicAuth(client.ID, secret)}
		for _, text := range proofs {
			pairs = append(pairs, "DPoP", text)
		}
		return h.anyone().do(t, http.MethodPost, "/oauth/token", url.Values{"grant_type": {"client_credentials"}}.Encode(), pairs...)
	}
	if refused := ask(); refused.status != http.StatusBadRequest || refused.member(t, "error") != "invalid_dpop_proof" {
		t.Errorf("a client that binds its tokens gets one without a proof: %s", refused.body)
	}
	answer := ask(proof(key, http.MethodPost, "/oauth/token", "")).want(t, http.StatusOK)
	bearer := answer.member(t, "access_token").(string)
	if answer.member(t, "token_type") != "DPoP" {
		t.Errorf("%s", answer.body)
	}
	method := http.MethodGet
	call := func(scheme string, proofs ...string) apiAnswer {
		pairs := []string{"Authorization", scheme + " " + bearer}
		for _, text := range proofs {
			pairs = append(pairs, "DPoP", text)
		}
		return h.anyone().do(t, method, certPath, "", pairs...)
	}
	good := proof(key, http.MethodGet, certPath, bearer)
	call("DPoP", good).want(t, http.StatusOK)
	call("dpop", proof(key, http.MethodGet, certPath, bearer)).want(t, http.StatusOK)
	for name, refused := range map[string]apiAnswer{
		"replayed":       call("DPoP", good),
		"no proof":       call("DPoP"),
		"as Bearer":      call("Bearer"),
		"Bearer, proven": call("Bearer", proof(key, http.MethodGet, certPath, bearer)),
		"another key":    call("DPoP", proof(other, http.MethodGet, certPath, bearer)),
		"another path":   call("DPoP", proof(key, http.MethodGet, "/events/v1/deliveries", bearer)),
		"another method": call("DPoP", proof(key, http.MethodPost, certPath, bearer)),
		"another token":  call("DPoP", proof(key, http.MethodGet, certPath, "x")),
	} {
		refused.problem(t, http.StatusUnauthorized, "token-proof")
		if challenge := refused.header.Get("WWW-Authenticate"); !strings.HasPrefix(challenge, `DPoP error="invalid_dpop_proof"`) || !strings.Contains(challenge, "ES256") {
			t.Errorf("%s: challenge %s", name, challenge)
		}
	}

	method = http.MethodHead // a proof names the method that was sent, though a GET route answers
	call("DPoP", proof(key, http.MethodHead, certPath, bearer)).want(t, http.StatusOK)
	call("DPoP", proof(key, http.MethodGet, certPath, bearer)).want(t, http.StatusUnauthorized)
	method = http.MethodGet

	state := must(h.reg.Profile.Current(t.Context()))(t)
	_, _, err = h.reg.Profile.Save(t.Context(), registry.SystemActor(), profile.ProfileChange{
		Version: state.Version, Values: map[string]string{"tokens.proof_nonce": registry.PolicyRequire, "tokens.client_auth": profile.AuthSecretBasic},
	})
	noError(t, err)
	wants := call("DPoP", proof(key, http.MethodGet, certPath, bearer))
	wants.problem(t, http.StatusUnauthorized, "token-proof-nonce")
	if nonce = wants.header.Get("DPoP-Nonce"); nonce == "" || !strings.Contains(wants.header.Get("WWW-Authenticate"), "use_dpop_nonce") {
		t.Errorf("no nonce is offered: %v", wants.header)
	}
	call("DPoP", proof(key, http.MethodGet, certPath, bearer)).want(t, http.StatusOK)
	if fresh := ask(proof(key, http.MethodPost, "/oauth/token", "")).want(t, http.StatusOK); fresh.header.Get("DPoP-Nonce") == "" {
		t.Error("the token endpoint offers no nonce")
	}
	noError(t, h.db.Write(t.Context(), func(tx *store.Tx) error {
		c, err := tx.Client(t.Context(), client.ID)
		if err != nil || !c.DPoPBound {
			t.Errorf("stored %+v, %v", c, err)
		}
		return err
	}))
}
