package web

import (
	"encoding/base64"
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"schakel/registry/identity"
	"schakel/registry/identity/token"
	"schakel/store"
	webpartners "schakel/web/partners"
)

func clientForm(pairs ...string) url.Values {
	return changed(url.Values{
		"name": {"Student records"}, "authMethod": {"client_secret_basic"}, "scopes": {"events.consume", "events.publish"},
		"publishTypes": {"nl.example.student.*\nnl.example.grade.given"}, "publishSources": {"urn:nld:oin:00000003123456780000:*"},
	}, pairs...)
}

// newClient adds a client by its form and gives its page and its address.
func newClient(t *testing.T, b *browser, form url.Values) (page, href string) {
	t.Helper()
	answer := b.post("/partner/clients", form)
	wantStatus(t, answer, http.StatusOK)
	page = text(answer)
	return page, strings.TrimSuffix(match(t, `/partner/clients/cli_\w+/edit`, page), "/edit")
}

func TestClientStory(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	b, pat := h.at(t, "pat@example.nl")
	page, here := newClient(t, b, clientForm())
	secret := match(t, `schs_[\w-]+`, page)
	wantWords(t, page, "cannot be shown again", "Asks for", "waits for the administrator", "curl --silent")
	for _, path := range []string{here, here + "/edit", "/partner/clients", "/partner"} {
		if strings.Contains(text(b.get(path)), "schs_") {
			t.Fatalf("the secret is on %s", path)
		}
	}
	client, err := h.db.Client(t.Context(), idOf(here))
	noError(t, err)
	if client.PartnerID != pat.PartnerID || strings.Join(client.RequestedTypes, " ") != "nl.example.grade.given nl.example.student.*" || len(client.PublishTypes) != 0 {
		t.Errorf("client %+v", client)
	}
	if strings.Contains(text(b.get(here)), "/events/v1/events") {
		t.Error("an example to publish is shown before it is allowed")
	}
	_, err = h.reg.Clients.Decide(t.Context(), h.admin, client.ID, identity.Decision{Approve: true})
	noError(t, err)
	wantWords(t, text(b.get(here)), "/events/v1/events", "nl.example.grade.given", "Idempotency-Key")

	answer := b.post(here+"/secret", nil)
	wantStatus(t, answer, http.StatusOK)
	if again := match(t, `schs_[\w-]+`, text(answer)); again == secret {
		t.Error("the new secret is the old one")
	}
	wantRedirect(t, b.post(here, clientForm("name", "Renamed", "publishTypes", "nl.example.grade.given")), here)
	wantWords(t, text(b.get(here)), "Renamed")

	answer = b.post(here+"/revoke", url.Values{"reason": {"x"}})
	wantStatus(t, answer, http.StatusUnprocessableEntity)
	wantWords(t, text(answer), `href="#revoke-reason"`)
	wantRedirect(t, b.post(here+"/revoke", url.Values{"reason": {"It has leaked."}}), here)
	page = text(b.get(here))
	wantWords(t, page, "Revoked", "It has leaked.")
	if strings.Contains(page, "curl") {
		t.Error("a revoked client has examples")
	}
	wantRedirect(t, b.post(here+"/secret", nil), here)
	wantWords(t, text(b.get("/partner/clients?status=revoked")), "1 client")
	wantWords(t, text(b.get("/partner/clients?status=waiting")), "No client matches")
}

func TestClientWithKeysHasNoSecret(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	b, _ := h.at(t, "pat@example.nl")
	form := clientForm("authMethod", "private_key_jwt", "jwksUri", "https://roc.example.nl/jwks", "publishTypes", "", "publishSources", "")
	form["scopes"] = []string{"registry.read"}
	answer := b.post("/partner/clients", form)
	wantStatus(t, answer, http.StatusSeeOther)
	page := text(b.get(answer.Header.Get("Location")))
	wantWords(t, page, "https://roc.example.nl/jwks", "client_assertion")
	if strings.Contains(page, "Replace the secret") || strings.Contains(page, "schs_") {
		t.Error("a client with keys has a secret")
	}
}

