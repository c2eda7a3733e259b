package services

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"schakel/registry"
	"schakel/registry/identity"
	"schakel/store"
)

// TestRefusedLoginsAreAudited: a login at a provider that leads to nothing, an account that one makes, and the beginning of waits leave one
// entry each.
func TestRefusedLoginsAreAudited(t *testing.T) {
	t.Parallel()
	a, db, _ := newTestAccounts(t)
	ctx := registry.WithAddress(t.Context(), "192.0.2.1")
	owner := newAdministrator(t, a, "a@example.nl")
	wants := func(action, name, partOfDetail string, n int) {
		t.Helper()
		entries, _, err := db.Audits(ctx, store.AuditFilter{Action: action})
		must(t, err)
		if len(entries) != n || n > 0 && (entries[0].ObjectName != name || !strings.Contains(entries[0].Detail, partOfDetail)) {
			t.Errorf("%s: %+v, want %d of %s with %s", action, entries, n, name, partOfDetail)
		}
	}
	id := identity.Identity{Issuer: "https://id.example", Subject: "1", Name: "Eve", Email: "eve@example.nl"}
	if _, err := a.LoginIdentity(ctx, id); !errors.Is(err, identity.ErrNoAccount) {
		t.Fatal(err)
	}
	wants(registry.ActionLoginRefused, "eve@example.nl", "https://id.example", 1)
	id.Administrator = true
	made, err := a.LoginIdentity(ctx, id)
	must(t, err)
	wants(registry.ActionAccountMade, "Eve", "administrator", 1)
	_, err = a.LoginIdentity(ctx, id)
	must(t, err)
	wants(registry.ActionAccountMade, "Eve", "administrator", 1)
	must(t, a.Block(ctx, registry.AccountActor(owner), made.ID))
	if _, err := a.LoginIdentity(ctx, id); !errors.Is(err, identity.ErrLogin) {
		t.Fatal(err)
	}
	wants(registry.ActionLoginRefused, "Eve", "https://id.example", 2)
	invited, _, err := a.Invite(ctx, registry.AccountActor(owner), identity.NewAccount{Email: "mia@example.nl", Name: "Mia", Role: store.RoleAdministrator})
	must(t, err)
	cfg := registry.Config{BaseURL: "https://schakel.example", Organisation: "Example", LocalAccounts: registry.LocalOff}
	must(t, a.Configure(cfg, nil))
	_, err = a.LoginIdentity(ctx, identity.Identity{Issuer: "https://id.example", Subject: "2", Name: "Mia", Email: invited.Email, EmailVerified: true, Administrator: true})
	must(t, err)
	wants(registry.ActionTakenOver, "Mia", "https://id.example", 1)
	cfg.LocalAccounts = ""
	must(t, a.Configure(cfg, nil))

	login := identity.Login{Email: owner.Email, Password: "wrong wrong wrong", Addr: "192.0.2.1"}
	for range registry.PairRule().Free {
		_, _ = a.Authenticate(ctx, login)
	}
	wants(registry.ActionLoginsWait, "", "", 0)
	for range 20 {
		_, _ = a.Authenticate(ctx, login)
	}
	wants(registry.ActionLoginsWait, owner.Name, "", 1)
	for i := range 200 {
		login.Addr = fmt.Sprintf("198.51.100.%d", i)
		_, _ = a.Authenticate(ctx, login)
	}
	wants(registry.ActionLoginsWait, owner.Name, "", 2) // of all addresses together
}
