package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"schakel/registry"
	"schakel/store"
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
	h := newDeskHarness(t)
	b, pat := h.at(t, "pat@example.nl")
	page, here := newClient(t, b, clientForm())
	secret := match(t, `schs_[\w-]+`, page)
	wantWords(t, page, "cannot be shown again", "Asks for", "waits for the administrator", "curl --user")
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
	_, err = h.reg.Clients.Decide(t.Context(), h.admin, client.ID, registry.Decision{Approve: true})
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
	h := newDeskHarness(t)
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
	h := newDeskHarness(t)
	b, _ := h.at(t, "pat@example.nl")
	tests := []struct{ field, name, value string }{
		{"name", "name", ""},
		{"authMethod", "authMethod", "password"},
		{"jwks", "authMethod", "private_key_jwt"},
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
	got := publishExample(client, "https://schakel.example.nl/events/v1/events")
	wantWords(t, got, `urn:x:'\''$(reboot)`, `"type":"nl.example.example"`)
	wantWords(t, tokenExample(client, "https://schakel.example.nl/oauth/token"), "--user 'cli_1'", "'scope=events.publish'")
	client.AuthMethod = "client_secret_post"
	wantWords(t, tokenExample(client, "x"), "client_secret=$SECRET")
}
