package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"schakel/registry/identity"
	"schakel/server/demo"
	"schakel/server/trial"
	"schakel/store"
	"schakel/store/needs"
)

// TestProviderLoginInBrowser: an administrator and a user of a partner log in at a real OpenID provider (npm's oidc-provider) in a real
// browser, without local accounts. Who loses the claim is out at the next renewal and gets in no more until it is back; a logout here ends
// the session there, and one there ends the session here.
func TestProviderLoginInBrowser(t *testing.T) {
	t.Parallel()
	_, modules := needNode(t)
	_, err := os.Stat(filepath.Join(modules, "oidc-provider"))
	needs.Installed(t, "oidc-provider of server/e2e/package.json", err == nil)
	chromium := needs.Program(t, "chromium")
	p := trial.NewPKI(t)
	dir := t.TempDir()
	secret, file := filepath.Join(dir, "secret"), filepath.Join(dir, "provider.yaml")
	issuer := "https://localhost:" + trial.FreePort(t)
	const clientSecret = "of-the-browser-test-3fe9"
	trial.Must(t, os.WriteFile(secret, []byte(clientSecret), 0o600))
	trial.Must(t, os.WriteFile(file, fmt.Appendf(nil, `id: test
issuer: %s
client-id: schakel
client-secret-file: %s
label: Test provider
scopes: [openid, email, profile, schakel]
administrators: [{claim: groups, value: schakel-admins}]
partners: {claim: oin, by: oin}
`, issuer, secret), 0o600))
	s := trial.NewProgram(t, p, demo.OwnA(), trial.SQLitePath(t), "--oidc-provider", file, "--local-accounts", "off")
	var partner store.Partner
	s.SetUp(t, func(c *demo.Chain) {
		partner, _, err = c.Approved(t.Context(), trial.Organisation("North", "34567890"))
		trial.Must(t, err)
	})
	s.Start(t)
	aging := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if err := ageSessions(t, s, partner.ID); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}))
	defer aging.Close()
	play(t, "browser/oidc.js", map[string]any{
		"base": s.Base, "issuer": issuer, "client": "schakel", "secret": clientSecret, "oin": partner.OIN, "stale": aging.URL,
		"cert": p.CertFile, "key": p.KeyFile, extraCA: p.CAFile, "chromium": chromium, "folder": folderFor(true),
		"refusal": "There is no account for you here.",
	})
}

// ageSessions moves back when the provider last spoke of whoever is logged in, so that it is asked again.
func ageSessions(t *testing.T, s *trial.Program, partner string) error {
	ctx := t.Context()
	db, err := store.Open(ctx, s.Database, store.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	return db.Write(ctx, func(tx *store.Tx) error {
		for _, side := range []string{"", partner} {
			accounts, err := tx.Accounts(ctx, side)
			if err != nil {
				return err
			}
			for _, account := range accounts {
				sessions, err := tx.LoginSessions(ctx, account.ID, store.At(time.Now().Add(-time.Hour)), 10)
				if err != nil {
					return err
				}
				for _, session := range sessions {
					session.CheckedAt = store.At(time.Now().Add(-identity.ProviderFresh - time.Minute))
					if err := tx.UpdateLoginSession(ctx, &session); err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
}
