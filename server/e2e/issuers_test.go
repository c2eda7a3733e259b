package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"schakel/registry/identity"
	"schakel/registry/identity/token"
	"schakel/server/demo"
	"schakel/server/trial"
	"schakel/store"
	"schakel/store/needs"
)

// TestTokensOfOtherIssuers: access tokens of real issuers (npm's oidc-provider) call the API as the clients that are registered for them. One
// gives JWTs, the other opaque tokens; a revoked one is refused, and an issuer that is down stops nobody whose keys are known.
//
// Rules: SEC-07, SEC-11, SEC-12.
func TestTokensOfOtherIssuers(t *testing.T) {
	t.Parallel()
	_, modules := needNode(t)
	_, err := os.Stat(filepath.Join(modules, "oidc-provider"))
	needs.Installed(t, "oidc-provider of server/e2e/package.json", err == nil)
	p := trial.NewPKI(t)
	dir := t.TempDir()
	issuer := map[string]string{"jwt": "https://localhost:" + trial.FreePort(t), "opaque": "https://localhost:" + trial.FreePort(t)}
	var flags []string
	for id, rest := range map[string]string{"jwt": "algorithms: [RS256]\n", "opaque": "introspection: {opaque: true, client-id: schakel}\n"} {
		file := filepath.Join(dir, id+".yaml")
		trial.Must(t, os.WriteFile(file, fmt.Appendf(nil, "id: %s\nissuer: %s\n%s", id, issuer[id], rest), 0o600))
		flags = append(flags, "--token-issuer", file)
	}
	s := trial.NewProgram(t, p, demo.OwnA(), trial.SQLitePath(t), flags...)
	var clients []store.Client
	s.SetUp(t, func(c *demo.Chain) {
		_, actor, err := c.Approved(t.Context(), trial.Organisation("North", "34567890"))
		trial.Must(t, err)
		for range issuer {
			in := identity.NewClient{Name: "Machine", AuthMethod: token.ClientSecretBasic, Scopes: []string{"events.consume"}}
			client, _, err := c.Clients.Create(t.Context(), actor, "", in)
			trial.Must(t, err)
			clients = append(clients, client)
		}
	})
	db, err := store.Open(t.Context(), s.Database, store.Options{})
	trial.Must(t, err)
	for i, id := range []string{"jwt", "opaque"} {
		client := clients[i]
		client.ExternalIssuer, client.ExternalID = id, "school"
		trial.Must(t, db.Write(t.Context(), func(tx *store.Tx) error { return tx.UpdateClient(t.Context(), &client) }))
	}
	trial.Must(t, db.Close())
	s.Start(t)
	play(t, "browser/issuers.js", map[string]any{
		"base": s.Base, "jwt": issuer["jwt"], "opaque": issuer["opaque"], "secret": "of-the-issuer-test-91ab", "cert": p.CertFile, "keyFile": p.KeyFile, extraCA: p.CAFile,
	})
}