func TestClientRefused(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	b, _ := h.at(t, "pat@example.nl")
	tests := []struct{ field, name, value string }{
		{"name", "name", ""},
		{"authMethod", "authMethod", "password"},
		{"jwks", "jwks", "{}"},
		{"scopes", "scopes", "everything"},
		{"publishTypes", "publishTypes", ""},
		{"publishTypes", "publishTypes", "*"},
		{"publishSources", "publishSources", "https://example.nl*"},
	}
	for _, test := range tests {
		answer := b.post("/partner/clients", clientForm(test.name, test.value))
		if page := text(answer); answer.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(page, `href="#`+test.field+`"`) {
			t.Errorf("%s=%q: status %d, or no error at %s", test.name, test.value, answer.StatusCode, test.field)
		}
	}
}

func TestExamplesStayOneShellWord(t *testing.T) {
	t.Parallel()
	client := store.Client{
		ID: "cli_1", AuthMethod: "client_secret_basic", Scopes: store.Strings{"events.publish"},
		PublishTypes: store.Strings{"nl.example.*"}, PublishSources: store.Strings{"urn:x:'$(reboot)"},
	}
	got := webpartners.PublishExample(client, nil, "https://schakel.example.nl/events/v1/events")
	wantWords(t, got, `urn:x:'\''$(reboot)`, `"type":"nl.example.example"`)
	wantWords(t, webpartners.TokenExample(client, "https://schakel.example.nl"), `--user 'cli_1:'"$SECRET"`, "'scope=events.publish'")
	client.AuthMethod = "client_secret_post"
	wantWords(t, webpartners.TokenExample(client, "x"), "client_secret=$SECRET")
}

// TestClientGetsAKeyPair: a client with private_key_jwt and no keys of its own gets a pair, whose private key is shown once
// and stored nowhere, and later another beside it.
//
// Rules: SEC-02.
func TestClientGetsAKeyPair(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	b, _ := h.at(t, "pat@example.nl")
	form := clientForm("authMethod", "private_key_jwt", "publishTypes", "", "publishSources", "")
	form["scopes"] = []string{"registry.read"}
	page, here := newClient(t, b, form)
	wantWords(t, page, "Download as JWK", "Download as PEM", "cannot be shown again", "schakel token")
	first := privateKey(t, page)
	answer := b.post(here+"/keys", nil)
	wantStatus(t, answer, http.StatusOK)
	second := privateKey(t, text(answer))
	client, err := h.db.Client(t.Context(), idOf(here))
	noError(t, err)
	for _, key := range []token.ClientKey{first, second} {
		assertion, err := key.Assertion(client.ID, "https://x.example", h.clock.Now())
		noError(t, err)
		signed, err := jose.ParseSignedCompact(assertion, []jose.SignatureAlgorithm{jose.ES256})
		noError(t, err)
		var set jose.JSONWebKeySet
		noError(t, json.Unmarshal([]byte(client.JWKS), &set))
		found := set.Key(signed.Signatures[0].Header.KeyID)
		if len(found) != 1 || !found[0].IsPublic() {
			t.Fatalf("key of the assertion among %s", client.JWKS)
		}
		_, err = signed.Verify(found[0])
		noError(t, err)
	}
	for _, path := range []string{here, here + "/edit"} {
		if page := text(b.get(path)); strings.Contains(page, "Download as") || strings.Contains(page, "&#34;d&#34;") {
			t.Errorf("the private key is on %s", path)
		}
	}
	wantStatus(t, b.post(here+"/revoke", url.Values{"reason": {"It has leaked."}}), http.StatusSeeOther)
	wantRedirect(t, b.post(here+"/keys", nil), here)
}

// privateKey reads the key that a page offers to download.
func privateKey(t *testing.T, page string) token.ClientKey {
	t.Helper()
	link := match(t, `data:application/jwk\+json;base64,[\w+/=]+`, html.UnescapeString(page))
	_, encoded, _ := strings.Cut(link, "base64,")
	text, err := base64.StdEncoding.DecodeString(encoded)
	noError(t, err)
	key, err := token.ReadClientKey(text)
	noError(t, err)
	return key
}
