package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"schakel/registry"
	"schakel/registry/identity"
	"schakel/registry/identity/token"
	"schakel/server/cli"
)

// keyClient adds a client of the own organisation that authenticates with private_key_jwt, and writes its key to a file.
func keyClient(t *testing.T, p *program, scopes ...string) (id, keyFile string) {
	t.Helper()
	pair, err := token.NewKeyPair()
	must(t, err)
	client, _, err := p.registry.Clients.Create(t.Context(), registry.SystemActor(), "", identity.NewClient{
		Name: "Pipeline", AuthMethod: token.PrivateKeyJWT, JWKS: pair.Public, Scopes: scopes,
	})
	must(t, err)
	keyFile = filepath.Join(t.TempDir(), "client.jwk.json")
	must(t, cli.WriteKeyFile(keyFile, pair.Private))
	return client.ID, keyFile
}

// TestTokenCommand gets a token with a key of each form, and uses it.
//
// Rules: SEC-02.
func TestTokenCommand(t *testing.T) {
	t.Parallel()
	p := built(t)
	must(t, p.start(t.Context(), cli.Streams{Out: &strings.Builder{}}))
	t.Cleanup(func() { must(t, p.stop(t.Context())) })
	base := "http://" + p.public.Addr()
	ask := func(want int, args ...string) string {
		t.Helper()
		var out strings.Builder
		if code := execute(t.Context(), append([]string{"token", "--url", base, "--token-audience", p.base + "/oauth/token"}, args...), cli.Streams{Out: &out, Err: &out}); code != want {
			t.Fatalf("%v: exit %d, want %d: %s", args, code, want, out.String())
		}
		return strings.TrimSpace(out.String())
	}
	id, jwk := keyClient(t, p, identity.ScopeRegistryRead)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/registry/v1/contracts", nil)
	must(t, err)
	req.Header.Set("Authorization", "Bearer "+ask(cli.ExitOK, "--client-id", id, "--client-key-file", jwk))
	answer, err := http.DefaultClient.Do(req)
	must(t, err)
	must(t, answer.Body.Close())
	if answer.StatusCode != http.StatusOK {
		t.Errorf("the token is answered with %d", answer.StatusCode)
	}
	ask(cli.ExitOK, "--client-id", id, "--client-key-file", jwk, "--scope", "registry.read")
	if text := ask(cli.ExitFailed, "--client-id", id, "--client-key-file", jwk, "--token-audience", "https://other.example"); !strings.Contains(text, "aud must be") {
		t.Errorf("another audience: %s", text)
	}
	if text := ask(cli.ExitFailed, "--client-id", id, "--client-key-file", jwk, "--scope", "registry.write"); !strings.Contains(text, "scope") {
		t.Errorf("a scope that the client has not: %s", text)
	}
	_, other := keyClient(t, p, identity.ScopeRegistryRead)
	ask(cli.ExitFailed, "--client-id", id, "--client-key-file", other)
	public := filepath.Join(t.TempDir(), "public.json")
	pair, err := token.NewKeyPair()
	must(t, err)
	must(t, os.WriteFile(public, []byte(pair.Public), 0o600))
	if text := ask(cli.ExitFailed, "--client-id", id, "--client-key-file", public); !strings.Contains(text, "only public keys") {
		t.Errorf("a public key: %s", text)
	}
	ask(cli.ExitUsage, "--client-key-file", jwk)
	ask(cli.ExitUsage, "--client-id", id, "--client-key-file", jwk, "--client-secret", "x")
}
